package local

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Acquire implements state.State.
func (h *Home) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	var out state.Lease
	err := h.write(ctx, "take lease", func(c *sqlite.Conn) error {
		have, stored, err := readLease(c, env, key)
		if err != nil {
			return err
		}
		if have.Holder != "" && have.Holder != holder && now.Before(have.Until) &&
			!h.dead(have.Holder) {
			return fault.New(fault.Busy, "take lease", "%s has another holder",
				state.NameOfLease(key))
		}
		out = state.Lease{Key: key, Holder: holder, Fence: have.Fence + 1, Until: until,
			Wave: have.Wave}
		if out.Running, err = splitIDs(stored); err != nil {
			return err
		}
		if err := feed(c, env, 0, out.Running...); err != nil { // shown as interrupted until now
			return err
		}
		return query(c, `INSERT INTO leases (env, key, holder, fence, until) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET holder = excluded.holder, fence = excluded.fence, until = excluded.until`,
			nil, env, key, holder, out.Fence, nanos(until))
	})
	return out, err
}

// readLease returns a lease and, separately, the resources that run under it.
func readLease(c *sqlite.Conn, env, key string) (l state.Lease, runs running, err error) {
	l.Key = key
	const sql = "SELECT holder, fence, until, wave, runs FROM leases WHERE env = ? AND key = ?"
	err = query(c, sql, func(s *sqlite.Stmt) error {
		l.Holder, l.Fence, l.Until, l.Wave = s.ColumnText(0), s.ColumnInt64(1),
			timeOf(s.ColumnInt64(2)), s.ColumnInt64(3)
		runs = columnBytes(s, 4)
		return nil
	}, env, key)
	return l, runs, err
}

// Release implements state.State.
func (h *Home) Release(ctx context.Context, env string, l state.Lease) error {
	return h.write(ctx, "give up lease", func(c *sqlite.Conn) error {
		have, runs, err := readLease(c, env, l.Key)
		if err != nil || have.Fence != l.Fence {
			return err
		}
		if err := feedRunning(c, env, runs); err != nil {
			return err
		}
		return query(c,
			"UPDATE leases SET holder = '', runs = '' WHERE env = ? AND key = ? AND fence = ?", nil,
			env, l.Key, l.Fence)
	})
}

// Leases implements state.State.
func (h *Home) Leases(ctx context.Context, env string) ([]state.Lease, error) {
	const sql = "SELECT key, holder, fence, until, runs, wave FROM leases WHERE env = +? ORDER BY key"
	return readList(ctx, h, "read leases", sql, func(s *sqlite.Stmt) (l state.Lease, err error) {
		l = state.Lease{Key: s.ColumnText(0), Holder: s.ColumnText(1), Fence: s.ColumnInt64(2),
			Until: timeOf(s.ColumnInt64(3)), Wave: s.ColumnInt64(5)}
		l.Running, err = splitIDs(columnBytes(s, 4))
		return l, err
	}, env)
}

// running is the stored list of resources that run under a lease. It stays encoded, since most
// commits do not decode it.
type running []byte

// still returns the resources that keep running after a commit with conflicts.
func (r running) still(conflicts []state.Row) ([]resource.ID, error) {
	if len(conflicts) == 0 {
		return nil, nil
	}
	ids, err := splitIDs(r)
	return state.StillRunning(ids, conflicts), err
}
