package console

func (s *site) actionsPages() []route { return nil }
