package console

func (s *site) agentsPages() []route { return nil }
