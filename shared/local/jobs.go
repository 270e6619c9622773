package local

import (
	"context"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

var _ state.Jobs = (*Home)(nil)

// PutJob implements state.Jobs. When it stores a new record, it removes the expired ones.
func (h *Home) PutJob(ctx context.Context, env string, j state.Job, now time.Time) (int64, error) {
	rev := state.NewRev()
	err := h.write(ctx, "write job", func(c *sqlite.Conn) error {
		if j.Rev == 0 {
			if err := query(c, "DELETE FROM jobs WHERE expires <= ?", nil,
				now.UnixMilli()); err != nil {
				return err
			}
		}
		have, err := one(c, "SELECT rev FROM jobs WHERE env = ? AND id = ? AND expires > ?", integer,
			env, j.ID, now.UnixMilli())
		if err != nil {
			return err
		}
		if have != j.Rev {
			return fault.New(fault.Conflict, "write job", "another has changed it")
		}
		return query(c, "INSERT OR REPLACE INTO jobs (env, id, rev, expires, body) VALUES (?, ?, ?, ?, ?)",
			nil, env, j.ID, rev, j.Expires.UnixMilli(), j.Body)
	})
	return rev, err
}

// Jobs implements state.Jobs.
func (h *Home) Jobs(ctx context.Context, env, begin string, now time.Time) ([]state.Job, error) {
	out, err := readList(ctx, h, "read jobs",
		"SELECT id, rev, expires, body FROM jobs WHERE env = ? AND id >= ? AND expires > ? ORDER BY id",
		func(s *sqlite.Stmt) (state.Job, error) {
			return state.Job{ID: s.ColumnText(0), Rev: s.ColumnInt64(1),
				Expires: time.UnixMilli(s.ColumnInt64(2)).UTC(), Body: columnBytes(s, 3)}, nil
		}, env, begin, now.UnixMilli())
	return slices.DeleteFunc(out, func(j state.Job) bool { return !strings.HasPrefix(j.ID, begin) }), err
}
