package console

func (s *site) dryrunPages() []route { return nil }
