package names

import (
	"strings"

	"southbound/shared/lang/syntax"
)

// expression resolves the names of an expression.
func (r *resolver) expression(x syntax.Expression, s *scope) {
	switch x := x.(type) {
	case *syntax.Ref:
		r.variableName(x, s, false)
	case *syntax.Attr:
		r.expression(x.Of, s)
		r.attributeName(&x.Name, typer{r.project}.typeOf(x.Of, s).entity(), false)
	case *syntax.Lookup:
		r.expression(x.Map, s)
		r.expression(x.Key, s)
	case *syntax.IndexLookup:
		r.indexLookup(x, s)
	case *syntax.Construct:
		r.construct(x, s, Type{})
	case *syntax.Call:
		r.typeName(Plugin, &x.Plugin)
		for i := range x.Args {
			r.expression(x.Args[i].Value, s)
		}
	case *syntax.List:
		for _, item := range x.Items {
			r.expression(item, s)
		}
	case *syntax.Dict:
		for i := range x.Pairs {
			r.expression(x.Pairs[i].Value, s)
		}
	case *syntax.Comprehension:
		r.comprehension(x, s)
	case *syntax.Format:
		t := &r.file.Tree.Tokens[x.From]
		r.paths(formatted(t.Text, x.Parts), int(t.Pos.Offset), s)
	case *syntax.FText:
		t := &r.file.Tree.Tokens[x.From]
		r.paths(interpolated(t.Text), int(t.Pos.Offset), s)
	default:
		r.combined(x, s)
	}
}

func (r *resolver) combined(x syntax.Expression, s *scope) {
	switch x := x.(type) {
	case *syntax.Operation:
		r.expression(x.Left, s)
		r.expression(x.Right, s)
	case *syntax.Not:
		r.expression(x.Value, s)
	case *syntax.Condition:
		r.expression(x.If, s)
		r.expression(x.Then, s)
		r.expression(x.Else, s)
	case *syntax.Defined:
		r.expression(x.Value, s)
	case *syntax.Group:
		r.expression(x.Value, s)
	}
}

func (r *resolver) indexLookup(x *syntax.IndexLookup, s *scope) {
	if x.Of == nil {
		r.arguments(x.Args, s, r.entityName(&x.Entity))
		return
	}
	r.expression(x.Of, s)
	t := typer{r.project}.typeOf(x.Of, s)
	t.List = false
	r.arguments(x.Args, s, t.entity())
}

func (r *resolver) comprehension(x *syntax.Comprehension, s *scope) {
	for i := range x.Loops {
		r.expression(x.Loops[i].In, s)
		s = typer{r.project}.loop(s, r.file, &x.Loops[i])
		r.plain(Variable, &x.Loops[i].Variable, s.vars[x.Loops[i].Variable.Text], true)
	}
	r.reach(x, s)
	r.expression(x.Value, s)
	for _, c := range x.If {
		r.expression(c, s)
	}
}

// piece is a name in a text: a variable, or behind it an attribute.
type piece struct {
	name     string
	from, to int // in the token
	first    bool
}

// pieces divides a path such as a.b, which begins at a place of the token.
func pieces(out []piece, path string, at int) []piece {
	for i := 0; ; i++ {
		name, rest, more := strings.Cut(path, ".")
		text := strings.TrimSpace(name)
		if from := at + strings.Index(name, text); text != "" {
			out = append(out, piece{text, from, from + len(text), i == 0})
		}
		if !more {
			return out
		}
		at, path = at+len(name)+1, rest
	}
}

// formatted finds the names in {{ a.b }} of a text.
func formatted(text string, parts []syntax.Part) []piece {
	var out []piece
	at := 0
	for _, p := range parts {
		if len(p.Path) == 0 {
			continue
		}
		path := strings.Join(p.Path, ".")
		for {
			i := strings.Index(text[at:], "{{")
			if i < 0 {
				return out
			}
			at += i + len("{{")
			in, _, ended := strings.Cut(text[at:], "}}")
			if ended && strings.TrimSpace(in) == path {
				out = pieces(out, in, at)
				at += len(in)
				break
			}
		}
	}
	return out
}

// interpolated finds the names in {a.b} of an f-string.
func interpolated(text string) []piece {
	var out []piece
	depth := 0
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '}' && depth > 0:
			depth--
		case text[i] != '{':
		case depth == 0 && strings.HasPrefix(text[i:], "{{"):
			i++
		default:
			depth++
			n := strings.IndexAny(text[i+1:], "!:{}")
			if n < 0 {
				return out
			}
			out = pieces(out, text[i+1:i+1+n], i+1)
			i += n
		}
	}
	return out
}

// paths notes names in a text.
func (r *resolver) paths(names []piece, at int, s *scope) {
	var t Type
	for _, n := range names {
		u := Use{From: at + n.from, To: at + n.to, Kind: Attribute, Name: n.name}
		switch e := t.entity(); {
		case n.first:
			u.Kind, u.Symbol = Variable, s.find(r.project, n.name)
		case e != nil:
			if u.Symbol = e.Attribute(n.name); u.Symbol == nil {
				u.Why = "attribute"
			}
		}
		t = r.project.TypeOf(u.Symbol)
		r.add(u)
	}
}
