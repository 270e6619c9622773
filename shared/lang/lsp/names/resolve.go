package names

import (
	"cmp"
	"slices"
	"strings"

	"southbound/shared/lang/syntax"
)

// Use is a name in a text.
type Use struct {
	From, To int // bytes
	Kind     Kind
	Name     string  // without its namespace
	Symbol   *Symbol // its symbol; nil if that is not known
	Def      bool    // it defines the symbol, or assigns to the variable
	// Why is the reason for a missing symbol, if the texts alone show that the name is wrong. With
	// a Code it is a problem.
	Why, Hint, Code string
	Whole           int // where the qualified name begins
}

// Uses are the names in a text, in order, and the scopes of variables by place.
type Uses struct {
	List   []Use
	scopes []reach
}

// reach is the range of a scope.
type reach struct {
	from, to int
	scope    *scope
}

// At returns the name at a place; nil if there is none. A cursor directly after a name counts.
func (u *Uses) At(offset int) *Use {
	var behind *Use
	for i := range u.List {
		switch x := &u.List[i]; {
		case x.From <= offset && offset < x.To:
			return x
		case x.To == offset:
			behind = x
		}
	}
	return behind
}

// scopeAt returns the scope of a place.
func (u *Uses) scopeAt(offset int) *scope {
	var out *scope
	size := 0
	for _, r := range u.scopes {
		if r.from <= offset && offset <= r.to && (out == nil || r.to-r.from <= size) {
			out, size = r.scope, r.to-r.from
		}
	}
	return out
}

// Uses returns the names of a text of the project.
func (p *Project) Uses(f *File) *Uses {
	if u := p.uses[f]; u != nil {
		return u
	}
	s := p.spaces[f.Namespace]
	if s.file != f { // another text has the namespace
		p.uses[f] = &Uses{}
		return p.uses[f]
	}
	r := &resolver{project: p, file: f, space: s, uses: &Uses{}}
	r.uses.scopes = []reach{{0, len(f.Tree.Text), s.scope}}
	for _, st := range f.Tree.Body {
		r.statement(st, s.scope)
	}
	slices.SortStableFunc(r.uses.List, func(a, b Use) int { return cmp.Compare(a.From, b.From) })
	p.uses[f] = r.uses
	return r.uses
}

// resolver resolves the names in a text to symbols.
//
// Large: it has a method for each kind of statement and expression, which share the scope they are
// in.
type resolver struct {
	project *Project
	file    *File
	space   *space
	uses    *Uses
}

func (r *resolver) add(u Use) { r.uses.List = append(r.uses.List, u) }

// plain records a name without a namespace.
func (r *resolver) plain(k Kind, name *syntax.Ident, x *Symbol, def bool) {
	from, to := r.file.place(name)
	r.add(Use{From: from, To: to, Kind: k, Name: name.Text, Symbol: x, Def: def})
}

// path records a possibly qualified name, and its namespace as a name of its own.
func (r *resolver) path(k Kind, name *syntax.Path, x *Symbol) {
	from, to := r.file.place(name)
	ns, last := within(name.Text)
	u := Use{From: to - len(last), To: to, Kind: k, Name: last, Symbol: x, Whole: from}
	if ns != "" {
		behind := r.file.Tree.Tokens[name.To-2].End()
		other := r.project.space(r.space, ns)
		n := Use{From: from, To: int(behind.Offset), Kind: Namespace, Name: ns}
		if other != nil {
			n.Symbol = other.symbol
		}
		r.add(n)
	}
	if x == nil && k != Variable && last != "" {
		r.unknown(&u, name.Text)
	}
	r.add(u)
}

// typeName records the name of an entity, a typedef, an implementation or a plugin.
func (r *resolver) typeName(k Kind, name *syntax.Path) *Symbol {
	x := r.project.find(r.space, name.Text)
	r.path(k, name, x)
	return x
}

// entityName records the name of an entity.
func (r *resolver) entityName(name *syntax.Path) *Symbol {
	if x := r.typeName(Entity, name); x != nil && x.Kind == Entity {
		return x
	}
	return nil
}

