package dynamo

import (
	"context"
	"slices"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/binform"
	"southbound/shared/resource"
)

// Schedule implements state.State.
func (s *rows) Schedule(ctx context.Context, env string, agents ...string) (state.Schedule, error) {
	out, err := s.schedule(ctx, env, agents, false)
	return out.Schedule, err
}

// scheduled is a schedule, with the data that was read for it.
type scheduled struct {
	state.Schedule
	head   *head
	agents map[string]state.Agent // if they were requested
	rows   []state.Row            // with a ticket
}

// schedule reads the head, the schedule and the head again, until both heads are the same: only a
// planner adds tickets, and its commits write the head. The agents have to be read with the second
// head. A batch reads its items in any order, so agents read with the first head may be older than
// it.
func (s *rows) schedule(
	ctx context.Context, env string, agents []string, describe bool,
) (out scheduled, err error) {
	before, err := s.readHead(ctx, env)
	if err != nil {
		return out, err
	}
	var dead []item
	err = s.contend(ctx, func() error {
		if out, dead, err = s.scheduleUnder(ctx, before, agents); err != nil {
			return err
		}
		if out.head, out.agents, err = s.headAndAgents(ctx, env, describe); err != nil {
			return err
		}
		if out.head.planned(before) {
			return nil
		}
		before = out.head
		return errLost
	})
	if err == nil {
		s.tidy(ctx, out.head, dead)
	}
	return out, err
}

// scheduleUnder computes the schedule of some agents, or of all, under a head that was read.
func (s *rows) scheduleUnder(
	ctx context.Context, h *head, agents []string,
) (out scheduled, dead []item, err error) {
	selects := func(agent string) bool {
		return len(agents) == 0 || slices.Contains(agents, agent)
	}
	e, err := h.record()
	if err != nil {
		return out, nil, err
	}
	out.Schedule = state.Schedule{PlanSeq: e.PlanSeq, Graph: e.Graph, Wave: e.Wave, Halted: e.Halted}
	if out.Unfinished, err = s.unfinished(ctx, h.env, e.Wave.Epoch, selects); err != nil {
		return out, nil, err
	}
	found, dead, err := s.active(ctx, h.env, agents...)
	out.rows = slices.DeleteFunc(found,
		func(r state.Row) bool { return !selects(r.Agent) || r.Ticket() == 0 })
	out.Tickets = make([]state.Ticket, len(out.rows))
	for i := range out.rows {
		r := &out.rows[i]
		out.Tickets[i] = state.Ticket{ID: r.ID, Agent: r.Agent, N: r.Ticket()}
	}
	return out, dead, err
}

// unfinished returns the agents that have not finished a wave, with the ids that were checked there.
// The lists of these ids are read before the leases. Otherwise an agent that finishes in between is
// returned with ids that it had only when it was finished.
func (s *rows) unfinished(
	ctx context.Context, env string, epoch int64, selects func(agent string) bool,
) (map[string][]resource.ID, error) {
	if epoch == 0 {
		return nil, nil
	}
	leases, err := s.tallied(ctx, env)
	if err != nil {
		return nil, err
	}
	if len(leases.unfinished(epoch)) == 0 {
		return nil, nil
	}
	checked, err := s.checkedIDs(ctx, env, "", epoch)
	if err != nil {
		return nil, err
	}
	if leases, err = s.tallied(ctx, env); err != nil {
		return nil, err
	}
	var out map[string][]resource.ID
	for agent := range leases.unfinished(epoch) {
		if !selects(agent) {
			continue
		}
		if out == nil {
			out = map[string][]resource.ID{}
		}
		out[agent] = slices.Compact(slices.Sorted(slices.Values(checked[agent])))
	}
	return out, nil
}

// checkedItem returns the item with the ids that a commit has checked in a wave.
func (s *store) checkedItem(k key, guard string, epoch int64, ids []resource.ID) item {
	w := &binform.Writer{}
	w.Text(guard)
	w.Int(epoch)
	binform.WriteTexts(w, ids)
	return s.setBody(k.item(), w.B)
}

// checkedIDs returns the ids that were checked in a wave, by agent. A prefix of keys may select a
// agent.
func (s *store) checkedIDs(
	ctx context.Context, env, prefix string, epoch int64,
) (map[string][]resource.ID, error) {
	out := map[string][]resource.ID{}
	err := s.eachChecked(ctx, env, prefix, func(_ item, agent string, of int64, ids []resource.ID) {
		if of == epoch {
			out[agent] = append(out[agent], ids...)
		}
	})
	return out, err
}

// eachChecked calls f for each item of checked ids.
func (s *store) eachChecked(
	ctx context.Context, env, prefix string,
	f func(i item, agent string, epoch int64, ids []resource.ID),
) error {
	list, err := s.list(ctx, checkedPart(env), prefix)
	if err != nil {
		return err
	}
	for _, i := range list {
		raw, err := s.body(i)
		if err != nil {
			return err
		}
		d := &binform.Reader{B: raw}
		agent, epoch, ids := d.Text(), d.Int(), binform.ReadTexts[resource.ID](d)
		if !d.Done() {
			return damaged("the list %s does not decode", keyOf(i).sort)
		}
		f(i, agent, epoch, ids)
	}
	return nil
}

