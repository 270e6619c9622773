package console

func (s *site) lifecyclePages() []route { return nil }
