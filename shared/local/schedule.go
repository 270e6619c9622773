package local

import (
	"context"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/binform"
	"southbound/shared/deploy"
	"southbound/shared/resource"
)

// Schedule implements deploy.State.
func (h *Home) Schedule(ctx context.Context, env string, agents ...string) (deploy.Schedule, error) {
	var out deploy.Schedule
	err := h.read(ctx, "read schedule", func(c *sqlite.Conn) error {
		e, err := readEnv(c, env)
		if err != nil {
			return err
		}
		out = deploy.Schedule{PlanSeq: e.PlanSeq, Graph: e.Graph, Wave: e.Wave, Halted: e.Halted}
		for _, r := range rangesOf(agents) {
			const sql = `SELECT id, lane, ticket FROM rows INDEXED BY rows_ticket
				WHERE env = +? AND ticket <> 0 AND lane >= +? AND lane < +?`
			if err := query(c, sql, func(s *sqlite.Stmt) error {
				if lane := s.ColumnText(1); r.holds(lane) {
					out.Tickets = append(out.Tickets, deploy.Ticket{ID: resource.ID(s.ColumnText(0)), Lane: lane, N: s.ColumnInt64(2)})
				}
				return nil
			}, env, r.from, r.to); err != nil {
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

// laneRange is a range of lanes in the order of the database, and of whose agents they are to be: those that a set holds, or all when it is nil.
type laneRange struct {
	from, to string // without to
	agents   map[string]bool
}

func (l laneRange) holds(lane string) bool { return l.agents == nil || l.agents[deploy.AgentOf(lane)] }

// mostRanges bounds how many agents are looked up one by one; for more, all lanes are read.
const mostRanges = 100

// rangesOf returns where the lanes of agents are; all lanes when none is given.
func rangesOf(agents []string) []laneRange {
	if len(agents) == 0 {
		return []laneRange{{to: "\xff"}}
	}
	set := make(map[string]bool, len(agents))
	for _, a := range agents {
		set[a] = true
	}
	if len(agents) > mostRanges {
		return []laneRange{{to: "\xff", agents: set}}
	}
	out := make([]laneRange, 0, len(set))
	for a := range set { // what begins with "a/" may also be of the agent "a/b"
		out = append(out, laneRange{from: a + "/", to: a + "0", agents: map[string]bool{a: true}}) // "0" follows "/"
	}
	return out
}

// unfinished fills in the lanes that have not finished the wave, and what was checked in them.
func unfinished(c *sqlite.Conn, env string, epoch int64, ranges []laneRange, out *deploy.Schedule) error {
	out.Unfinished = map[string][]resource.ID{}
	for _, r := range ranges {
		if err := query(c, `SELECT DISTINCT n.lane FROM counts n LEFT JOIN leases l ON l.env = n.env AND l.key = n.lane
			WHERE n.env = +? AND n.lane >= +? AND n.lane < +? AND n.n > 0
			AND coalesce(l.wave, 0) < +?`,
			func(s *sqlite.Stmt) error {
				if lane := s.ColumnText(0); r.holds(lane) {
					out.Unfinished[lane] = nil
				}
				return nil
			}, env, r.from, r.to, epoch); err != nil {
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

// checkedIn adds to lanes what a wave has checked in them.
func checkedIn(c *sqlite.Conn, env string, epoch int64, lanes map[string][]resource.ID) error {
	if len(lanes) > mostRanges {
		const sql = "SELECT lane, ids FROM checks WHERE env = +? AND epoch = +?"
		return query(c, sql, func(s *sqlite.Stmt) error {
			lane := s.ColumnText(0)
			if _, asked := lanes[lane]; asked {
				lanes[lane] = append(lanes[lane], splitIDs(s.ColumnText(1))...)
			}
			return nil
		}, env, epoch)
	}
	for lane := range lanes {
		if err := eachChecked(c, waveKey{env, lane, epoch}, 0, func(_ int64, more []resource.ID) { lanes[lane] = append(lanes[lane], more...) }); err != nil {
			return err
		}
	}
	return nil
}

// waveKey names a wave in a lane.
type waveKey struct {
	env, lane string
	epoch     int64
}

// seenChecks remembers the lists of one lane and wave that were read already; lists are only ever added.
type seenChecks struct {
	last int64 // the number of the last list
	ids  map[resource.ID]bool
}

// eachChecked calls f for the lists of what a wave has checked in a lane, leaving out those up to the number after.
func eachChecked(c *sqlite.Conn, of waveKey, after int64, f func(k int64, ids []resource.ID)) error {
	const sql = `SELECT k, ids FROM checks
		WHERE env = +? AND lane = +? AND epoch = +? AND k > +? ORDER BY k`
	return query(c, sql, func(s *sqlite.Stmt) error {
		f(s.ColumnInt64(0), splitIDs(s.ColumnText(1)))
		return nil
	}, of.env, of.lane, of.epoch, after)
}

// Finished implements deploy.State.
func (h *Home) Finished(ctx context.Context, env string, ids []resource.ID, epoch int64) ([]resource.ID, error) {
	var out []resource.ID
	err := h.read(ctx, "read schedule", func(c *sqlite.Conn) error {
		for _, id := range ids {
			done := true
			if err := query(c, `SELECT r.ticket, r.checked, r.lane, coalesce(l.wave, 0) FROM rows r LEFT JOIN leases l ON l.env = r.env AND l.key = r.lane
				WHERE r.env = +? AND r.id = +?`, func(s *sqlite.Stmt) error {
				done = s.ColumnInt64(0) == 0
				if !done || epoch == 0 || s.ColumnInt64(1) >= epoch || s.ColumnInt64(3) >= epoch {
					return nil
				}
				var err error
				done, err = h.wasChecked(c, waveKey{env, s.ColumnText(2), epoch}, id)
				return err
			}, env, string(id)); err != nil {
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

// wasChecked reports whether a wave has checked a resource in a lane.
func (h *Home) wasChecked(c *sqlite.Conn, key waveKey, id resource.ID) (bool, error) {
	h.wavesMu.Lock()
	defer h.wavesMu.Unlock()
	seen := h.waves[key]
	if seen == nil {
		if len(h.waves) > 1000 {
			clear(h.waves) // most are of older waves; the others are read again
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

// Due implements deploy.State.
func (h *Home) Due(ctx context.Context, env string, at time.Time, limit int) ([]resource.ID, time.Time, error) {
	var ids []resource.ID
	var next time.Time
	err := h.read(ctx, "read timers", func(c *sqlite.Conn) error {
		if err := query(c, "SELECT id FROM rows WHERE env = ? AND next_at > 0 AND next_at <= ? ORDER BY next_at LIMIT ?", func(s *sqlite.Stmt) error {
			ids = append(ids, resource.ID(s.ColumnText(0)))
			return nil
		}, env, binform.Nanos(at), limit); err != nil {
			return err
		}
		return query(c, "SELECT next_at FROM rows WHERE env = ? AND next_at > 0 AND next_at > ? ORDER BY next_at LIMIT 1", func(s *sqlite.Stmt) error {
			next = binform.TimeOf(s.ColumnInt64(0))
			return nil
		}, env, binform.Nanos(at))
	})
	return ids, next, err
}

// Counts implements deploy.State.
func (h *Home) Counts(ctx context.Context, env string) (map[deploy.Status]int, error) {
	out := map[deploy.Status]int{}
	err := h.read(ctx, "count resources", func(c *sqlite.Conn) error {
		return query(c, "SELECT status, sum(n) FROM counts WHERE env = ? GROUP BY status", func(s *sqlite.Stmt) error {
			if n := s.ColumnInt(1); n > 0 {
				out[deploy.Status(s.ColumnText(0))] = n
			}
			return nil
		}, env)
	})
	return out, err
}
