package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/deploy/state"
)

// inWaves is an export in waves of one agent each, as the program makes it with --batch.
type inWaves struct {
	waved bool     // it is to be made in waves
	stops bool     // and ends when something at an agent is not well after its wave
	at    []string // of its last wave: the agents that it is to have checked
}

// waves has one plan in five make some exports in waves.
func (d *drawer) waves(rng *rand.Rand) {
	if rng.IntN(5) != 0 && (d.focus == nil || !d.focus.waved) {
		return
	}
	for i := range d.p.Ops {
		o := &d.p.Ops[i]
		alone := o.partial != nil || o.noRelease || o.target != "" || o.plan || o.limits != nil ||
			o.twice
		if o.kind != opExport || o.At == 0 || alone || rng.IntN(3) == 0 {
			continue
		}
		o.waved, o.stops, o.check = true, rng.IntN(2) == 0, o.check || rng.IntN(2) == 0
	}
}

// inTurn makes an export in waves: one after the other, each when the one before has ended. All but
// the last are of what is at an agent; the last is of everything.
func inTurn(r *run, o *op) {
	var agents []string
	for i := range o.model {
		agents = append(agents, o.model[i].id.Agent())
	}
	for id, row := range r.state.read(env).rows {
		if !row.Orphaned {
			agents = append(agents, id.Agent())
		}
	}
	slices.Sort(agents)
	startWave(r, o, slices.Compact(agents))
}

// startWave makes the wave of the first of agents, and has the others follow.
func startWave(r *run, o *op, agents []string) {
	part := *o
	if part.waved = false; len(agents) > 1 {
		part.target, part.later = "agent="+agents[0], true
	} else {
		part.at = agents
		r.happened("last wave of an export")
	}
	r.happened("wave of an export")
	book := &exportBook{op: &part}
	if len(agents) > 1 {
		book.then = func() { nextWave(r, o, agents, 20) }
	}
	tryExport(r, book, o.tries)
}

// nextWave waits until nothing is asked for at the first of agents, and goes on with the others.
func nextWave(r *run, o *op, agents []string, times int) {
	switch {
	case r.ended:
	case times > 0 && !restsAt(r, agents[:1]):
		r.sched.at(r.sched.now+time.Second, func() { nextWave(r, o, agents, times-1) })
	case o.stops && !wellAt(r, agents[0]):
		r.happened("waves stopped")
		r.tracef("--- the wave of %s did not go well", agents[0])
	default:
		startWave(r, o, agents[1:])
	}
}

// wellAt reports whether all is as wanted at an agent.
func wellAt(r *run, agent string) bool {
	for id, row := range r.state.read(env).rows {
		if id.Agent() == agent && !row.Orphaned && row.Status() != state.StatusDeployed {
			return false
		}
	}
	return true
}

// spared reports whether an export leaves a resource unchecked, as only what is at other agents is
// to be checked by it.
func (t *task) spared(agent string) bool {
	x := t.books.export
	return x != nil && x.op.at != nil && !x.op.retryFailed && !slices.Contains(x.op.at, agent)
}

// checksAgent reports whether an export is the last wave of one that has what is at an agent
// checked.
func (t *task) checksAgent(agent string) bool {
	x := t.books.export
	return x != nil && x.op.check && x.op.at != nil && slices.Contains(x.op.at, agent)
}