// dropChecked removes the lists of checked ids of an agent that has finished a wave. It may leave some:
// no reader uses them, and the end of the next wave removes them.
func (s *store) dropChecked(ctx context.Context, env, agent string, epoch int64) {
	var keys []key
	_ = s.eachChecked(ctx, env, agent+"/", func(i item, of string, at int64, _ []resource.ID) {
		if of == agent && at <= epoch {
			keys = append(append(keys, keyOf(i)), parts(i)...)
		}
	})
	_ = s.deleteMany(ctx, keys)
}

// Finished implements state.State.
func (s *rows) Finished(
	ctx context.Context, env string, ids []resource.ID, epoch int64,
) ([]resource.ID, error) {
	checked := map[string][]resource.ID{}
	waves := map[string]int64{}
	if epoch != 0 {
		var err error
		if checked, err = s.checkedIDs(ctx, env, "", epoch); err != nil {
			return nil, err
		}
		leases, err := s.readLeases(ctx, env)
		if err != nil {
			return nil, err
		}
		for _, l := range leases.leases {
			waves[l.key] = l.wave
		}
	}
	found, err := s.Rows(ctx, env, ids)
	if err != nil {
		return nil, err
	}
	open := map[resource.ID]bool{}
	for i := range found {
		r := &found[i]
		done := epoch == 0 || r.Checked >= epoch || waves[r.Agent] >= epoch ||
			slices.Contains(checked[r.Agent], r.ID)
		open[r.ID] = r.Ticket() != 0 || !done
	}
	var out []resource.ID
	for _, id := range ids {
		if !open[id] {
			out = append(out, id)
		}
	}
	return out, nil
}

// Look implements state.Looker.
func (s *rows) Look(
	ctx context.Context, env string, ids []resource.ID,
) ([]state.Row, map[state.Status]int, error) {
	found, err := s.Rows(ctx, env, ids)
	if err != nil {
		return nil, nil, err
	}
	counts, err := s.Counts(ctx, env)
	return found, counts, err
}

// AgentWork implements state.Looker.
func (s *rows) AgentWork(
	ctx context.Context, env, agent string, all func(state.Schedule, state.Env) bool,
) (state.AgentWork, error) {
	got, err := s.schedule(ctx, env, []string{agent}, true)
	if err != nil {
		return state.AgentWork{}, err
	}
	out := state.AgentWork{Schedule: got.Schedule, Agent: got.agents[agent]}
	if out.Env, err = got.head.record(); err != nil {
		return out, err
	}
	if all(out.Schedule, out.Env) {
		out.Rows, err = s.laneRows(ctx, env, agent)
		return out, err
	}
	out.Rows = slices.DeleteFunc(got.rows, func(r state.Row) bool { return r.Agent != agent })
	return out, nil
}

// Overview implements deploy.Overviewer. It reads the leases, the head, the outbox, and the leases
// again, until no lease has changed during the reads.
//
// The result "no work left" has to be true at some moment, and a query is not a snapshot. Every
// commit changes a lease, so all that was read is then of the moment at which the head was read. If
// work is left and other processes keep writing, the parts may be of several moments.
func (s *rows) Overview(ctx context.Context, env string) (out deploy.Overview, err error) {
	const tries = 2
	leases, err := s.readLeases(ctx, env)
	if err != nil {
		return out, err
	}
	try := 0
	err = s.contend(ctx, func() error {
		h, err := s.readHead(ctx, env)
		if err != nil {
			return err
		}
		if out, err = s.overview(ctx, h, leases); err != nil {
			return err
		}
		was := leases
		if leases, err = s.readLeases(ctx, env); err != nil {
			return err
		}
		if try++; leases.same(was) || try >= tries && !idle(&out) {
			return nil
		}
		return errLost
	})
	return out, err
}

// overview computes the overview under a head and leases that were read before.
func (s *rows) overview(
	ctx context.Context, h *head, leases *allLeases,
) (out deploy.Overview, err error) {
	if out.Env, err = h.record(); err != nil {
		return out, err
	}
	e := &out.Env
	out.Schedule = state.Schedule{PlanSeq: e.PlanSeq, Graph: e.Graph, Wave: e.Wave, Halted: e.Halted}
	out.Waiting, out.Leases = leases.waiting(), leases.public()
	out.Counts, out.Paused = leases.statuses(), map[string]bool{}
	for _, name := range h.Paused {
		out.Paused[name] = true
	}
	entries, err := s.list(ctx, outboxPart(h.env), "")
	if out.Outbox = len(entries); err != nil || len(leases.unfinished(e.Wave.Epoch)) == 0 {
		return out, err
	}
	out.Schedule.Unfinished, err = s.unfinished(ctx, h.env, e.Wave.Epoch,
		func(string) bool { return true })
	return out, err
}

// idle reports whether an overview shows no remaining work.
func idle(o *deploy.Overview) bool {
	return o.Outbox == 0 && len(o.Waiting)+len(o.Schedule.Unfinished) == 0
}
