package aws

import (
	"reflect"
	"slices"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// judge compares the results of operations with the versions that the witness has for the time of
// each operation.
type judge struct{ *witness }

// answer checks the result of an operation.
func (j *judge) answer(o *op) {
	if o.err != nil {
		j.failure(o)
		return
	}
	vs := j.during(o)
	ok := true
	switch out := o.out.(type) {
	case state.Env:
		ok = some(j.whole(o),
			func(v *version) bool { return reflect.DeepEqual(v.query().env, out) })
	case []state.Version:
		ok = versionsFit(vs, out)
	case map[string]state.Agent:
		ok = agentsFit(vs, out)
	case state.Lease:
		j.once(o)
		ok = out.Env.Name == "" || some(j.window(o.lastEffect, o.ret), func(v *version) bool {
			return reflect.DeepEqual(v.query().env, out.Env)
		})
	case []state.Lease:
		ok = leasesFit(j.whole(o), out)
	case []state.Row:
		ok = j.rowsFit(o, out)
	case state.Schedule:
		ok = scheduleFits(j.whole(o), out)
	case lookOut:
		ok = j.rowsFit(o, out.rows) && countsFit(j.whole(o), out.counts)
	case state.Lane:
		ok = j.laneFits(o, out)
	case deploy.Overview:
		ok = overviewFits(j.whole(o), out)
	case []resource.ID:
		ok = finishedFits(j.whole(o), o.in.(finishedIn), out)
	case dueOut:
		ok = dueFits(j.whole(o), o.in.(dueIn), out)
	case map[state.Status]int:
		ok = countsFit(j.whole(o), out)
	case state.Committed:
		j.committed(o, out)
	case int64:
		c := o.in.(*op)
		ok = some(j.window(c.lastEffect, o.ret),
			func(v *version) bool { return v.side.idleEpoch == out })
	case []state.Outbox:
		ok = outboxFits(j.whole(o), out)
	case []state.Parameter:
		ok = some(vs, func(v *version) bool {
			want, _ := v.state.Parameters(bg, env, o.in.(state.ParameterQuery))
			return slices.EqualFunc(want, out, sameParameter)
		})
	case []state.Action:
		ok = actionsFit(j.whole(o), o.in.(state.ActionQuery), out)
	case struct{}:
		switch o.in.(type) {
		case *dynamo.Unlogged:
			return
		case int64: // the value may already be set
			return
		}
		if l, is := o.in.(state.Lease); !is {
			j.once(o)
		} else if o.effects == 0 {
			ok = some(vs,
				func(v *version) bool {
					h := v.query().leases[l.Key]
					return h.Fence != l.Fence ||
						h.Holder == ""
				})
		}
	}
	if !ok {
		j.violate("read", "%s returned what there never was while it ran: %+v\nwant one of: %s", o,
			o.out, j.wanted(o, vs))
	}
}

func sameParameter(a, b state.Parameter) bool {
	at := b.Updated
	b.Updated = a.Updated
	return a == b && a.Updated.Equal(at)
}

// once checks that an operation took effect: once, or more often if a response was lost.
func (j *judge) once(o *op) {
	if o.effects == 0 || (o.effects > 1 && !o.lost) {
		j.violate("once", "%s took effect %d times", o, o.effects)
	}
}

func (j *judge) failure(o *op) {
	vs := j.during(o)
	ok := false
	switch fault.KindOf(o.err) {
	case fault.Unavailable:
		ok = o.faults > 0 || j.overtaken(o) || takenOver(o, vs)
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
		j.violate("error", "%s failed without a reason: %v", o, o.err)
	} else if o.effects > 0 && !o.lost && !o.unknown() {
		j.violate("once", "%s was refused and took effect %d times", o, o.effects)
	}
}

// takenOver reports whether the lease that an Acquire took passed to another holder before Acquire
// returned.
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

// overtaken reports whether other processes finished a commit, and began another, before the
// process that began the commit continued with it.
func (j *judge) overtaken(o *op) bool {
	for _, f := range j.forwards {
		if f.op == o && j.forwards[len(j.forwards)-1].number > f.number {
			return true
		}
	}
	return false
}

// committed checks the result of a commit.
func (j *judge) committed(o *op, out state.Committed) {
	j.once(o)
	c := o.in.(state.Commit)
	vs := j.during(o)
	for _, x := range out.Conflicts {
		given := slices.IndexFunc(c.Rows, func(r state.Row) bool { return r.ID == x.ID })
		if given < 0 || !some(vs, func(v *version) bool {
			have := v.query().rows[x.ID]
			if have == nil {
				return x.Rev == 0 && c.Rows[given].Rev != 0
			}
			return have.Rev != c.Rows[given].Rev && sameRow(have, &x)
		}) {
			j.violate("conflict", "%s says of a row what it never was: %s", o, rowText(x))
		}
	}
	agent := state.AgentOf(c.Guard.Key)
	if !some(j.window(o.lastEffect, o.ret), func(v *version) bool {
		l := v.query()
		return l.env.PlanSeq == out.PlanSeq &&
			(l.env.Halted || l.agents[agent].Paused) == out.Paused
	}) {
		j.violate("plan", "%s says plan %d, paused %v: it never was so since it took effect", o,
			out.PlanSeq, out.Paused)
	}
	if len(c.Next) > 0 && !out.Started && !out.Paused && out.PlanSeq == c.SeenPlan {
		j.violate("next", "%s was refused to start without a reason", o)
	}
}
