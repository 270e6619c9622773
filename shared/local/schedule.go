package local

import (
	"context"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Schedule implements state.State.
func (h *Home) Schedule(ctx context.Context, env string, agents ...string) (state.Schedule, error) {
	var out state.Schedule
	err := h.read(ctx, "read schedule", func(c *sqlite.Conn) error {
		e, err := readEnv(c, env)
		if err != nil {
			return err
		}
		out = state.Schedule{PlanSeq: e.PlanSeq, Graph: e.Graph, Wave: e.Wave, Halted: e.Halted}
		for _, r := range rangesOf(agents) {
			if err := tickets(c, env, r, &out); err != nil {
				return err
			}
		}
		if e.Wave.Epoch == 0 {
			return nil
		}
		return unfinished(c, env, e.Wave.Epoch, rangesOf(agents), &out)
	})
	return out, err
}

// tickets adds the scheduled resources of a range of lanes.
func tickets(c *sqlite.Conn, env string, in agentRange, out *state.Schedule) error {
	const sql = `SELECT id, lane, ticket FROM resources INDEXED BY resources_scheduled
		WHERE env = +? AND lane >= +? AND lane < +? AND ticket <> 0`
	return query(c, sql, func(s *sqlite.Stmt) error {
		if lane := s.ColumnText(1); in.holds(lane) {
			out.Tickets = append(out.Tickets,
				state.Ticket{ID: resource.ID(s.ColumnText(0)), Agent: lane, N: s.ColumnInt64(2)})
		}
		return nil
	}, env, in.from, in.to)
}

// agentRange is a range of lanes in the order of the database. If agents is not nil, the range holds
// only lanes of these agents.
type agentRange struct {
	from, to string // to is exclusive
	agents   map[string]bool
}

func (l agentRange) holds(lane string) bool {
	return l.agents == nil || l.agents[lane]
}

// maxRanges is the maximum number of agents or lanes that are read individually. For more, all
// lanes are read.
const maxRanges = 100

// rangesOf returns the ranges of the lanes of agents, or the range of all lanes if agents is empty.
func rangesOf(agents []string) []agentRange {
	if len(agents) == 0 {
		return []agentRange{{to: "\xff"}}
	}
	set := make(map[string]bool, len(agents))
	for _, a := range agents {
		set[a] = true
	}
	if len(agents) > maxRanges {
		return []agentRange{{to: "\xff", agents: set}}
	}
	out := make([]agentRange, 0, len(set))
	for a := range set { // names contain no NUL
		out = append(out, agentRange{from: a, to: a + "\x00"})
	}
	return out
}

// unfinished fills in the lanes that have not finished the current check of everything, and the
// resources that were checked in them.
func unfinished(
	c *sqlite.Conn, env string, epoch int64, ranges []agentRange, out *state.Schedule,
) error {
	out.Unfinished = map[string][]resource.ID{}
	for _, r := range ranges {
		if err := query(c, `SELECT DISTINCT n.lane FROM counts n LEFT JOIN leases l ON l.env = n.env AND l.key = n.lane
			WHERE n.env = +? AND n.lane >= +? AND n.lane < +? AND n.n > 0 AND n.status <> +?
			AND coalesce(l.wave, 0) < +?`,
			func(s *sqlite.Stmt) error {
				if lane := s.ColumnText(0); r.holds(lane) {
					out.Unfinished[lane] = nil
				}
				return nil
			}, env, r.from, r.to, string(state.StatusOrphaned), epoch); err != nil {
			return err
		}
	}
	if err := checkedIn(c, env, epoch, out.Unfinished); err != nil {
		return err
	}
	for lane, ids := range out.Unfinished {
		slices.Sort(ids)
		out.Unfinished[lane] = slices.Compact(ids)
	}
	return nil
}

// checkedIn adds to lanes the resources that the check of everything has checked in them.
func checkedIn(c *sqlite.Conn, env string, epoch int64, lanes map[string][]resource.ID) error {
	if len(lanes) > maxRanges {
		const sql = "SELECT lane, resources FROM checks WHERE env = +? AND epoch = +?"
		return query(c, sql, func(s *sqlite.Stmt) error {
			lane := s.ColumnText(0)
			if _, asked := lanes[lane]; !asked {
				return nil
			}
			ids, err := splitIDs(columnBytes(s, 1))
			lanes[lane] = append(lanes[lane], ids...)
			return err
		}, env, epoch)
	}
	for lane := range lanes {
		if err := eachChecked(c, waveKey{env, lane, epoch}, 0, func(_ int64, more []resource.ID) {
			lanes[lane] = append(lanes[lane], more...)
		}); err != nil {
			return err
		}
	}
	return nil
}

// waveKey identifies a check of everything in a lane.
type waveKey struct {
	env, lane string
	epoch     int64
}

// seenChecks caches the lists of one lane and check that were read already. Lists are only ever
// added.
type seenChecks struct {
	last int64 // number of the last list
	ids  map[resource.ID]bool
}

// eachChecked calls f for the lists of resources checked in a lane, in the order of their numbers.
// It omits lists up to the number after.
func eachChecked(
	c *sqlite.Conn, of waveKey, after int64, f func(k int64, ids []resource.ID),
) error {
	const sql = `SELECT k, resources FROM checks
		WHERE env = +? AND lane = +? AND epoch = +? AND k > +? ORDER BY k`
	return query(c, sql, func(s *sqlite.Stmt) error {
		ids, err := splitIDs(columnBytes(s, 1))
		if err == nil {
			f(s.ColumnInt64(0), ids)
		}
		return err
	}, of.env, of.lane, of.epoch, after)
}

// Finished implements state.State.
func (h *Home) Finished(
	ctx context.Context, env string, ids []resource.ID, epoch int64,
) ([]resource.ID, error) {
	var out []resource.ID
	err := h.read(ctx, "read schedule", func(c *sqlite.Conn) error {
		waves := map[string]int64{}
		for _, id := range ids {
			done, err := h.finished(c, env, id, epoch, waves)
			if err != nil {
				return err
			}
			if done {
				out = append(out, id)
			}
		}
		return nil
	})
	return out, err
}

// finished is Finished for one resource. The map waves caches, by lane, the last check of
// everything that the lane has finished.
func (h *Home) finished(
	c *sqlite.Conn, env string, id resource.ID, epoch int64, waves map[string]int64,
) (bool, error) {
	var found []record
	if err := appendRecords(c, &found, selectRow, env, string(id)); err != nil || len(found) == 0 {
		return err == nil, err
	}
	r := &found[0]
	if err := r.verify(); err != nil || r.ticket != 0 || r.checked >= epoch {
		return err == nil && r.ticket == 0, err
	}
	return h.passed(c, waveKey{env, r.lane, epoch}, waves, id)
}

// passed reports whether a check of everything has finished in a lane or has checked a resource
// there.
func (h *Home) passed(
	c *sqlite.Conn, key waveKey, waves map[string]int64, id resource.ID,
) (bool, error) {
	if _, known := waves[key.lane]; !known {
		l, _, err := readLease(c, key.env, key.lane)
		if err != nil {
			return false, err
		}
		waves[key.lane] = l.Wave
	}
	if waves[key.lane] >= key.epoch {
		return true, nil
	}
	return h.wasChecked(c, key, id)
}

// wasChecked reports whether a check of everything has checked a resource in a lane.
func (h *Home) wasChecked(c *sqlite.Conn, key waveKey, id resource.ID) (bool, error) {
	h.wavesMu.Lock()
	defer h.wavesMu.Unlock()
	seen := h.waves[key]
	if seen == nil {
		if len(h.waves) > 1000 {
			clear(h.waves) // most entries are for older checks; the others are read again
		}
		seen = &seenChecks{ids: map[resource.ID]bool{}}
		h.waves[key] = seen
	}
	if seen.ids[id] {
		return true, nil
	}
	err := eachChecked(c, key, seen.last, func(k int64, ids []resource.ID) {
		seen.last = k
		for _, id := range ids {
			seen.ids[id] = true
		}
	})
	return seen.ids[id], err
}

// Due implements state.State.
func (h *Home) Due(
	ctx context.Context, env string, at time.Time, limit int,
) (due []resource.ID, next time.Time, err error) {
	const (
		sql   = "SELECT id FROM resources WHERE env = +? AND next_at > 0 AND next_at <= +? ORDER BY next_at LIMIT ?"
		later = "SELECT min(next_at) FROM resources WHERE env = +? AND next_at > 0 AND next_at > +?"
	)
	err = h.read(ctx, "read timers", func(c *sqlite.Conn) error {
		if err := query(c, sql, func(s *sqlite.Stmt) error {
			due = append(due, resource.ID(s.ColumnText(0)))
			return nil
		}, env, nanos(at), limit); err != nil {
			return err
		}
		return query(c, later, func(s *sqlite.Stmt) error {
			next = timeOf(s.ColumnInt64(0))
			return nil
		}, env, nanos(at))
	})
	return due, next, err
}

// Counts implements state.State.
func (h *Home) Counts(ctx context.Context, env string) (map[state.Status]int, error) {
	out := map[state.Status]int{}
	err := h.read(ctx, "count resources", func(c *sqlite.Conn) error {
		return query(c, "SELECT status, sum(n) FROM counts WHERE env = +? GROUP BY status",
			func(s *sqlite.Stmt) error {
				if n := s.ColumnInt(1); n > 0 {
					out[state.Status(s.ColumnText(0))] = n
				}
				return nil
			}, env)
	})
	return out, err
}
