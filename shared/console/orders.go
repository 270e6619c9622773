package console

func (s *site) ordersPages() []route { return nil }
