package console

func (s *site) searchPages() []route { return nil }
