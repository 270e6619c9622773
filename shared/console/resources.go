package console

func (s *site) resourcesPages() []route { return nil }
