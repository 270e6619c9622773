package console

func (s *site) overviewPages() []route { return nil }
