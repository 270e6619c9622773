package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// commits are the writes of one planner under its lease, in sequence.
type commits struct {
	*state.Client
	lease state.Lease
	n     int64 // number of commits so far
}

// guard returns the value that the store compares, so that it refuses a planner that has lost its
// lease.
func (w *commits) guard() state.Guard { return state.Guard{Key: w.lease.Key, Fence: w.lease.Fence} }

// ticket returns the ticket of all rows that the next commit schedules. It is greater than the
// tickets of all earlier commits.
func (w *commits) ticket() int64 { return w.lease.Fence<<20 | w.n }

// write makes a commit, and repeats it while the store is unavailable. It recognises a commit that
// took effect although its response was lost.
func (w *commits) write(ctx context.Context, env string, c state.Commit) (state.Committed, error) {
	var done state.Committed
	want := state.Env{}
	if c.Env != nil {
		want = *c.Env
	}
	lost := false
	err := w.Retry(ctx, func() error {
		var err error
		if lost && c.Env != nil {
			now, err := w.State.Env(ctx, want.Name)
			if err != nil {
				return err
			}
			if now.Rev == want.Rev+1 {
				// this planner's own write, since only the holder of the lease writes the
				// environment
				c.Env, c.Version = nil, nil
			}
		}
		done, err = w.State.Commit(ctx, env, c)
		lost = lost || err != nil
		return err
	})
	if err != nil {
		return done, fault.Wrap(fault.Unknown, "write plan", err)
	}
	w.n++
	if lost {
		done.Conflicts = slices.DeleteFunc(
			done.Conflicts,
			func(r state.Row) bool { return writtenAs(c.Rows, r) },
		)
	}
	return done, nil
}

// writtenAs reports whether this planner has written a conflicting row itself. A row written by a
// worker differs at least in its last action.
func writtenAs(rows []state.Row, now state.Row) bool {
	for i := range rows {
		if rows[i].ID == now.ID {
			if rows[i].Gone {
				return now.Rev == 0
			}
			return rows[i].WrittenAs(&now)
		}
	}
	return false
}
