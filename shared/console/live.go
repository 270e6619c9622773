package console

// livePattern is the pattern of the stream of regions.
const livePattern = "GET /console/{env}/live"

func (s *site) livePages() []route { return nil }
