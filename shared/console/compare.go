package console

func (s *site) comparePages() []route { return nil }
