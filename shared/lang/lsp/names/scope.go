package names

import (
	"southbound/shared/lang/syntax"
)

// scope is a scope of variables: that of a namespace, a block or a comprehension, or the attributes
// of an instance.
type scope struct {
	parent   *scope
	vars     map[string]*Symbol
	instance bool
	self     *Symbol // of an instance
	space    *space
}

// inner returns a scope within another one.
func (s *scope) inner() *scope {
	return &scope{parent: s, vars: map[string]*Symbol{}, space: s.space}
}

// declare adds the variables that statements assign to.
func (s *scope) declare(f *File, body []syntax.Statement, space string) {
	for _, st := range body {
		a, ok := st.(*syntax.Assign)
		if !ok {
			continue
		}
		if r, ok := a.Target.(*syntax.Ref); ok && s.vars[r.Name.Text] == nil {
			x := s.variable(f, &r.Name, a)
			x.Space, x.value, x.scope = space, a.Value, s
		}
	}
}

// variable adds a variable.
func (s *scope) variable(f *File, name *syntax.Ident, whole syntax.Node) *Symbol {
	x := f.symbol(Variable, name, whole.Tokens(), nil)
	x.Space = ""
	s.vars[name.Text] = x
	return x
}

// of returns the scope of the attributes of an instance. at is the name of its entity.
func (s *space) of(f *File, e *Symbol, at *syntax.Path) *scope {
	self := f.symbol(Variable, at, at.Span, nil)
	self.Name, self.Space, self.Type, self.inferred = "self", "", Type{Of: e}, true
	return &scope{instance: true, self: self, space: s}
}

// find returns the symbol of a variable name: a variable, or an attribute of the instance.
func (s *scope) find(p *Project, name string) *Symbol {
	if ns, last := within(name); ns != "" {
		if other := p.space(s.space, ns); other != nil {
			return other.scope.vars[last]
		}
		return nil
	}
	for at := s; at != nil; at = at.parent {
		if at.instance {
			if name == "self" {
				return at.self
			}
			if e := at.self.Type.Of; e != nil {
				if a := e.Attribute(name); a != nil {
					return a
				}
			}
			continue
		}
		if v := at.vars[name]; v != nil {
			return v
		}
	}
	return s.space.scope.vars[name]
}

// each calls use with every visible variable and attribute, inner scopes first.
func (s *scope) each(use func(*Symbol)) {
	for at := s; at != nil; at = at.parent {
		if !at.instance {
			for _, v := range at.vars {
				use(v)
			}
			continue
		}
		use(at.self)
		if e := at.self.Type.Of; e != nil {
			for _, a := range e.Attributes() {
				use(a)
			}
		}
	}
	for _, v := range s.space.scope.vars {
		use(v)
	}
}

// typer infers the types of expressions and symbols.
type typer struct{ *Project }

// typeOf returns the known type of an expression.
func (p typer) typeOf(x syntax.Expression, s *scope) Type {
	switch x := x.(type) {
	case *syntax.Group:
		return p.typeOf(x.Value, s)
	case *syntax.Ref:
		return p.typeOfSymbol(s.find(p.Project, x.Name.Text))
	case *syntax.Attr:
		if e := p.typeOf(x.Of, s).entity(); e != nil {
			return p.typeOfSymbol(e.Attribute(x.Name.Text))
		}
	case *syntax.Construct:
		return Type{Of: p.entity(s.space, &x.Entity)}
	case *syntax.IndexLookup:
		if x.Of == nil {
			return Type{Of: p.entity(s.space, &x.Entity)}
		}
		return Type{Of: p.typeOf(x.Of, s).Of}
	case *syntax.Call:
		return p.result(x, s)
	case *syntax.List:
		if len(x.Items) > 0 {
			return Type{Of: p.typeOf(x.Items[0], s).Of, List: true}
		}
	case *syntax.Comprehension:
		for _, l := range x.Loops {
			s = p.loop(s, nil, &l)
		}
		return Type{Of: p.typeOf(x.Value, s).Of, List: true}
	case *syntax.Condition:
		if t := p.typeOf(x.Then, s); t.Of != nil {
			return t
		}
		return p.typeOf(x.Else, s)
	default:
		return p.literal(x)
	}
	return Type{}
}

// literal returns the type of an expression whose syntax alone determines it.
func (p typer) literal(x syntax.Expression) Type {
	name := ""
	switch x := x.(type) {
	case *syntax.Text, *syntax.Format, *syntax.FText:
		name = "string"
	case *syntax.Number:
		if name = "float"; x.Int != nil {
			name = "int"
		}
	case *syntax.Dict:
		name = "dict"
	case *syntax.Not, *syntax.Defined:
		name = "bool"
	case *syntax.Constant:
		if x.Text != "null" {
			name = "bool"
		}
	case *syntax.Operation:
		switch x.Op {
		case "and", "or", "in", "not in", "==", "!=", "<", "<=", ">", ">=":
			name = "bool"
		}
	}
	if name == "" {
		return Type{}
	}
	return Type{Of: p.builtIns[name]}
}

// result returns the type of a plugin's result, or of a cast.
func (p typer) result(x *syntax.Call, s *scope) Type {
	q := p.find(s.space, x.Plugin.Text)
	switch {
	case q == nil:
		return Type{}
	case q.Kind == Primitive:
		return Type{Of: q}
	case q.Plugin == nil:
		return Type{}
	}
	return p.written(p.spaces[q.Space], q.Plugin.Result)
}

// written parses the type of a plugin's result.
func (p typer) written(s *space, text string) Type {
	var t Type
	if n := len(text) - 1; n > 0 && text[n] == '?' {
		text, t.Nullable = text[:n], true
	}
	if n := len(text) - 2; n > 0 && text[n:] == "[]" {
		text, t.List = text[:n], true
	}
	t.Of = p.find(s, text)
	return t
}

// loop returns the scope of `for x in list` in a comprehension. f may be nil if only types are
// needed.
func (p typer) loop(s *scope, f *File, l *syntax.Loop) *scope {
	in := s.inner()
	x := &Symbol{Kind: Variable, Name: l.Variable.Text}
	if f != nil {
		x = f.symbol(Variable, &l.Variable, l.Variable.Span, nil)
		x.Space = ""
	}
	x.value, x.scope, x.item = l.In, s, true
	in.vars[x.Name] = x
	if l.Second == nil {
		return in
	}
	x.item, x.key = false, true
	second := &Symbol{Kind: Variable, Name: l.Second.Text}
	if f != nil {
		second = f.symbol(Variable, l.Second, l.Second.Span, nil)
		second.Space = ""
	}
	in.vars[second.Name] = second
	return in
}

// typeOfSymbol returns the known type of a variable or an attribute.
func (p typer) typeOfSymbol(x *Symbol) Type {
	switch {
	case x == nil || x.Kind == Entity || x.Kind == Plugin:
		return Type{}
	case x.Kind == Typedef: // the value that its condition tests
		return x.Type
	case x.Kind != Variable || x.inferred || x.value == nil:
		return x.Type
	}
	x.inferred = true // prevents endless recursion
	t := p.typeOf(x.value, x.scope)
	switch overDict := t.Of != nil && t.Of == p.builtIns["dict"] && !t.List; {
	case x.key, x.item && overDict:
		t = Type{Of: p.builtIns["string"]}
	case x.item && !t.List:
		t = Type{}
	case x.item:
		t.List = false
	}
	x.Type = t
	return t
}

// TypeOf returns the known type of a variable, an attribute or a typedef's value.
func (p *Project) TypeOf(x *Symbol) Type { return typer{p}.typeOfSymbol(x) }
