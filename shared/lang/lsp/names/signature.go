package names

import (
	"sort"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/syntax"
)

// Calling describes the parameters of the call or constructor around a place.
type Calling struct {
	Symbol *Symbol  // a plugin or an entity
	Label  string   // with all parameters
	Params []string // parts of Label, in order
	Active int      // index of the current parameter; len(Params) if none matches
}

// Calling returns the parameters for the brackets around a place; nil if they do not belong to a
// call of a plugin or to a constructor.
func (p *Project) Calling(f *File, offset int) *Calling {
	s := p.spaces[f.Namespace]
	if s.file != f {
		return nil
	}
	all := f.Tree.Tokens
	n := sort.Search(len(all), func(i int) bool { return int(all[i].Pos.Offset) >= offset })
	c := &completer{
		cursor: cursor{file: f, tokens: all[:n]}, candidates: candidates{project: p}, space: s,
	}
	open := c.openBracket()
	for open > 0 && c.last(open).Text != "(" {
		c.tokens = c.tokens[:len(c.tokens)-open] // skip a list or a look-up in the call
		open = c.openBracket()
	}
	if open == 0 {
		return nil
	}
	path, first := c.pathBefore(open+1, "::")
	switch c.last(first + 1).Text {
	case "index", ".":
		return nil
	}
	if len(path) == 0 {
		return nil
	}
	switch of := p.find(s, strings.Join(path, "::")); {
	case of == nil:
	case of.Kind == Plugin:
		out := &Calling{Symbol: of, Label: Signature(of.Plugin), Params: parameters(of.Plugin)}
		out.Active = c.active(open, out.Params)
		return out
	case of.Kind == Entity:
		out := &Calling{Symbol: of}
		for _, a := range of.Attributes() {
			out.Params = append(out.Params, a.Name+typed(a.Type.String())+defaultAttribute(a))
		}
		out.Label = of.FullName() + "(" + strings.Join(out.Params, ", ") + ")"
		out.Active = len(out.Params)
		if name := c.argument(open); name != "" {
			out.Active = placeOf(name, out.Params)
		}
		return out
	}
	return nil
}

// defaultAttribute returns the default of an attribute; "" for a relation.
func defaultAttribute(a *Symbol) string {
	if a.Kind == Relation {
		return ""
	}
	return defaultOf(a)
}

// active returns the index of the parameter at a place: the named one, or the one by position.
func (c *cursor) active(open int, params []string) int {
	if name := c.argument(open); name != "" {
		return placeOf(name, params)
	}
	turn, depth := 0, 0
	for n := open - 1; n > 0; n-- {
		switch c.last(n).Text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ",":
			if depth == 0 {
				turn++
			}
		}
	}
	for i, p := range params[:min(turn+1, len(params))] {
		switch {
		case strings.HasPrefix(p, "**"), p == "*":
			return len(params) // the remaining parameters are keyword-only
		case strings.HasPrefix(p, "*"):
			return i
		}
	}
	return min(turn, len(params))
}

// argument returns the name of the argument around a place; "" for a positional argument.
func (c *cursor) argument(open int) string {
	depth := 0
	for n := 1; n < open; n++ {
		switch t := c.last(n); {
		case t.Text == ")" || t.Text == "]" || t.Text == "}":
			depth++
		case t.Text == "(" || t.Text == "[" || t.Text == "{":
			depth--
		case depth == 0 && t.Text == ",":
			return ""
		case depth == 0 && t.Role == syntax.NamesArg, depth == 0 && t.Text == "=":
			return c.last(n + 1).Text
		}
	}
	return ""
}

// placeOf returns the index of a parameter by its name. For an unknown name it returns the index of
// the ** parameter, or the number of parameters if there is none.
func placeOf(name string, params []string) int {
	for i, p := range params {
		if of, _, _ := strings.Cut(p, ":"); of == name || strings.HasPrefix(of, name+" =") {
			return i
		}
	}
	if n := len(params); n > 0 && strings.HasPrefix(params[n-1], "**") {
		return n - 1
	}
	return len(params)
}

// parameters returns the parameters of a plugin as its signature shows them.
func parameters(q *eval.Plugin) []string {
	var params []string
	byName := false
	for _, a := range q.Params {
		if a.ByName && !byName && q.Rest == nil {
			params = append(params, "*")
		}
		byName = byName || a.ByName
		params = append(params, a.Name+typed(a.Type)+defaultParam(a))
	}
	if q.Rest != nil {
		params = append(params, "*"+q.Rest.Name+typed(q.Rest.Type))
	}
	if q.Named != nil {
		params = append(params, "**"+q.Named.Name+typed(q.Named.Type))
	}
	return params
}