// attributeName records the name of an attribute of an entity; of is nil if the entity is not
// known.
func (r *resolver) attributeName(name *syntax.Ident, of *Symbol, def bool) *Symbol {
	from, to := r.file.place(name)
	u := Use{From: from, To: to, Kind: Attribute, Name: name.Text, Def: def}
	if of != nil {
		if u.Symbol = of.Attribute(name.Text); u.Symbol == nil {
			u.Why = "attribute"
		}
	}
	r.add(u)
	return u.Symbol
}

func (r *resolver) reach(whole syntax.Node, s *scope) {
	from, to := r.file.place(whole)
	r.uses.scopes = append(r.uses.scopes, reach{from, to, s})
}

func (r *resolver) statement(st syntax.Statement, s *scope) {
	switch st := st.(type) {
	case *syntax.Import:
		r.imported(st)
	case *syntax.Entity:
		r.entity(st)
	case *syntax.Typedef:
		r.typedef(st)
	case *syntax.Index:
		e := r.entityName(&st.Entity)
		for i := range st.Attributes {
			r.attributeName(&st.Attributes[i], e, false)
		}
	case *syntax.Implementation:
		r.plain(Implementation, &st.Name, r.definedAs(&st.Name), true)
		in := r.space.of(r.file, r.entityName(&st.Entity), &st.Entity)
		body := &scope{parent: in, vars: map[string]*Symbol{}, space: r.space}
		r.reach(st, body)
		r.body(st.Body, body)
	case *syntax.Implement:
		r.implement(st)
	case *syntax.Relation:
		r.end(&st.Left)
		r.end(&st.Right)
		for _, x := range st.Annotations {
			r.expression(x, s)
		}
	case *syntax.For:
		r.loopOver(st.In, s)
		in := s.inner()
		v := in.variable(r.file, &st.Variable, &st.Variable)
		v.value, v.scope, v.item = st.In, s, true
		r.plain(Variable, &st.Variable, v, true)
		if st.Second != nil { // of the values of a dict, whose type is not known
			r.plain(Variable, st.Second, in.variable(r.file, st.Second, st.Second), true)
			v.item, v.key = false, true
		}
		r.reach(st, in)
		r.body(st.Body, in)
	default:
		r.simple(st, s)
	}
}

func (r *resolver) simple(st syntax.Statement, s *scope) {
	switch st := st.(type) {
	case *syntax.If:
		r.expression(st.Condition, s)
		for _, body := range [][]syntax.Statement{st.Then, st.Else} {
			if len(body) == 0 {
				continue
			}
			in := s.inner()
			last := body[len(body)-1].Tokens().To
			r.reach(syntax.Span{From: body[0].Tokens().From, To: last}, in)
			r.body(body, in)
		}
	case *syntax.Assign:
		if v, ok := st.Target.(*syntax.Ref); ok {
			r.variableName(v, s, true)
		} else {
			r.expression(st.Target, s)
		}
		r.value(st.Value, s, typer{r.project}.typeOf(st.Target, s))
	case *syntax.Bare:
		r.expression(st.Value, s)
	}
}

// variableName records a variable.
func (r *resolver) variableName(x *syntax.Ref, s *scope, def bool) {
	r.path(Variable, &x.Name, s.find(r.project, x.Name.Text))
	r.uses.List[len(r.uses.List)-1].Def = def
}

// body resolves statements that have a scope of their own.
func (r *resolver) body(body []syntax.Statement, s *scope) {
	s.declare(r.file, body, "")
	for _, st := range body {
		r.statement(st, s)
	}
}

func (r *resolver) definedAs(name *syntax.Ident) *Symbol { return r.project.defined(r.file, name) }

func (r *resolver) imported(st *syntax.Import) {
	from, to := r.file.place(&st.Module)
	u := Use{From: from, To: to, Kind: Namespace, Name: st.Module.Text}
	if s := r.project.spaces[st.Module.Text]; s != nil {
		u.Symbol = s.symbol
	}
	r.add(u)
	if st.As != nil {
		r.plain(Namespace, st.As, u.Symbol, false)
	}
}

