package engine

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// requests makes one plan in four request work by filters that select several resources, or all
// work in batches of agents.
func (d *drawer) requests(rng *rand.Rand) {
	if rng.IntN(4) != 0 && (d.focus == nil || !d.focus.filtered) {
		return
	}
	for i := range d.p.Ops {
		o := &d.p.Ops[i]
		if o.kind != opRepair && o.kind != opDeploy || rng.IntN(3) == 0 {
			continue
		}
		s := d.pool[rng.IntN(len(d.pool))]
		o.terms = [][]string{{"agent=" + s.id.Agent()}, {"type=" + s.id.Type()}, {"set=" + s.set},
			{"*" + nameOf(s.id)[:2] + "*"},
			{"status=failed"}, {"type=" + s.id.Type(), "agent=" + s.id.Agent()}, nil}[rng.IntN(7)]
		if o.terms == nil {
			o.waves = 1 + rng.IntN(2)
		}
		o.id = ""
	}
}

// filterOf parses terms as a filter.
func filterOf(terms []string) state.Filter {
	f, err := state.ParseFilter(terms)
	if err != nil {
		panic(err)
	}
	return f
}

// asksFor reports whether terms select a row. It is independent of the engine's filter.
func asksFor(terms []string, row *state.Row) bool {
	at := slices.ContainsFunc(terms, func(t string) bool { return strings.HasPrefix(t, "agent=") })
	if at && !slices.Contains(terms, "agent="+row.ID.Agent()) {
		return false
	}
	for _, term := range terms {
		key, value, said := strings.Cut(term, "=")
		switch {
		case !said:
			if !strings.Contains(string(row.ID), strings.Trim(term, "*")) {
				return false
			}
		case key == "type" && row.ID.Type() != value,
			key == "status" && string(row.Status()) != value:
			return false
		case key == "set":
			if res, err := resource.Decode(row.Body); err != nil || res.Set != value {
				return false
			}
		}
	}
	return true
}

// askFiltered requests work by a filter. It checks that all selected resources that may run are
// requested.
func askFiltered(r *run, t *task, e *deploy.Engine, o *op, terms []string) error {
	t.books.terms = terms
	if o.kind == opDeploy {
		t.books.lenient, t.books.asks = !o.retryFailed, state.PriorityUserDeploy
	}
	was := map[resource.ID]fingerprint{}
	for id, row := range r.state.read(env).rows {
		// concurrent failures are not known
		if o.kind == opRepair && terms[0] != "status=failed" && asksFor(terms, row) {
			was[id] = fingerprintOf(r, id)
		}
	}
	key, _, said := strings.Cut(terms[0], "=")
	r.happenedIf(said, "request by "+key)
	r.happenedIf(!said, "request by a glob")
	req := deploy.Request{Filter: filterOf(terms), RetryFailed: o.retryFailed}
	var err error
	if o.kind == opRepair {
		_, err = e.Repair(taskContext{t}, env, req)
	} else {
		_, err = e.Deploy(taskContext{t}, env, req)
	}
	for id, before := range was {
		if err == nil && before.rev != 0 && fingerprintOf(r, id) == before {
			r.violate("order", "%s was to ask for %v, and has not asked for %s", t.name, terms, id)
		}
	}
	return err
}

// agentsInTurn requests the work of a batch of agents and waits for it before the next batch, as
// the program does with --max-parallel.
func agentsInTurn(r *run, t *task, e *deploy.Engine, o *op) error {
	rows := r.state.read(env).rows
	var agents []string
	for id := range rows {
		agents = append(agents, id.Agent())
	}
	slices.Sort(agents)
	for wave := range slices.Chunk(slices.Compact(agents), o.waves) {
		r.happened("wave of agents")
		terms := make([]string, len(wave))
		for i, name := range wave {
			terms[i] = "agent=" + name
		}
		if err := askFiltered(r, t, e, o, terms); err != nil {
			return err
		}
		for range 20 {
			if r.sched.pause(time.Second); t.proc.dead || restsAt(r, wave) {
				break
			}
		}
	}
	return nil
}

// restsAt reports whether no resource of the given agents has a ticket.
func restsAt(r *run, agents []string) bool {
	for id, row := range r.state.read(env).rows {
		if row.Ticket() != 0 && slices.Contains(agents, id.Agent()) {
			return false
		}
	}
	return true
}
