package engine

import (
	"context"
	"slices"
	"sort"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Rows implements state.State.
func (s *State) Rows(_ context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	e := s.read(env)
	out := make([]state.Row, 0, len(ids))
	for _, id := range ids {
		if r := e.rows[id]; r != nil {
			out = append(out, *r)
		}
	}
	return out, nil
}

// AgentRows implements state.State.
func (s *State) AgentRows(_ context.Context, env, lane string, all bool) ([]state.Row, error) {
	e := s.read(env)
	var out []state.Row
	for _, id := range e.ids {
		if r := e.rows[id]; r.Agent == lane && (all || r.Ticket() != 0) {
			out = append(out, *r)
		}
	}
	return out, nil
}

// ScanRows implements state.State.
func (s *State) ScanRows(
	_ context.Context, env string, after resource.ID, limit int,
) ([]state.Row, error) {
	e := s.read(env)
	from := sort.Search(len(e.ids), func(i int) bool { return e.ids[i] > after })
	ids := e.ids[from:min(from+limit, len(e.ids))]
	out := make([]state.Row, len(ids))
	for i, id := range ids {
		out[i] = *e.rows[id]
	}
	return out, nil
}

// logged is the number of rows in the log of changes. It is small, so that readers fall behind.
const logged = 20

// Changed implements state.ChangeLog.
func (s *State) Changed(_ context.Context, env string, since int64) (state.Changed, error) {
	all := s.read(env).written
	out := state.Changed{Last: int64(len(all))}
	if out.Known = since > 0 && since <= out.Last && out.Last-since <= logged; out.Known {
		out.IDs = slices.Compact(slices.Sorted(slices.Values(all[since:])))
	}
	return out, nil
}

// Schedule implements state.State.
func (s *State) Schedule(_ context.Context, env string, agents ...string) (state.Schedule, error) {
	e := s.read(env)
	out := state.Schedule{PlanSeq: e.env.PlanSeq, Graph: e.env.Graph, Wave: e.env.Wave,
		Halted: e.env.Halted}
	for _, id := range e.ids {
		r := e.rows[id]
		if len(agents) > 0 && !slices.Contains(agents, r.Agent) {
			continue
		}
		if r.Ticket() != 0 {
			out.Tickets = append(out.Tickets, state.Ticket{ID: id, Agent: r.Agent, N: r.Ticket()})
		}
		if _, listed := out.Unfinished[r.Agent]; !listed && !r.Orphaned && e.waveLeft(r.Agent) {
			if out.Unfinished == nil {
				out.Unfinished = map[string][]resource.ID{}
			}
			out.Unfinished[r.Agent] = slices.Clone(e.checkedIn(r.Agent))
		}
	}
	return out, nil
}

// waveLeft reports whether a lane has not finished the last check of everything.
func (e *environment) waveLeft(lane string) bool {
	l := e.leases[lane]
	return e.env.Wave.Epoch > 0 && (l == nil || l.Wave < e.env.Wave.Epoch)
}

// waving reports whether any lane has not finished the last check of everything.
func (e *environment) waving() bool {
	for _, row := range e.rows {
		if !row.Orphaned && e.waveLeft(row.Agent) {
			return true
		}
	}
	return false
}

// checkedIn returns the resources that the last check of everything has checked in a lane.
func (e *environment) checkedIn(lane string) []resource.ID {
	if c := e.checks[lane]; c != nil && c.epoch == e.env.Wave.Epoch {
		return c.ids
	}
	return nil
}

// Due implements state.State.
func (s *State) Due(
	_ context.Context, env string, at time.Time, limit int,
) ([]resource.ID, time.Time, error) {
	e := s.read(env)
	var due []*state.Row
	var next time.Time
	for _, id := range e.ids {
		switch r := e.rows[id]; {
		case r.Timer().IsZero():
		case !r.Timer().After(at):
			due = append(due, r)
		case next.IsZero() || r.Timer().Before(next):
			next = r.Timer()
		}
	}
	slices.SortStableFunc(due, func(a, b *state.Row) int { return a.Timer().Compare(b.Timer()) })
	ids := make([]resource.ID, 0, len(due))
	for _, r := range due[:min(limit, len(due))] {
		ids = append(ids, r.ID)
	}
	return ids, next, nil
}

// Counts implements state.State.
func (s *State) Counts(_ context.Context, env string) (map[state.Status]int, error) {
	out := map[state.Status]int{}
	for _, r := range s.read(env).rows {
		out[r.Status()]++
	}
	return out, nil
}

// Finished implements state.State.
func (s *State) Finished(
	_ context.Context, env string, ids []resource.ID, epoch int64,
) ([]resource.ID, error) {
	e := s.read(env)
	var out []resource.ID
	for _, id := range ids {
		r := e.rows[id]
		switch {
		case r == nil:
		case r.Ticket() != 0:
			continue
		case epoch != 0 && r.Checked < epoch && !e.finishedWave(r.Agent, epoch) &&
			!e.wasChecked(id, r.Agent, epoch):
			continue
		}
		out = append(out, id)
	}
	return out, nil
}

func (e *environment) finishedWave(lane string, epoch int64) bool {
	l := e.leases[lane]
	return l != nil && l.Wave >= epoch
}

func (e *environment) wasChecked(id resource.ID, lane string, epoch int64) bool {
	c := e.checks[lane]
	if c == nil || c.epoch != epoch {
		return false
	}
	_, ok := slices.BinarySearch(c.ids, id)
	return ok
}

// store stores a row.
func (e *environment) store(r state.Row) {
	if have := e.rows[r.ID]; have != nil {
		*have = r
		return
	}
	at, _ := slices.BinarySearch(e.ids, r.ID)
	e.ids = slices.Insert(e.ids, at, r.ID)
	e.rows[r.ID] = &r
}

// drop removes a row.
func (e *environment) drop(id resource.ID) {
	if at, ok := slices.BinarySearch(e.ids, id); ok {
		e.ids = slices.Delete(e.ids, at, at+1)
		delete(e.rows, id)
	}
}
