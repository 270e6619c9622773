package console

func (s *site) instancePages() []route { return nil }
