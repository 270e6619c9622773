package eval

import (
	"math/big"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// relate processes relations, and resolves the entities of implementations.
func (p relationPass) relate() {
	for _, d := range p.definitions {
		switch st := d.syntax.(type) {
		case *syntax.Relation:
			p.relation(d.unit, st)
		case *syntax.Implementation:
			d.impl.entity = p.entityOf(d.unit, &st.Entity, d.impl.at)
		}
	}
}

// entityOf returns the entity with this name. If there is none, it reports a problem and returns
// nil. by is the position of the definition that needs the entity.
func (p relationPass) entityOf(u *textUnit, name *syntax.Path, by *diag.Pos) *types.Entity {
	t, f := u.ns.typeOf(name.Text, u.pos(name))
	if f != nil {
		p.problem(f.with(by, "it is needed here"))
		return nil
	}
	e, _ := t.(*types.Entity)
	return e
}

func (p relationPass) relation(u *textUnit, st *syntax.Relation) {
	at := u.onLine(st, st.Left.Entity.To+1)
	left := p.entityOf(u, &st.Left.Entity, at)
	right := p.entityOf(u, &st.Right.Entity, at)
	if left == nil || right == nil {
		return
	}
	var far, near *types.Attribute
	if st.Right.Name.Text != "" {
		far = p.end(u, right, left, &st.Right, st)
	}
	if far != nil && left == right && st.Right.Name.Text == st.Left.Name.Text {
		near = far
	} else {
		near = p.end(u, left, right, &st.Left, st)
	}
	if far != nil && near != nil {
		far.Relation.Inverse, near.Relation.Inverse = near, far
	}
}

// end defines one end of a relation: an attribute of an entity that refers to another entity.
func (p relationPass) end(
	u *textUnit,
	of, to *types.Entity,
	st *syntax.End,
	r *syntax.Relation,
) *types.Attribute {
	low, high := bound(st.Bounds.Lower, 0), bound(st.Bounds.Upper, -1)
	a := &types.Attribute{
		Name: st.Name.Text, Entity: of, Type: to, Accepts: to, Multi: high != 1, Nullable: low == 0,
		At: u.pos(&st.Name), Doc: doc(r.Doc),
		Relation: &types.Relation{Low: low, High: high, Target: to},
	}
	if first := types.Own(of, a.Name); first != nil {
		f := failed(CodeDuplicate, first.At, "%s has two attributes %s", of.Name, a.Name).heavy(40)
		p.problem(f.with(a.At, "the other one is here"))
		return nil
	}
	of.Own = append(of.Own, a)
	family(of, func(e *types.Entity) { e.Forget() })
	return a
}

// bound converts a multiplicity; none is the result for a missing number. A larger number than any
// list can have is reduced to a limit.
func bound(n *big.Int, none int) int {
	const limit = 1 << 40
	if n == nil {
		return none
	}
	if !n.IsInt64() || n.Int64() > limit {
		return limit
	}
	return int(n.Int64())
}

// index processes indexes, which require all attributes.
func (p relationPass) index() {
	for _, d := range p.definitions {
		st, ok := d.syntax.(*syntax.Index)
		if !ok {
			continue
		}
		at := d.unit.pos(st)
		e := p.entityOf(d.unit, &st.Entity, at)
		if e == nil {
			continue
		}
		var names []string
		for i := range st.Attributes {
			if f := indexable(e, st.Attributes[i].Text, at); f != nil {
				p.problem(f.with(d.unit.pos(&st.Attributes[i]), "it stands here"))
				continue
			}
			names = append(names, st.Attributes[i].Text)
		}
		if len(names) == len(st.Attributes) {
			e.AddIndex(names)
		}
	}
}

// indexable returns the problem of an attribute that cannot be part of an index.
func indexable(e *types.Entity, name string, at *diag.Pos) *fail {
	a := e.Attribute(name)
	switch {
	case a == nil:
		return failed(
			CodeIndex,
			at,
			"%s has no attribute %s, which the index is over",
			e.FullName(),
			name,
		).heavy(20).
			advise("%s", DidYouMean(name, attributeNames(e)))
	case a.Relation != nil && a.Nullable:
		return failed(
			CodeIndex,
			at,
			"an index cannot be over %s, an optional relation",
			name,
		).heavy(10)
	case a.Multi:
		return failed(
			CodeIndex,
			at,
			"an index cannot be over %s, which holds many values",
			name,
		).heavy(10)
	}
	return nil
}

// implement processes `implement` statements.
func (p relationPass) implement() {
	for _, d := range p.definitions {
		st, ok := d.syntax.(*syntax.Implement)
		if !ok {
			continue
		}
		at := d.unit.pos(&st.Entity)
		e := p.entityOf(d.unit, &st.Entity, d.unit.pos(st))
		if st.Parents && !trivial(st.When) {
			p.problem(
				failed(CodeImplement, at, "`parents` cannot have a condition").
					advise("write `implement ... using parents` and the others with their " +
						"condition apart"),
			)
		}
		if e == nil {
			continue
		}
		p.inherits[e] = p.inherits[e] || st.Parents
		sub := &subConstructor{at: at}
		for i := range st.Using {
			if impl := p.implementationFor(d.unit, e, &st.Using[i], d.unit.pos(st)); impl != nil {
				sub.implementations = append(sub.implementations, impl)
			}
		}
		p.implements[e] = append(p.implements[e], sub)
		if !trivial(st.When) {
			p.definitions = append(
				p.definitions,
				definition{unit: d.unit, syntax: &pendingCondition{Implement: st, sub: sub}},
			)
		}
	}
}

// pendingCondition is the condition of an `implement` statement. It is bound when all types are
// known.
type pendingCondition struct {
	*syntax.Implement
	sub *subConstructor
}

func trivial(x syntax.Expression) bool {
	if x == nil {
		return true
	}
	v, ok := folded(x)
	return ok && v == true
}

func (p relationPass) implementationFor(
	u *textUnit,
	e *types.Entity,
	name *syntax.Path,
	by *diag.Pos,
) *implementation {
	t, f := u.ns.typeOf(name.Text, u.pos(name))
	if f != nil {
		p.problem(f.with(by, "it is needed here"))
		return nil
	}
	impl, ok := t.(*implementation)
	if !ok {
		p.problem(failed(CodeImplement, u.pos(name), "%s is not an implementation", name.Text))
		return nil
	}
	if impl.entity != nil && !e.Is(impl.entity) {
		f := failed(
			CodeImplement,
			by,
			"the implementation %s is for %s, and cannot be used for %s",
			name.Text,
			impl.entity.FullName(),
			e.FullName(),
		).heavy(10)
		p.problem(f.with(impl.at, "the implementation is defined here"))
		return nil
	}
	return impl
}

// check runs the checks that require all types: defaults, relations that hide an inherited
// attribute, and dataclasses.
func (p entityPass) check() {
	for _, e := range p.entities {
		for _, d := range p.defaults[e] {
			if err := d.typ.Check(d.value); err != nil {
				f := typeFail(err)
				f.code, f.message, f.at, f.by = CodeDefault, "the default of "+d.name+": "+
					f.message, d.at, d.at
				f.hint = cure(d.typ, d.value)
				p.problem(f)
			}
		}
		for _, a := range e.Own {
			if a.Relation != nil {
				p.shadows(e, a)
			}
		}
		if isDataclass(e) {
			p.checkDataclass(e)
		}
	}
}

// shadows rejects a relation whose name is the name of an inherited attribute.
func (p entityPass) shadows(e *types.Entity, a *types.Attribute) {
	for _, parent := range e.Parents {
		if other := parent.Attribute(a.Name); other != nil {
			f := failed(
				CodeDuplicate,
				a.At,
				"%s inherits an attribute %s of %s, so it cannot have a relation of that name",
				e.FullName(),
				a.Name,
				other.Entity.FullName(),
			).heavy(40)
			p.problem(f.with(other.At, "the inherited one is defined here"))
		}
	}
}

// bind binds all statements, and the conditions of `implement` statements.
func (p relationPass) bind() {
	for _, d := range p.definitions {
		if c, ok := d.syntax.(*pendingCondition); ok {
			b := p.binder(d.unit, &block{instance: true, ns: d.unit.ns})
			c.sub.when = b.root(c.When, nil)
		}
		if st, ok := d.syntax.(*syntax.Typedef); ok {
			(&direct{program: p.program, unit: d.unit, at: d.def.At}).check(st.Matching)
		}
	}
	for _, d := range p.definitions {
		if d.impl != nil {
			b := p.binder(d.unit, &block{instance: true, ns: d.unit.ns})
			d.impl.body = b.body(d.impl.syntax.Body)
		}
	}
	for _, u := range p.units {
		b := p.binder(u, u.ns.block)
		u.main = &body{block: u.ns.block}
		for _, st := range u.syntax.Body {
			if r, ok := st.(*syntax.Relation); ok && len(r.Annotations) > 0 {
				u.main.statements = append(u.main.statements, p.annotation(b, u, r))
				continue
			}
			if s := b.statement(st); s != nil {
				u.main.statements = append(u.main.statements, s)
			}
		}
	}
}

func (p relationPass) binder(u *textUnit, in *block) *binder {
	return &binder{program: p.program, file: u.file, block: in, problem: p.problem}
}

// annotation binds the annotations of a relation, which are computed like variables.
func (p relationPass) annotation(b *binder, u *textUnit, r *syntax.Relation) statement {
	out := &annotationStatement{at: u.onLine(r, r.Left.Entity.To+1)}
	for _, x := range r.Annotations {
		out.of = append(out.of, b.root(x, nil))
		out.to = append(out.to, &variable{})
	}
	t, _ := u.ns.typeOf(r.Left.Entity.Text, out.at)
	if e, ok := t.(*types.Entity); ok {
		if a := types.Own(e, r.Left.Name.Text); a != nil {
			p.annotations[a] = out.to
		}
	}
	return out
}

// annotationStatement computes the annotations of a relation.
type annotationStatement struct {
	at *diag.Pos
	of []node
	to []*variable
}

func (st *annotationStatement) pos() *diag.Pos { return st.at }

func (st *annotationStatement) emit(e *engine, s *scope) *fail {
	for i, n := range st.of {
		if f := e.compute(n, s, st.to[i], n.pos()); f != nil {
			return f
		}
	}
	return nil
}

// precedence sorts relations into the order in which the policy wants them to be complete.
func (p relationPass) precedence() {
	after := map[*types.Attribute][]*types.Attribute{}
	before := map[*types.Attribute]int{}
	var all []*types.Attribute
	for i := range p.input.Rules {
		r := &p.input.Rules[i]
		first, then := p.relationOf(
			r,
			r.FirstEntity,
			r.First,
		), p.relationOf(r, r.ThenEntity, r.Then)
		if first == nil || then == nil {
			continue
		}
		first.Relation.First = true
		for _, a := range []*types.Attribute{first, then} {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
		if !slices.Contains(after[first], then) {
			after[first] = append(after[first], then)
			before[then]++
		}
	}
	for len(p.order) < len(all) {
		i := slices.IndexFunc(
			all,
			func(a *types.Attribute) bool { return before[a] == 0 && !slices.Contains(p.order, a) },
		)
		if i < 0 {
			p.problem(
				failed(
					CodePolicy,
					&p.input.Rules[0].At,
					"the relation_precedence_policy goes round in a circle",
				),
			)
			return
		}
		p.order = append(p.order, all[i])
		for _, a := range after[all[i]] {
			before[a]--
		}
	}
}

func (p relationPass) relationOf(r *Rule, entity, name string) *types.Attribute {
	e, ok := p.named(entity).(*types.Entity)
	if !ok {
		p.problem(
			failed(
				CodePolicy,
				&r.At,
				"the relation_precedence_policy names %s, and there is no such entity",
				entity,
			),
		)
		return nil
	}
	a := types.Own(e, name)
	if a == nil || a.Relation == nil {
		p.problem(
			failed(
				CodePolicy,
				&r.At,
				"the relation_precedence_policy names %s.%s, and there is no such relation",
				entity,
				name,
			),
		)
		return nil
	}
	return a
}

// bindPlugins resolves the types of parameters and results.
func (p *program) bindPlugins() {
	for i := range p.input.Plugins {
		q := p.plugins[&p.input.Plugins[i]]
		if q == nil {
			continue
		}
		ns, _ := within(q.Name)
		n := p.loaded(ns)
		for j := range q.Params {
			q.params = append(q.params, p.pluginType(n, q, q.Params[j].Type))
		}
		if q.Rest != nil {
			q.rest = p.pluginType(n, q, q.Rest.Type)
		}
		if q.Named != nil {
			q.named = p.pluginType(n, q, q.Named.Type)
		}
		q.result = p.pluginType(n, q, q.Result)
	}
}
