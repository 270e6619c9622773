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
func (h *Home) Schedule(ctx context.Context, env string) (deploy.Schedule, error) {
	var out deploy.Schedule
	err := h.read(ctx, "read schedule", func(c *sqlite.Conn) error {
		e, err := readEnv(c, env)
		if err != nil {
			return err
		}
		out = deploy.Schedule{PlanSeq: e.PlanSeq, Graph: e.Graph, Wave: e.Wave, Halted: e.Halted}
		if err := query(c, "SELECT id, lane, ticket FROM rows WHERE env = ? AND ticket <> 0", func(s *sqlite.Stmt) error {
			out.Tickets = append(out.Tickets, deploy.Ticket{ID: resource.ID(s.ColumnText(0)), Lane: s.ColumnText(1), N: s.ColumnInt64(2)})
			return nil
		}, env); err != nil || e.Wave.Epoch == 0 {
			return err
		}
		return unfinished(c, env, e.Wave.Epoch, &out)
	})
	return out, err
}

// unfinished fills in the lanes that have not finished the wave, and what was checked in them.
func unfinished(c *sqlite.Conn, env string, epoch int64, out *deploy.Schedule) error {
	out.Unfinished = map[string][]resource.ID{}
	if err := query(c, `SELECT DISTINCT n.lane FROM counts n LEFT JOIN leases l ON l.env = n.env AND l.key = n.lane
		WHERE n.env = ? AND n.n > 0 AND coalesce(l.wave, 0) < ?`, func(s *sqlite.Stmt) error {
		out.Unfinished[s.ColumnText(0)] = nil
		return nil
	}, env, epoch); err != nil {
		return err
	}
	for lane := range out.Unfinished {
		var ids []resource.ID
		if err := eachChecked(c, waveKey{env, lane, epoch}, 0, func(_ int64, more []resource.ID) { ids = append(ids, more...) }); err != nil {
			return err
		}
		slices.Sort(ids)
		out.Unfinished[lane] = slices.Compact(ids)
	}
	return nil
}

// waveKey names a wave in a lane.
type waveKey struct {
	env, lane string
	epoch     int64
}

// checkedIn remembers the lists of one lane and wave that were read already; lists are only ever added.
type checkedIn struct {
	last int64 // the number of the last list
	ids  map[resource.ID]bool
}

// eachChecked calls f for the lists of what a wave has checked in a lane, leaving out those up to the number after.
func eachChecked(c *sqlite.Conn, of waveKey, after int64, f func(k int64, ids []resource.ID)) error {
	return query(c, "SELECT k, ids FROM checks WHERE env = ? AND lane = ? AND epoch = ? AND k > ? ORDER BY k", func(s *sqlite.Stmt) error {
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
				WHERE r.env = ? AND r.id = ?`, func(s *sqlite.Stmt) error {
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
		seen = &checkedIn{ids: map[resource.ID]bool{}}
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
