package console

func (s *site) dryrunPages() []route { return nil }

const dryrunPattern = "POST /console/{env}/do/dryrun"
