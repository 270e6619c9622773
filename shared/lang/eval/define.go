package eval

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// definition is a definition with its file.
type definition struct {
	unit   *textUnit
	syntax syntax.Statement
	entity *types.Entity
	impl   *implementation
	def    *types.Typedef
}

// pendingDefault is a default that is checked when all types are known.
type pendingDefault struct {
	value types.Value
	typ   types.Type
	name  string
	at    *diag.Pos
}

// define processes all definitions, and binds all statements. After a problem, it continues as long
// as the following steps can still produce meaningful problems.
func (p *program) define() []*fail {
	entities, relations := entityPass{p}, relationPass{p}
	for _, step := range []func(){
		p.standard, p.register, entities.typedefs, entities.inherit, entities.attributes,
		relations.relate, relations.index, p.bindPlugins, relations.implement,
	} {
		step()
	}
	if len(p.fails) > 0 {
		return p.fails
	}
	entities.check()
	relations.precedence()
	if len(p.fails) > 0 {
		return p.fails
	}
	relations.bind()
	return p.fails
}

// entityPass processes typedefs, entities and their attributes.
type entityPass struct{ *program }

// relationPass processes relations, indexes and implementations.
type relationPass struct{ *program }

// standard creates std::Entity with requires and provides, and makes std visible in all namespaces.
func (p *program) standard() {
	std := p.namespaceOf("std")
	internal := &diag.Pos{File: "internal", Line: 1}
	base := &types.Entity{
		Name:      "Entity",
		Namespace: "std",
		At:        internal,
		Doc:       "The entity that all others extend.",
	}
	p.base = base
	p.entities = append(p.entities, base)
	std.types["Entity"] = base
	requires := &types.Attribute{Name: "requires", Entity: base, At: internal}
	provides := &types.Attribute{Name: "provides", Entity: base, At: internal}
	for _, a := range []*types.Attribute{requires, provides} {
		a.Type, a.Accepts, a.Multi, a.Nullable = base, base, true, true
		a.Relation = &types.Relation{High: -1, Target: base}
		base.Own = append(base.Own, a)
	}
	requires.Relation.Inverse, provides.Relation.Inverse = provides, requires
	var show func(*namespace)
	show = func(n *namespace) {
		for _, c := range n.children {
			c.visible["std"] = &view{target: std}
			show(c)
		}
	}
	show(p.root)
}

// register defines the names of all types and plugins, and resolves imports.
func (p *program) register() {
	for _, u := range p.units {
		for _, st := range u.syntax.Body {
			p.registerOne(u, st)
		}
	}
	for i := range p.input.Plugins {
		q := &p.input.Plugins[i]
		ns, name := within(q.Name)
		n := p.loaded(ns)
		if n == nil {
			continue
		}
		if first := n.types[name]; first != nil {
			f := failed(
				CodeDuplicate,
				placeOf(first),
				"%s is defined twice: there is a plugin of this name",
				q.Name,
			).heavy(40)
			p.problem(f)
			continue
		}
		n.types[name] = q
		p.plugins[q] = &boundPlugin{Plugin: q}
	}
}

// loaded returns the namespace of a file of the program; nil if there is none.
func (p *program) loaded(name string) *namespace {
	for _, u := range p.units {
		if u.ns.name == name {
			return u.ns
		}
	}
	return nil
}

func (p *program) registerOne(u *textUnit, st syntax.Statement) {
	d := definition{unit: u, syntax: st}
	var name *syntax.Ident
	var made any
	switch st := st.(type) {
	case *syntax.Import:
		p.importNamespace(u, st)
		return
	case *syntax.Entity:
		d.entity = &types.Entity{Name: st.Name.Text, Namespace: u.ns.name, At: u.pos(&st.Name),
			Doc: doc(st.Doc), ID: len(p.entities)}
		p.entities = append(p.entities, d.entity)
		name, made = &st.Name, d.entity
	case *syntax.Typedef:
		d.def = &types.Typedef{Name: u.ns.name + "::" + st.Name.Text, At: u.pos(&st.Name),
			Doc: doc(st.Doc)}
		name, made = &st.Name, d.def
		if types.Builtin(st.Name.Text) != nil {
			p.warn(CodeOverrideBuiltin, d.def.At, "choose another name",
				"%s is the name of a type of the language, which this cannot replace", st.Name.Text)
		}
	case *syntax.Implementation:
		d.impl = &implementation{name: u.ns.name + "::" + st.Name.Text, at: u.pos(&st.Name),
			syntax: st}
		name, made = &st.Name, d.impl
	case *syntax.Index, *syntax.Implement, *syntax.Relation:
	default:
		return
	}
	if name != nil {
		if first := u.ns.types[name.Text]; first != nil {
			f := failed(CodeDuplicate, u.pos(name), "%s is defined twice", name.Text).heavy(40)
			p.problem(f.with(placeOf(first), "it is defined here first"))
			return
		}
		u.ns.types[name.Text] = made
	}
	p.definitions = append(p.definitions, d)
}

