package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// frees appends a sequence to hasty plans: a resource fails, and exports add a dependant that was
// never run. While that dependant is being skipped, it gets a new intent without the requirement.
// Its own dependant is skipped with it, in the same batch.
func (d *drawer) frees(rng *rand.Rand) {
	p := d.p
	if !p.hasty || rng.IntN(2) == 0 {
		return
	}
	of, c, behind := d.chain(rng)
	if c < 0 {
		return
	}
	at := p.End + time.Second
	ask := func(o op) {
		at += time.Duration(1+rng.IntN(500)) * time.Millisecond
		o.At = at
		p.Ops = append(p.Ops, o)
	}
	export := func() {
		ask(op{kind: opExport, model: d.model(nil), tries: 3, agents: slices.Clone(d.agents)})
	}
	s := &d.pool[c]
	s.flags.PurgeOnDelete, s.flags.Purged, s.ear, s.mouth = true, false, "", ""
	bound, free := s.requires, slices.DeleteFunc(slices.Clone(s.requires),
		func(id resource.ID) bool { return id == of })
	ask(op{kind: opBreak, id: of, class: provider.Terminal, n: 1})
	ask(op{kind: opRepair})
	for range 1 + rng.IntN(4) {
		d.in[c] = false
		export()
		at += 2 * time.Second
		d.in[c], s.requires, s.v = true, bound, s.v%9+1
		d.pool[behind].v = d.pool[behind].v%9 + 1
		export()
		s.requires, s.v = free, s.v%9+1
		export()
		at += 2 * time.Second
	}
	ask(op{kind: opMend, id: of})
	p.End = at + time.Second
}

// chain returns a required resource, and the pool indexes of a dependant and of the dependant's
// dependant on the same agent. The indexes are -1 if there is no such chain.
func (d *drawer) chain(rng *rand.Rand) (of resource.ID, c, behind int) {
	in := map[resource.ID]bool{}
	for i, s := range d.pool {
		in[s.id] = d.in[i]
	}
	for _, i := range rng.Perm(len(d.pool)) {
		s := &d.pool[i]
		j := slices.IndexFunc(d.pool, func(o spec) bool {
			return in[o.id] && o.id.Agent() == s.id.Agent() && slices.Contains(o.requires, s.id) &&
				!o.flags.ReportOnly && !o.flags.Purged
		})
		if !d.in[i] || j < 0 || s.flags.ReportOnly {
			continue
		}
		for _, id := range s.requires {
			if in[id] {
				return id, i, j
			}
		}
	}
	return "", -1, -1
}
