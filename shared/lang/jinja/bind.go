package jinja

import (
	"maps"
	"slices"
	"strings"

	"southbound/shared/lang/types"
	"southbound/shared/schema"
)

// builtin is a filter, a test or a method with its parameters.
type builtin struct {
	// params are the parameters in Python's syntax: "s, width=4, first=false". The last ones may be
	// *args and **named. The default "=-" marks an omitted argument as nil.
	params string
	call   func(s *state, a []types.Value) (types.Value, error)
	parsed []parameter
}

type parameter struct {
	name string
	// rest is "*" for the remaining positional values, "**" for the named ones, else "".
	rest      string
	optional  bool
	otherwise types.Value
}

// parsedAll parses the parameters of all builtins in a table.
func parsedAll(table map[string]builtin) map[string]builtin {
	for name, b := range table {
		b.parsed = parseParams(b.params)
		table[name] = b
	}
	return table
}

func parseParams(text string) []parameter {
	var out []parameter
	for p := range strings.SplitSeq(text, ", ") {
		name, value, optional := strings.Cut(p, "=")
		bare := strings.TrimLeft(name, "*")
		one := parameter{name: bare, rest: name[:len(name)-len(bare)], optional: optional}
		if optional {
			one.otherwise = constant(value)
		}
		out = append(out, one)
	}
	return out
}

// bound calls b with the values of a call in the order of its parameters.
func (b builtin) bound(
	s *state,
	what, name string,
	args []types.Value,
	named []namedValue,
) (types.Value, error) {
	if len(args) == len(b.parsed) && len(named) == 0 && b.parsed[len(b.parsed)-1].rest == "" {
		return s.made(b.call(s, args))
	}
	a, err := bind(b.parsed, args, named)
	if err != nil {
		return nil, failf("%s %s %s", what, name, err)
	}
	return s.made(b.call(s, a))
}

// bind orders the values of a call by parameters. The text of its error follows the name of the
// called function.
func bind(params []parameter, args []types.Value, named []namedValue) ([]types.Value, error) {
	out := make([]types.Value, 0, len(params))
	rest, used := args, 0
	for _, p := range params {
		i := slices.IndexFunc(
			named,
			func(n namedValue) bool { return p.rest == "" && n.name == p.name },
		)
		switch {
		case p.rest == "**":
			out = append(out, namedDict(named, params))
			used = len(named)
		case p.rest == "*":
			out = append(out, &Tuple{items: rest})
			rest = nil
		case len(rest) > 0 && i >= 0:
			return nil, failf("is given %q twice", p.name)
		case len(rest) > 0:
			out, rest = append(out, rest[0]), rest[1:]
		case i >= 0:
			out = append(out, named[i].value)
			used++
		case p.optional:
			out = append(out, p.otherwise)
		default:
			return nil, failf("needs %q", p.name)
		}
	}
	if len(rest) > 0 {
		return nil, failf("takes %d values, not %d", len(params), len(args))
	}
	if used < len(named) {
		return nil, failf("has no parameter %q", unknownName(named, params))
	}
	return out, nil
}

func isParam(name string, params []parameter) bool {
	return slices.ContainsFunc(
		params,
		func(p parameter) bool { return p.rest == "" && p.name == name },
	)
}

func unknownName(named []namedValue, params []parameter) string {
	for _, n := range named {
		if !isParam(n.name, params) {
			return n.name
		}
	}
	return ""
}

func namedDict(named []namedValue, params []parameter) *Dict {
	d := newDict()
	for _, n := range named {
		if !isParam(n.name, params) {
			_ = d.set(n.name, n.value) // a string is always a valid key
		}
	}
	return d
}

// constant parses the default of a parameter.
func constant(text string) types.Value {
	if v, ok := constants[text]; ok {
		return v
	}
	if text == "-" {
		return nil // omitted
	}
	if text[0] == '\'' {
		return text[1 : len(text)-1]
	}
	tokens, _ := lex("{{ " + strings.TrimPrefix(text, "-") + " }}")
	if n, ok := tokens[1].value.(int64); ok && text[0] == '-' {
		return -n
	}
	return tokens[1].value
}

// nearest returns "; did you mean …?" for a name that is similar to a known one, else "".
func nearest(name string, known map[string]builtin) string {
	if best := schema.Nearest(name, slices.Sorted(maps.Keys(known))); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}