func doc(t *syntax.Text) string {
	if t == nil {
		return ""
	}
	return t.Value
}

// placeOf returns the position of a definition.
func placeOf(t any) *diag.Pos {
	switch t := t.(type) {
	case *types.Entity:
		return t.At
	case *types.Typedef:
		return t.At
	case *implementation:
		return t.at
	case *Plugin:
		return t.At
	}
	return nil
}

func (p *program) importNamespace(u *textUnit, st *syntax.Import) {
	at := u.pos(st)
	target := p.loaded(st.Module.Text)
	if target == nil {
		f := failed(CodeImport, at, "there is no module %s", st.Module.Text).heavy(5)
		p.problem(f.advise("%s", u.ns.importHint(st.Module.Text, "")))
		return
	}
	name := st.Module.Text
	if st.As != nil {
		name = st.As.Text
	}
	if v := u.ns.visible[name]; v != nil && v.at != nil {
		f := failed(CodeImport, at, "two imports give the name %s", name).heavy(40).
			advise("give one of them another name with `as`")
		p.problem(f.with(v.at, "the first one is here"))
		return
	}
	u.ns.visible[name] = &view{target: target, at: at}
}

// typedefs resolves the base types and conditions of typedefs.
func (p entityPass) typedefs() {
	for _, d := range p.definitions {
		st, ok := d.syntax.(*syntax.Typedef)
		if !ok {
			continue
		}
		d.def.Condition = source(d.unit.file, st.Matching)
		at := d.unit.pos(&st.Base)
		if !mentions(st.Matching, st.Name.Text) {
			p.problem(
				failed(
					CodeTypedef,
					d.def.At,
					"the condition of the type %s does not ask about its value",
					st.Name.Text,
				).heavy(10).
					advise("use self, as in `typedef port as int matching self > 0`"),
			)
		}
		base, f := d.unit.ns.typeOf(st.Base.Text, at)
		if f != nil {
			p.problem(f)
			d.def.Base = types.Any
			continue
		}
		t, ok := base.(types.Type)
		if !ok {
			p.problem(failed(CodeTypedef, at, "%s is not a type", st.Base.Text))
			t = types.Any
		}
		d.def.Base = t
		if wrong := based(d.def); wrong != "" {
			p.problem(failed(CodeTypedef, d.def.At, "the type %s %s", st.Name.Text, wrong))
			d.def.Base = types.Any
		}
		d.def.Values = listed(st.Matching)
		x := &direct{program: p.program, unit: d.unit, at: d.def.At}
		d.def.Holds = func(v types.Value) (bool, error) { return x.holds(st.Matching, v) }
	}
}

// based returns the problem of the base of a typedef; "" if there is none.
func based(t *types.Typedef) string {
	const most = 1000
	base, ok := t.Base.(*types.Typedef)
	for n := 0; ok; n++ {
		switch {
		case base == t:
			return "is made of itself"
		case n > most:
			return fmt.Sprintf("is made of more than %d others, one of the other", most)
		}
		base, ok = base.Base.(*types.Typedef)
	}
	return ""
}

// source returns the source text of an expression, with single spaces.
func source(f *file, x syntax.Expression) string {
	from, to := f.syntax.Pos(x).Offset, f.syntax.End(x).Offset
	return strings.Join(strings.Fields(f.syntax.Text[from:to]), " ")
}

// inherit resolves the parents of entities, and rejects cycles.
func (p entityPass) inherit() {
	for _, d := range p.definitions {
		st, ok := d.syntax.(*syntax.Entity)
		if !ok {
			continue
		}
		at := d.unit.pos(st)
		seen := map[string]bool{}
		for i := range st.Extends {
			name := st.Extends[i].Text
			if seen[name] {
				p.problem(
					failed(CodeInherit, at, "%s extends %s twice", st.Name.Text, name).heavy(10),
				)
				continue
			}
			seen[name] = true
			t, f := d.unit.ns.typeOf(name, d.unit.pos(&st.Extends[i]))
			if f != nil {
				p.problem(f.with(at, "the entity is defined here"))
				continue
			}
			d.entity.Parents = append(d.entity.Parents, t.(*types.Entity))
		}
		if len(st.Extends) == 0 {
			d.entity.Parents = []*types.Entity{p.base}
		}
	}
	p.circles()
	for _, d := range p.definitions {
		if d.entity != nil {
			for _, parent := range d.entity.Parents {
				parent.Children = append(parent.Children, d.entity)
			}
		}
	}
}

