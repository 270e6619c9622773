package local

import (
	"context"
	"slices"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Bounds of the log of changed rows: the number of commits that it holds, and the number of ids of
// one commit. A reader that is further behind reads all rows.
const (
	changesKept = 1000
	changesEach = 500
)

var _ state.ChangeLog = (*Home)(nil)

// logChanges adds the rows of the commit to the log. The newest entry is never removed, so that the
// numbers grow monotonically.
func (t *tx) logChanges() error {
	if len(t.in.Rows) == 0 {
		return nil
	}
	var ids []byte // null: there are too many
	if len(t.in.Rows) <= changesEach {
		all := make([]resource.ID, len(t.in.Rows))
		for i := range t.in.Rows {
			all[i] = t.in.Rows[i].ID
		}
		ids = joinIDs(all)
	}
	if err := query(t.c, `INSERT INTO row_changes (env, n, ids)
		SELECT ?, coalesce(max(n), 0) + 1, ? FROM row_changes WHERE env = +?`, nil,
		t.env, ids, t.env); err != nil {
		return err
	}
	return query(t.c, `DELETE FROM row_changes WHERE env = +? AND n <= (
		SELECT max(n) FROM row_changes WHERE env = +?) - ?`, nil, t.env, t.env, changesKept)
}

// Changed implements state.ChangeLog.
func (h *Home) Changed(ctx context.Context, env string, since int64) (state.Changed, error) {
	out := state.Changed{Last: since}
	err := h.read(ctx, "read changes", func(c *sqlite.Conn) error {
		err := query(c, "SELECT n, ids FROM row_changes WHERE env = +? AND n >= +? ORDER BY n",
			func(s *sqlite.Stmt) error {
				n := s.ColumnInt64(0)
				if n == since {
					out.Known = true // the log reaches back to since
					return nil
				}
				ids, err := splitIDs(columnBytes(s, 1))
				if out.Known = out.Known && err == nil && len(ids) > 0; !out.Known {
					return errEnough
				}
				out.IDs, out.Last = append(out.IDs, ids...), n
				return nil
			}, env, since)
		if err == errEnough || err == nil && !out.Known {
			out = state.Changed{}
			err = query(c, "SELECT max(n) FROM row_changes WHERE env = +?", func(s *sqlite.Stmt) error {
				out.Last = s.ColumnInt64(0)
				return nil
			}, env)
		}
		return err
	})
	slices.Sort(out.IDs)
	out.IDs = slices.Compact(out.IDs)
	return out, err
}
