package eval

import (
	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// subConstructor is an `implement X using ... when ...` statement of one entity.
type subConstructor struct {
	at              *diag.Pos
	when            node // nil if there is no condition
	implementations []*implementation
}

// implementation is a named block of statements for instances of an entity.
type implementation struct {
	name   string // the full name
	entity *types.Entity
	at     *diag.Pos
	syntax *syntax.Implementation
	body   *body
}

// build starts the tasks that apply implementations to an instance.
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

// building is the task of a subConstructor for one instance.
type building struct {
	sub      *subConstructor
	instance *Instance
}

func (b *building) pos() *diag.Pos { return b.sub.at }

// goesOn returns the position to report for a task of a run that takes too long. For
// implementations, this is the constructor of the instance, which is closer to the cause.
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
