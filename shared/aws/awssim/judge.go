package awssim

import (
	"reflect"
	"slices"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// judge checks what an operation returned.
func (w *witness) judge(o *op) {
	if o.err != nil {
		w.judgeError(o)
		return
	}
	vs := w.during(o)
	ok := true
	switch out := o.out.(type) {
	case state.Env:
		ok = some(w.whole(o), func(v *version) bool { return reflect.DeepEqual(v.query().env, out) })
	case []state.Version:
		ok = versionsFit(vs, out)
	case map[string]state.Agent:
		ok = agentsFit(vs, out)
	case state.Lease:
		w.once(o)
	case []state.Lease:
		ok = leasesFit(w.whole(o), out)
	case []state.Row:
		ok = w.rowsFit(o, out)
	case state.Schedule:
		ok = scheduleFits(w.whole(o), out)
	case deploy.Overview:
		ok = overviewFits(w.whole(o), out)
	case []resource.ID:
		ok = finishedFits(w.whole(o), o.in.(finishedIn), out)
	case dueOut:
		ok = dueFits(w.whole(o), o.in.(dueIn), out)
	case map[state.Status]int:
		ok = countsFit(w.whole(o), out)
	case state.Committed:
		w.committed(o, out)
	case int64:
		c := o.in.(*op)
		ok = some(w.window(c.lastEffect, o.ret), func(v *version) bool { return v.side.idleEpoch == out })
	case []state.Outbox:
		ok = outboxFits(w.whole(o), out)
	case []state.Parameter:
		ok = some(vs, func(v *version) bool {
			want, _ := v.state.Parameters(bg, env, o.in.(state.ParameterQuery))
			return slices.EqualFunc(want, out, sameParameter)
		})
	case []state.Action:
		ok = actionsFit(w.whole(o), o.in.(state.ActionQuery), out)
	case struct{}:
		switch o.in.(type) {
		case *dynamo.Unlogged:
			return
		case int64: // it may be so already
			return
		}
		if l, is := o.in.(state.Lease); !is {
			w.once(o)
		} else if o.effects == 0 {
			ok = some(vs, func(v *version) bool { h := v.query().leases[l.Key]; return h.Fence != l.Fence || h.Holder == "" })
		}
	}
	if !ok {
		w.violate("read", "%s returned what there never was while it ran: %+v\nwant one of: %s", o, o.out, w.wanted(o, vs))
	}
}

func sameParameter(a, b state.Parameter) bool {
	at := b.Updated
	b.Updated = a.Updated
	return a == b && a.Updated.Equal(at)
}

// once checks that an operation took effect: once, or more often when an answer was lost.
func (w *witness) once(o *op) {
	if o.effects == 0 || (o.effects > 1 && !o.lost) {
		w.violate("once", "%s took effect %d times", o, o.effects)
	}
}

func (w *witness) judgeError(o *op) {
	vs := w.during(o)
	ok := false
	switch fault.KindOf(o.err) {
	case fault.Unavailable:
		ok = o.faults > 0 || w.overtaken(o) || takenOver(o, vs)
	case fault.Busy:
		in, is := o.in.(acquireIn)
		ok = is && some(vs, func(v *version) bool {
			l := v.query().leases[in.key]
			return l.Holder != "" && l.Holder != in.holder && in.now.Before(l.Until)
		})
	case fault.Fenced:
		c, is := o.in.(state.Commit)
		ok = is && some(vs, func(v *version) bool {
			l := v.query().leases[c.Guard.Key]
			return l.Holder == "" || l.Fence != c.Guard.Fence
		})
	case fault.Conflict:
		c, is := o.in.(state.Commit)
		ok = is && some(vs, func(v *version) bool {
			if c.Env != nil && c.Env.Rev != v.query().env.Rev {
				return true
			}
			if c.Version == nil {
				return false
			}
			have, _ := v.state.Versions(bg, env, c.Version.Number)
			return len(have) > 0
		})
	}
	if !ok {
		w.violate("error", "%s failed without a reason: %v", o, o.err)
	} else if o.effects > 0 && !o.lost && !o.unknown() {
		w.violate("once", "%s was refused and took effect %d times", o, o.effects)
	}
}

// takenOver reports whether the lease that an Acquire took passed to another before it had said so.
func takenOver(o *op, vs []*version) bool {
	in, is := o.in.(acquireIn)
	if !is {
		return false
	}
	took, is := o.out.(state.Lease)
	return is && took.Fence > 0 && some(vs, func(v *version) bool {
		return v.query().leases[in.key].Fence > took.Fence
	})
}

// overtaken reports whether others have finished a commit, and begun another, before whoever began
// it came to it.
func (w *witness) overtaken(o *op) bool {
	for _, f := range w.forwards {
		if f.op == o && w.forwards[len(w.forwards)-1].number > f.number {
			return true
		}
	}
	return false
}

// committed checks the answer to a commit.
func (w *witness) committed(o *op, out state.Committed) {
	w.once(o)
	c := o.in.(state.Commit)
	vs := w.during(o)
	for _, x := range out.Conflicts {
		given := slices.IndexFunc(c.Rows, func(r state.Row) bool { return r.ID == x.ID })
		if given < 0 || !some(vs, func(v *version) bool {
			have := v.query().rows[x.ID]
			if have == nil {
				return x.Rev == 0 && c.Rows[given].Rev != 0
			}
			return have.Rev != c.Rows[given].Rev && sameRow(have, &x)
		}) {
			w.violate("conflict", "%s says of a row what it never was: %s", o, rowText(x))
		}
	}
	agent := state.AgentOf(c.Guard.Key)
	if !some(w.window(o.lastEffect, o.ret), func(v *version) bool {
		l := v.query()
		return l.env.PlanSeq == out.PlanSeq && (l.env.Halted || l.agents[agent].Paused) == out.Paused
	}) {
		w.violate("plan", "%s says plan %d, paused %v: it never was so since it took effect", o, out.PlanSeq, out.Paused)
	}
	if len(c.Next) > 0 && !out.Started && !out.Paused && out.PlanSeq == c.SeenPlan {
		w.violate("next", "%s was refused to start without a reason", o)
	}
}
