package local

import (
	"context"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

var _ state.Tallier = (*Home)(nil)

// Tally implements state.Tallier.
func (h *Home) Tally(ctx context.Context, env string) ([]state.Tally, error) {
	return readList(ctx, h, "count resources",
		"SELECT lane, type, status, n FROM counts WHERE env = ? AND n > 0",
		func(s *sqlite.Stmt) (state.Tally, error) {
			return state.Tally{Agent: s.ColumnText(0), Type: s.ColumnText(1),
				Status: state.Status(s.ColumnText(2)), Count: s.ColumnInt(3)}, nil
		}, env)
}

// RowsWith implements state.Tallier.
func (h *Home) RowsWith(
	ctx context.Context, env string, status state.Status, after resource.ID, limit int,
) ([]state.Row, error) {
	const sql = fromResources + "INDEXED BY resources_status " + withIntents +
		"r.status = +? AND r.id > +? ORDER BY r.id LIMIT ?"
	return h.rows(ctx, sql, env, string(status), string(after), limit)
}
