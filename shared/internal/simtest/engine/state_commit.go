package engine

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Commit implements state.State.
func (s *State) Commit(_ context.Context, env string, c state.Commit) (state.Committed, error) {
	e := s.read(env)
	if err := e.mayCommit(&c); err != nil {
		return state.Committed{}, err
	}
	if c.Env != nil {
		e.put(*c.Env)
	}
	e.keep(&c)
	var out state.Committed
	for i := range c.Rows {
		e.written = append(e.written, c.Rows[i].ID)
		e.writeRow(&c.Rows[i], &c, &out)
	}
	for i := range c.Actions {
		e.actions[c.Actions[i].ID] = c.Actions[i]
	}
	for _, o := range c.AddOutbox {
		e.outbox[o.ID] = o
	}
	if len(out.Conflicts) == 0 {
		for _, id := range c.DropOutbox {
			delete(e.outbox, id)
		}
	}
	e.putParameters(c.Parameters)
	for _, k := range c.DropParameters {
		delete(e.parameters, k)
	}
	for _, id := range c.DropKept {
		delete(e.kept, id)
	}
	for _, k := range c.Keep {
		e.kept[k.ID] = k
	}
	e.check(c.Guard.Key, c.Epoch, state.Counted(c.Checked, out.Conflicts))
	if c.Plan {
		e.env.PlanSeq++
	}
	e.prolong(&c, &out)
	return out, nil
}

// mayCommit checks the conditions that apply to a Commit as a whole.
func (e *environment) mayCommit(c *state.Commit) error {
	l := e.leases[c.Guard.Key]
	if l == nil || l.Holder == "" || l.Fence != c.Guard.Fence {
		return fault.New(fault.Fenced, "commit", "the lease of %s was taken over", c.Guard.Key)
	}
	if c.Env != nil && c.Env.Rev != e.env.Rev {
		return envConflict()
	}
	if c.Version != nil {
		if _, exists := e.versions[c.Version.Number]; exists {
			return fault.New(fault.Conflict, "write version", "version %d exists", c.Version.Number)
		}
	}
	return nil
}

// keep writes the versions and agents of a Commit.
func (e *environment) keep(c *state.Commit) {
	if c.Version != nil {
		e.versions[c.Version.Number] = *c.Version
	}
	for _, n := range c.Forget {
		delete(e.versions, n)
	}
	for _, name := range c.DropAgents {
		if a := e.agents[name]; a.Paused {
			e.agents[name] = state.Agent{Agent: resource.Agent{Name: name}, Paused: true}
		} else {
			delete(e.agents, name)
		}
	}
	for _, a := range c.Agents {
		e.agents[a.Name] = state.Agent{Agent: a, Paused: e.agents[a.Name].Paused}
	}
}

// writeRow writes one row, or records a conflict.
func (e *environment) writeRow(r *state.Row, c *state.Commit, out *state.Committed) {
	have := e.rows[r.ID]
	switch {
	case have == nil && r.Rev == 0 && r.Gone:
	case have == nil && r.Rev != 0:
		out.Conflicts = append(out.Conflicts, state.Row{ID: r.ID})
	case have != nil && have.Rev != r.Rev:
		out.Conflicts = append(out.Conflicts, *have)
	case r.Gone:
		e.drop(r.ID)
	default:
		row := *r
		if row.Rev++; have == nil {
			row.Rev = c.FirstRev()
		}
		if have != nil && !c.Plan {
			row.Body = have.Body
		}
		e.store(row)
	}
}

// check records rows as checked by a check of everything.
func (e *environment) check(lane string, epoch int64, ids []resource.ID) {
	if len(ids) == 0 {
		return
	}
	c := e.checks[lane]
	if c == nil || c.epoch < epoch {
		c = &laneChecks{epoch: epoch}
		e.checks[lane] = c
	}
	if c.epoch == epoch {
		all := append(slices.Clone(c.ids), ids...)
		slices.Sort(all)
		c.ids = slices.Compact(all)
	}
}

// prolong extends the lease and decides whether the next resources may start.
func (e *environment) prolong(c *state.Commit, out *state.Committed) {
	out.Paused = e.env.Halted || e.agents[c.Guard.Key].Paused
	out.PlanSeq = e.env.PlanSeq
	out.Started = len(c.Next) > 0 && !out.Paused && c.SeenPlan == e.env.PlanSeq
	l := e.leases[c.Guard.Key]
	switch {
	case out.Started:
		l.Running = c.Starts()
	case len(c.Next) == 0:
		l.Running = append(state.StillRunning(l.Running, out.Conflicts), c.Beside...)
	}
	if c.Until.After(l.Until) {
		l.Until = c.Until
	}
	l.Wave = max(l.Wave, c.WaveDone)
}
