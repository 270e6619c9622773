package eval

import (
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// statement is a bound statement.
type statement interface {
	emit(e *engine, s *scope) *fail
	pos() *diag.Pos
}

// body is a block with its statements.
type body struct {
	block      *block
	statements []statement
}

// emit starts all statements of a body in a scope.
func (y *body) emit(e *engine, s *scope) *fail {
	for _, st := range y.statements {
		if f := st.emit(e, s); f != nil {
			return f.in(st.pos(), false)
		}
	}
	return nil
}

// planned is an assignment to an attribute in a body that has not started and may never start.
type planned struct {
	of   syntax.Expression
	name string
	root string // the variable at the start of the path of
	at   *diag.Pos
}

// names adds the variables that statements declare to a map, with their indexes.
func names(statements []syntax.Statement, into map[string]int) map[string]int {
	for _, st := range statements {
		if a, ok := st.(*syntax.Assign); ok {
			if r, ok := a.Target.(*syntax.Ref); ok {
				if _, there := into[r.Name.Text]; !there {
					into[r.Name.Text] = len(into)
				}
			}
		}
	}
	return into
}

// plans returns the assignments of a body to attributes of variables that are declared outside of
// the body.
func (b *binder) plans(statements []syntax.Statement, own map[string]int) []planned {
	var out []planned
	for _, st := range slices.Backward(statements) {
		switch st := st.(type) {
		case *syntax.Assign:
			if a, ok := st.Target.(*syntax.Attr); ok {
				out = append(out, planned{of: a.Of, name: a.Name.Text, root: rootOf(a.Of),
					at: b.file.token(a.To + 1)})
			}
		case *syntax.For:
			out = append(out,
				b.plans(st.Body, names(st.Body, indexed(loopVariables(st.Variable, st.Second))))...)
		case *syntax.If:
			out = append(out, b.plans(st.Then, names(st.Then, map[string]int{}))...)
			out = append(out, b.plans(st.Else, names(st.Else, map[string]int{}))...)
		}
	}
	return slices.DeleteFunc(
		out,
		func(p planned) bool { _, declared := own[p.root]; return declared },
	)
}

func rootOf(x syntax.Expression) string {
	for {
		switch y := x.(type) {
		case *syntax.Attr:
			x = y.Of
		case *syntax.Ref:
			return y.Name.Text
		default:
			return ""
		}
	}
}

// body binds the statements of a nested block. The statements start in reverse order, as in the
// reference compiler.
func (b *binder) body(statements []syntax.Statement, extra ...string) *body {
	own := map[string]int{}
	for _, name := range extra {
		own[name] = len(own)
	}
	out := &body{block: &block{
		parent: b.block, names: names(statements, own), ns: b.block.ns, statements: statements,
	}}
	b.shadowed(out.block)
	b.inside(out.block, func() {
		for _, st := range slices.Backward(statements) {
			if s := b.statement(st); s != nil {
				out.statements = append(out.statements, s)
			}
		}
	})
	return out
}

// shadowed warns about variables that hide a variable of an outer block.
func (b *binder) shadowed(inner *block) {
	for _, name := range slices.Sorted(maps.Keys(inner.names)) {
		for outer := inner.parent; outer != nil && !outer.instance; outer = outer.parent {
			if _, hidden := outer.names[name]; !hidden {
				continue
			}
			at := b.file.declared(inner, name)
			if at == nil {
				at = b.at
			}
			w := b.program.warn(CodeShadow, at, "give one of the two another name",
				"%s hides the variable of that name around it", name)
			if there := b.file.declared(outer, name); w != nil && there != nil {
				w.Related = diag.At(*there)
				w.Related[0].Message = "the hidden one is set here"
			}
			break
		}
	}
}

// declared returns the position where a block declares a variable; nil for the variable of a loop.
func (f *file) declared(b *block, name string) *diag.Pos {
	for _, st := range b.statements {
		if a, ok := st.(*syntax.Assign); ok {
			if r, ok := a.Target.(*syntax.Ref); ok && r.Name.Text == name {
				return f.pos(r)
			}
		}
	}
	return nil
}

// statement binds a statement; nil for statements that do not run.
func (b *binder) statement(st syntax.Statement) statement {
	switch st := st.(type) {
	case *syntax.Assign:
		return b.assign(st)
	case *syntax.For:
		out := &forStatement{at: b.file.pos(st), in: b.loopOver(st.In), pairs: st.Second != nil}
		b.at = b.file.pos(&st.Variable)
		out.body = b.body(st.Body, loopVariables(st.Variable, st.Second)...)
		out.holds = b.promises(b.plans(st.Body, out.body.block.names))
		return out
	case *syntax.If:
		out := &ifStatement{at: b.placeOfIf(st), test: b.root(st.Condition, nil)}
		out.yes, out.no = b.body(st.Then), b.body(st.Else)
		plans := b.plans(st.Then, out.yes.block.names)
		out.holds = b.promises(append(plans, b.plans(st.Else, out.no.block.names)...))
		return out
	case *syntax.Bare:
		n := b.root(st.Value, nil)
		if r, ok := n.(*refNode); ok {
			r.where.declared = b.file.syntax.Declared(st.From)
		}
		return &bareStatement{of: n}
	}
	return nil
}

// placeOfIf returns the position of the word `if`, and for `elif` the position of its colon, as in
// the reference compiler.
func (b *binder) placeOfIf(st *syntax.If) *diag.Pos {
	if b.file.syntax.Tokens[st.From].Text == "elif" {
		return b.file.token(st.Condition.Tokens().To + 1)
	}
	return b.file.pos(st)
}

func (b *binder) assign(st *syntax.Assign) statement {
	at := b.file.onLine(st, st.Target.Tokens().To+1)
	if r, ok := st.Target.(*syntax.Ref); ok {
		where, f := b.block.find(r.Name.Text, b.file.pos(r))
		if f != nil {
			b.problem(f)
			return nil
		}
		return &assignStatement{at: at, where: where, of: b.root(st.Value, nil)}
	}
	target := st.Target.(*syntax.Attr)
	out := &setStatement{at: at, name: target.Name.Text, add: st.Extend,
		mark: b.file.pos(&target.Name)}
	out.of = b.root(target.Of, nil)
	out.value = b.root(st.Value, &hint{of: target.Of, name: target.Name.Text})
	return out
}

// assignStatement is x = value.
type assignStatement struct {
	at    *diag.Pos
	where spot
	of    node
}

func (st *assignStatement) pos() *diag.Pos { return st.at }

func (st *assignStatement) emit(e *engine, s *scope) *fail {
	v, f := st.where.lookUp(s, st.at)
	if f != nil {
		return f
	}
	return e.assign(st.of, s, v, st.at, st.where.name)
}

// setStatement is x.name = value or x.name += value.
type setStatement struct {
	at    *diag.Pos
	of    node
	name  string
	mark  *diag.Pos // position of the name
	add   bool
	value node
}

func (st *setStatement) pos() *diag.Pos { return st.at }

func (st *setStatement) emit(e *engine, s *scope) *fail {
	f := e.frame(st.of)
	if x := st.of.emit(e, s, f); x != nil {
		return x
	}
	e.start(&assigning{st, s}, f)
	return nil
}

// assigning is the task of a setStatement.
type assigning struct {
	statement *setStatement
	scope     *scope
}

func (t *assigning) pos() *diag.Pos { return t.statement.at }

func (t *assigning) run(u *unit) *fail {
	return t.statement.set(u, t.scope).in(t.statement.at, true)
}

func (st *setStatement) set(u *unit, s *scope) *fail {
	if x := u.take(); x != nil {
		return x
	}
	value, x := st.of.value(u.engine, s, u.frame)
	if x != nil {
		return x
	}
	o, ok := value.(*Instance)
	if !ok {
		return failed(
			CodeNotEntity,
			st.at,
			"%s cannot be set: this is %s, not an instance",
			st.name,
			types.Kind(value),
		).heavy(10)
	}
	v := o.variable(st.name)
	if v == nil {
		x := failed(
			CodeUnknownAttr,
			st.at,
			"%s has no attribute %s",
			o.entity.FullName(),
			st.name,
		).heavy(20)
		return x.advise("%s", DidYouMean(st.name, attributeNames(o.entity))).
			with(o.entity.At, "the entity is defined here").marking(st.mark)
	}
	if st.add && v.kind != many {
		return failed(
			CodeRelation,
			st.at,
			"+= adds to relations to many, and %s of %s is not one: it takes %s",
			st.name,
			o.entity.FullName(),
			takes(v),
		).heavy(10).
			advise("write =").with(v.attr.At, st.name+" is defined here")
	}
	return u.engine.setLater(o, st.name, st.value, s, st.at)
}

// takes describes the values that an attribute accepts.
func takes(v *variable) string {
	if r := v.attr.Relation; r != nil {
		return "one instance of " + r.Target.FullName()
	}
	return "a value of the type " + v.attr.Type.String() + ", once"
}

// bareStatement is an expression whose value is not used.
type bareStatement struct{ of node }

func (st *bareStatement) pos() *diag.Pos { return st.of.pos() }

func (st *bareStatement) emit(e *engine, s *scope) *fail {
	return e.compute(st.of, s, nil, st.of.pos())
}

// hold is a possible assignment of a body that has not started. While the hold is in effect, the
// attribute is not complete.
type hold struct {
	member
	at *diag.Pos
}

// promises binds planned assignments in the block around their body.
func (b *binder) promises(plans []planned) []hold {
	out := make([]hold, 0, len(plans))
	for _, p := range plans {
		out = append(out, hold{member{of: b.root(p.of, nil), name: p.name}, p.at})
	}
	return out
}

// held is a hold at run time.
type held struct {
	promise promise
	over    bool
}

func (h *held) use(v *variable) *fail {
	if !h.over {
		h.promise = v.announce()
	}
	return nil
}

// hold announces a value to each attribute that may be assigned.
func (e *engine) hold(holds []hold, s *scope) ([]*held, *fail) {
	out := make([]*held, 0, len(holds))
	for i := range holds {
		h := &held{}
		out = append(out, h)
		_, x := e.hook(hook{&holds[i].member, holds[i].at, s, h, true})
		if x != nil {
			return nil, x
		}
	}
	return out, nil
}

func release(all []*held) {
	for _, h := range all {
		h.over = true
		if h.promise.of != nil {
			h.promise.keep()
		}
	}
}
