package eval

// MatchRegex reports whether a text begins with what a regular expression of Python describes.
func MatchRegex(regex, text string) (bool, error) {
	re, err := pattern(regex)
	if err != nil {
		return false, err
	}
	return re.matches(text)
}

// pluginNamed returns the plugin of a name with its namespace; nil if there is none.
func (p *program) pluginNamed(name string) *boundPlugin {
	for q, bound := range p.plugins {
		if q.Name == name {
			return bound
		}
	}
	return nil
}
