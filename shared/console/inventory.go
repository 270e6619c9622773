package console

func (s *site) inventoryPages() []route { return nil }
