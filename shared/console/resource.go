package console

func (s *site) resourcePages() []route { return nil }