// circles rejects entities that extend themselves, and removes the parents that close a cycle.
func (p entityPass) circles() {
	state := map[*types.Entity]int{}
	var path []*types.Entity
	var visit func(e *types.Entity)
	visit = func(e *types.Entity) {
		state[e] = 1
		path = append(path, e)
		e.Parents = slices.DeleteFunc(e.Parents, func(parent *types.Entity) bool {
			switch state[parent] {
			case 0:
				visit(parent)
			case 1:
				p.problem(circle(path[slices.Index(path, parent):]))
				return true
			}
			return false
		})
		path = path[:len(path)-1]
		state[e] = 2
	}
	for _, e := range p.entities {
		if state[e] == 0 {
			visit(e)
		}
	}
}

func circle(path []*types.Entity) *fail {
	var names []string
	for _, e := range path {
		names = append(names, e.Name)
	}
	f := failed(
		CodeInherit,
		path[0].At,
		"an entity cannot extend itself: %s",
		strings.Join(append(names, path[0].Name), " extends "),
	).heavy(10)
	for _, e := range path[1:] {
		f.with(e.At, e.Name+" is defined here")
	}
	return f
}

// attributes processes the attributes of all entities.
func (p entityPass) attributes() {
	for _, d := range p.definitions {
		st, ok := d.syntax.(*syntax.Entity)
		if !ok {
			continue
		}
		for _, a := range st.Attributes {
			p.attribute(d.unit, d.entity, a)
		}
	}
	for _, d := range p.definitions {
		if d.entity != nil {
			p.compatible(d.entity)
		}
	}
}

func (p entityPass) attribute(u *textUnit, e *types.Entity, st *syntax.Attribute) {
	at := u.pos(&st.Name)
	t, f := u.ns.typeOf(st.Type.Name.Text, u.pos(&st.Type.Name))
	if f != nil {
		p.problem(f)
		t = types.Opaque
	}
	base, ok := t.(types.Type)
	if !ok {
		p.problem(
			failed(
				CodeUnknownType,
				u.pos(&st.Type.Name),
				"%s is not a type",
				st.Type.Name.Text,
			).heavy(20),
		)
		base = types.Opaque
	}
	if base == types.Type(types.Number) {
		p.warn(CodeDeprecated, u.pos(&st.Type), "use int or float", "the type number is deprecated")
	}
	a := &types.Attribute{
		Name:     st.Name.Text,
		Entity:   e,
		Multi:    st.Type.List,
		Nullable: st.Type.Nullable,
		At:       at,
	}
	a.Type, a.Accepts = wrapped(base, st.Type.List, st.Type.Nullable)
	if first := types.Own(e, a.Name); first != nil {
		f := failed(CodeDuplicate, first.At, "%s has two attributes %s", e.Name, a.Name).heavy(40)
		p.problem(f.with(at, "the other one is here"))
		return
	}
	e.Own = append(e.Own, a)
	e.Forget()
	p.declareDefault(u, e, a, st)
}

// wrapped returns the type of an attribute, and the type of accepted values, which also admits
// references.
func wrapped(base types.Type, list, nullable bool) (t, accepts types.Type) {
	t, accepts = base, base
	if list {
		t, accepts = &types.ListOf{Of: t}, &types.ListOf{Of: &types.OrReference{Of: accepts}}
	}
	if nullable {
		t, accepts = &types.Nullable{Of: t}, &types.Nullable{Of: accepts}
	}
	return t, &types.OrReference{Of: accepts}
}

func (p entityPass) declareDefault(
	u *textUnit,
	e *types.Entity,
	a *types.Attribute,
	st *syntax.Attribute,
) {
	if st.Default == nil {
		// the defaults of parents do not apply here
		e.Defaults = append(e.Defaults, types.Default{Name: a.Name})
		return
	}
	v, ok := folded(st.Default)
	if !ok {
		p.problem(failed(CodeDefault, a.At, "the default of %s is not a constant", a.Name).
			advise("a default holds nothing that has to be computed; set the attribute in an " +
				"implementation instead"))
		return
	}
	e.Defaults = append(e.Defaults, types.Default{Name: a.Name, Value: v, At: a.At})
	p.defaults[e] = append(
		p.defaults[e],
		pendingDefault{value: v, typ: a.Type, name: a.Name, at: a.At},
	)
}

// compatible rejects attributes of the same name with different types. An attribute that hides a
// relation, such as requires, is allowed.
func (p entityPass) compatible(e *types.Entity) {
	have := map[string]*types.Attribute{}
	for _, a := range e.Own {
		have[a.Name] = a
	}
	for _, parent := range e.Ancestors() {
		for _, a := range parent.Own {
			mine := have[a.Name]
			if a.Relation == nil && mine != nil && !types.Same(mine.Type, a.Type) {
				f := failed(
					CodeInherit,
					mine.At,
					"the attribute %s of %s has the type %s, and that of %s has the type %s",
					a.Name,
					mine.Entity.Name,
					mine.Type,
					a.Entity.Name,
					a.Type,
				)
				p.problem(
					f.heavy(40).
						with(a.At, "the other one is defined here").
						with(e.At, "an entity has both"),
				)
			}
			have[a.Name] = a
		}
	}
}
