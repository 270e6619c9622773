package names

import (
	"strings"

	"southbound/shared/pattern"
)

// about matches the documentation of an attribute in a docstring: `:attr name: text`.
var about = pattern.Lazy(`(?m)^[ \t]*:attr[ \t]+([A-Za-z_][A-Za-z0-9_]*)[ \t]*:[ \t]*`)

// Documented returns the documentation of attributes in a docstring, and the rest of the docstring.
func Documented(doc string) (attributes map[string]string, rest string) {
	found := about().FindAllStringSubmatchIndex(doc, -1)
	if found == nil {
		return nil, tidy(doc)
	}
	attributes = map[string]string{}
	rest = doc[:found[0][0]]
	for i, m := range found {
		to := len(doc)
		if i+1 < len(found) {
			to = found[i+1][0]
		}
		// an empty line ends the documentation of an attribute
		text, more, _ := strings.Cut(doc[m[1]:to], "\n\n")
		attributes[doc[m[2]:m[3]]] = tidy(text)
		rest += more
	}
	return attributes, tidy(rest)
}

// tidy removes the indentation of a multi-line text.
func tidy(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
