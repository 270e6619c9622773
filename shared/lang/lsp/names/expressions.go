package names

import (
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
		r.paths(syntax.Mentions(t, x.Parts), int(t.Pos.Offset), s)
	case *syntax.FText:
		t := &r.file.Tree.Tokens[x.From]
		r.paths(syntax.Mentions(t, x.Parts), int(t.Pos.Offset), s)
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
		l := &x.Loops[i]
		r.loopOver(l.In, s)
		s = typer{r.project}.loop(s, r.file, l)
		r.plain(Variable, &l.Variable, s.vars[l.Variable.Text], true)
		if l.Second != nil {
			r.plain(Variable, l.Second, s.vars[l.Second.Text], true)
		}
	}
	r.reach(x, s)
	r.expression(x.Value, s)
	for _, c := range x.If {
		r.expression(c, s)
	}
}

// loopOver records the names in the expression that a loop goes over. It may be the name of a type.
func (r *resolver) loopOver(x syntax.Expression, s *scope) {
	ref, ok := x.(*syntax.Ref)
	if !ok || s.find(r.project, ref.Name.Text) != nil {
		r.expression(x, s)
		return
	}
	if t := r.project.find(s.space, ref.Name.Text); t == nil || t.Kind != Typedef {
		r.expression(x, s)
		return
	}
	r.typeName(Typedef, &ref.Name)
}

// paths records the names in an interpolated string.
func (r *resolver) paths(names []syntax.Mention, at int, s *scope) {
	var t Type
	for _, n := range names {
		u := Use{From: at + n.From, To: at + n.To, Kind: Attribute, Name: n.Name}
		switch e := t.entity(); {
		case n.First:
			u.Kind, u.Symbol = Variable, s.find(r.project, n.Name)
		case e != nil:
			if u.Symbol = e.Attribute(n.Name); u.Symbol == nil {
				u.Why = "attribute"
			}
		}
		t = r.project.TypeOf(u.Symbol)
		r.add(u)
	}
}
