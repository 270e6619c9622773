package console

func (s *site) servicesPages() []route { return nil }
