package console

func (s *site) graphPages() []route { return nil }
