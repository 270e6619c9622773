package console

func (s *site) documentationPages() []route { return nil }
