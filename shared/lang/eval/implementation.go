package eval

import (
	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// subConstructor is `implement X using ... when ...` for one entity.
type subConstructor struct {
	at              *diag.Pos
	when            node // nil for always
	implementations []*implementation
}

// implementation is a named block of statements for instances of an entity.
type implementation struct {
	name   string // with its namespace
	entity *types.Entity
	at     *diag.Pos
	ns     *namespace
	file   *file
	syntax *syntax.Implementation
	body   *body
}

// build starts what implementations do for an instance.
func (e *engine) build(o *Instance) *fail {
	for _, sub := range e.program.builders(o.entity) {
		var f frame
		if sub.when != nil {
			f = e.frame(sub.when)
			if x := sub.when.emit(e, &o.scope, f); x != nil {
				return x.in(sub.at, false)
			}
		}
		e.start(&building{sub: sub, instance: o}, f)
	}
	return nil
}

// building is a subConstructor at work.
type building struct {
	sub      *subConstructor
	instance *Instance
}

func (b *building) pos() *diag.Pos { return b.sub.at }

// goesOn returns the place of a task for one that goes on too long: what makes an instance says
// more than what follows from that.
func goesOn(t task) *diag.Pos {
	if b, follows := t.(*building); follows {
		return b.instance.lastAt()
	}
	return t.pos()
}

func (b *building) run(u *unit) *fail { return b.work(u).in(b.sub.at, false) }

func (b *building) work(u *unit) *fail {
	if b.sub.when != nil {
		if x := u.take(); x != nil {
			return x
		}
		v, x := b.sub.when.value(u.engine, &b.instance.scope, u.frame)
		if x != nil || types.IsUnknown(v) {
			return x
		}
		holds, ok := v.(bool)
		if !ok {
			return failed(
				CodeCondition,
				nil,
				"the condition of an `implement` has to be a bool, and this is %s",
				types.Kind(v),
			)
		}
		if !holds {
			return nil
		}
	}
	o := b.instance
	for _, i := range b.sub.implementations {
		if !o.done.add(i) || len(i.body.statements) == 0 {
			continue
		}
		if x := i.body.emit(u.engine, i.body.block.open(&o.scope)); x != nil {
			return x
		}
	}
	return nil
}
