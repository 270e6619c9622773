package local

import (
	"context"
	"slices"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

var _ state.Tallier = (*Home)(nil)

// ill are the statuses in the index resources_ill. SQLite uses such an index only for a condition
// that repeats its own.
var ill = []state.Status{state.StatusFailed, state.StatusUnavailable, state.StatusSkipped,
	state.StatusBlocked, state.StatusUndefined}

const (
	selectIll = fromResources + "INDEXED BY resources_ill " + withIntents + "r.status = +? AND r.status " +
		"IN ('failed', 'unavailable', 'skipped', 'blocked', 'undefined') AND r.id > +? ORDER BY r.id LIMIT ?"
	selectStatus = fromResources + withIntents + "r.status = +? AND r.id > +? ORDER BY r.id LIMIT ?"
)

// Tally implements state.Tallier.
func (h *Home) Tally(ctx context.Context, env string) ([]state.Tally, error) {
	var out []state.Tally
	err := h.read(ctx, "count resources", func(c *sqlite.Conn) error {
		return query(c, "SELECT lane, type, status, n FROM counts WHERE env = ? AND n > 0",
			func(s *sqlite.Stmt) error {
				out = append(out, state.Tally{Lane: s.ColumnText(0), Type: s.ColumnText(1),
					Status: state.Status(s.ColumnText(2)), Count: s.ColumnInt(3)})
				return nil
			}, env)
	})
	return out, err
}

// RowsWith implements state.Tallier.
func (h *Home) RowsWith(
	ctx context.Context, env string, status state.Status, after resource.ID, limit int,
) ([]state.Row, error) {
	sql := selectStatus
	if slices.Contains(ill, status) {
		sql = selectIll
	}
	return h.rows(ctx, sql, env, string(status), string(after), limit)
}
