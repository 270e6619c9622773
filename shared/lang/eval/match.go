package eval

// MatchRegex reports whether the beginning of a text matches a Python regular expression.
func MatchRegex(regex, text string) (bool, error) {
	re, err := pattern(regex)
	if err != nil {
		return false, err
	}
	return re.matches(text)
}

// pluginNamed returns the plugin with this full name; nil if there is none.
func (p *program) pluginNamed(name string) *boundPlugin {
	for q, bound := range p.plugins {
		if q.Name == name {
			return bound
		}
	}
	return nil
}
