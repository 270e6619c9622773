package console

func (s *site) parametersPages() []route { return nil }
