package schema

import (
	"maps"
	"slices"
	"strings"
)

// templateError is a problem of a template.
type templateError struct{ message, hint string }

// parseTemplate parses a template; names are the attributes of the type.
func parseTemplate(s string, names []string) (template, *templateError) {
	var out template
	for s != "" {
		at := strings.IndexByte(s, '$')
		if at < 0 {
			return append(out, piece{text: s}), nil
		}
		if at > 0 {
			out = append(out, piece{text: s[:at]})
			s = s[at:]
		}
		if strings.HasPrefix(s, "$$") {
			out = append(out, piece{text: "$"})
			s = s[2:]
			continue
		}
		p, rest, err := parseReference(s[1:], names)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
		s = rest
	}
	return out, nil
}

// parseReference parses name or {name.member|filter} and returns the text after it.
func parseReference(s string, names []string) (piece, string, *templateError) {
	inside, rest := "", ""
	if strings.HasPrefix(s, "{") {
		var closed bool
		if inside, rest, closed = strings.Cut(s[1:], "}"); !closed {
			return piece{}, "",
				&templateError{"a ${ has no }", "write ${name}, or $$ for a dollar sign"}
		}
	} else {
		n := 0
		for n < len(s) && isWord(s[n]) {
			n++
		}
		inside, rest = s[:n], s[n:]
	}
	inside, filter, filtered := strings.Cut(inside, "|")
	p := piece{path: strings.Split(strings.TrimSpace(inside), "."),
		filter: strings.TrimSpace(filter)}
	known := slices.Sorted(maps.Keys(filters()))
	switch {
	case p.path[0] == "":
		return p, "", &templateError{"a $ stands before no attribute", "write $$ for a dollar sign"}
	case !slices.Contains(names, p.path[0]):
		return p, "",
			&templateError{sprintf("$%s is not an attribute of the type",
				[]any{shorten(p.path[0], 40)}),
				orList(nearestHint(p.path[0], names), "it has ", names)}
	case slices.Contains(p.path, ""):
		return p, "",
			&templateError{sprintf("${%s} has an empty member", []any{shorten(inside, 40)}),
				"write ${name.member}"}
	case filtered && filters()[p.filter] == nil:
		return p, "",
			&templateError{sprintf("there is no filter %q", []any{shorten(p.filter, 40)}),
				orList(nearestHint(p.filter, known), "there are ", known)}
	}
	p.change = filters()[p.filter]
	return p, rest, nil
}

// references returns the attributes in a template.
func (t template) references() []string {
	var out []string
	for _, p := range t {
		if p.path != nil {
			out = append(out, p.path[0])
		}
	}
	return out
}