func (r *resolver) entity(st *syntax.Entity) {
	e := r.definedAs(&st.Name)
	r.plain(Entity, &st.Name, e, true)
	for i := range st.Extends {
		r.entityName(&st.Extends[i])
	}
	if st.Doc != nil {
		t := &r.file.Tree.Tokens[st.Doc.From]
		for _, m := range about().FindAllStringSubmatchIndex(t.Text, -1) {
			u := Use{From: int(t.Pos.Offset) + m[2], To: int(t.Pos.Offset) + m[3], Kind: Attribute}
			if u.Name = t.Text[m[2]:m[3]]; e != nil {
				u.Symbol = e.Attribute(u.Name)
			}
			r.add(u)
		}
	}
	for _, a := range st.Attributes {
		r.typeName(Typedef, &a.Type.Name)
		r.attributeName(&a.Name, e, true)
		if a.Default != nil {
			r.expression(a.Default, r.space.scope)
		}
	}
}

func (r *resolver) typedef(st *syntax.Typedef) {
	x := r.definedAs(&st.Name)
	r.plain(Typedef, &st.Name, x, true)
	r.typeName(Typedef, &st.Base)
	in := r.space.scope.inner()
	base := Type{Of: r.project.find(r.space, st.Base.Text)}
	in.vars["self"] = r.file.symbol(Variable, &st.Name, st.Name.Span, nil)
	in.vars["self"].Name, in.vars["self"].Space, in.vars["self"].Type = "self", "", base
	if x != nil {
		in.vars[st.Name.Text] = x
	}
	r.reach(st, in)
	if st.Matching != nil {
		r.expression(st.Matching, in)
	}
}

func (r *resolver) implement(st *syntax.Implement) {
	e := r.entityName(&st.Entity)
	for i := range st.Using {
		r.typeName(Implementation, &st.Using[i])
	}
	if st.When != nil {
		in := r.space.of(r.file, e, &st.Entity)
		r.reach(st.When, in)
		r.expression(st.When, in)
	}
}

func (r *resolver) end(st *syntax.End) {
	e := r.entityName(&st.Entity)
	if st.Name.Text != "" {
		r.attributeName(&st.Name, e, true)
	}
}

// value resolves an expression that is assigned to an attribute of a type. A constructor in it may
// omit the namespace of its entity.
func (r *resolver) value(x syntax.Expression, s *scope, t Type) {
	switch x := x.(type) {
	case *syntax.Construct:
		r.construct(x, s, t)
	case *syntax.Group:
		r.value(x.Value, s, t)
	case *syntax.List:
		for _, item := range x.Items {
			r.value(item, s, t)
		}
	case *syntax.Condition:
		r.expression(x.If, s)
		r.value(x.Then, s, t)
		r.value(x.Else, s, t)
	default:
		r.expression(x, s)
	}
}

func (r *resolver) construct(x *syntax.Construct, s *scope, t Type) {
	found := r.project.find(r.space, x.Entity.Text)
	if found == nil && t.Of != nil && t.Of.Kind == Entity &&
		!strings.Contains(x.Entity.Text, "::") {
		found = t.Of.named(x.Entity.Text)
	}
	r.path(Entity, &x.Entity, found)
	if found != nil && found.Kind != Entity {
		found = nil
	}
	r.arguments(x.Args, s, found)
}

// named returns the only entity of a name among an entity and its descendants; nil if there is none
// or more than one.
func (s *Symbol) named(name string) *Symbol {
	var out *Symbol
	n := 0
	s.family(func(e *Symbol) {
		if e.Name == name {
			out = e
			n++
		}
	})
	if n != 1 {
		return nil
	}
	return out
}

// arguments resolves arguments whose names are attributes.
func (r *resolver) arguments(args []syntax.Arg, s *scope, of *Symbol) {
	for i := range args {
		a := &args[i]
		var t Type
		if a.Name != nil {
			t = r.project.TypeOf(r.attributeName(a.Name, of, false))
		}
		r.value(a.Value, s, t)
	}
}
