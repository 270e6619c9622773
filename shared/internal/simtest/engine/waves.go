package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/deploy/state"
)

// inWaves holds the settings of an export in batches of one agent each, as the program makes it
// with --batch.
type inWaves struct {
	waved bool     // the export is made in batches
	stops bool     // it stops if a resource is not deployed after its batch
	at    []string // of the last batch: the agents to check
}

// waves makes some exports in batches, in one plan in five.
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

// inTurn makes an export in sequential batches. All but the last cover one agent each; the last one
// covers everything.
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

// startWave exports the batch of the first agent, and schedules the batches of the others.
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

// nextWave waits until no resource of the first agent has a ticket, and continues with the others.
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

// wellAt reports whether all resources of an agent are deployed.
func wellAt(r *run, agent string) bool {
	for id, row := range r.state.read(env).rows {
		if id.Agent() == agent && !row.Orphaned && row.Status() != state.StatusDeployed {
			return false
		}
	}
	return true
}

// spared reports whether an export requests no check of an agent's resources, because it is limited
// to other agents.
func (t *task) spared(agent string) bool {
	x := t.books.export
	return x != nil && x.op.at != nil && !x.op.retryFailed && !slices.Contains(x.op.at, agent)
}

// checksAgent reports whether an export is a last batch that requests a check of an agent.
func (t *task) checksAgent(agent string) bool {
	x := t.books.export
	return x != nil && x.op.check && x.op.at != nil && slices.Contains(x.op.at, agent)
}
