package console

func (s *site) versionsPages() []route { return nil }
