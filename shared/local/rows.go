package local

import (
	"context"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/internal/parallel"
	"southbound/shared/resource"
)

// The statements that select rows, each as a record. The statements for a lane name their index.
// From the statistics of an environment with one lane, SQLite would conclude that a table scan is
// faster, and keep that plan when lanes are added.
const (
	fromResources = "SELECT r.id, r.rev, r.lane, r.ticket, r.next_at, r.checked, r.status, " +
		"r.state, r.sum, i.body, i.sum FROM resources r "
	withIntents     = "LEFT JOIN intents i ON i.k = r.k WHERE r.env = +? AND "
	selectRow       = fromResources + withIntents + "r.id = +?"
	selectAfter     = fromResources + withIntents + "r.id > +? ORDER BY r.id LIMIT ?"
	selectLane      = fromResources + "INDEXED BY resources_lane " + withIntents + "r.lane = +?"
	selectScheduled = fromResources + "INDEXED BY resources_scheduled " + withIntents +
		"r.lane = +? AND r.ticket <> 0"
)

// readRecord returns the record in the current row of one of these statements.
func readRecord(s *sqlite.Stmt) (record, error) {
	return record{id: s.ColumnText(0), rev: s.ColumnInt64(1), lane: s.ColumnText(2),
		ticket: s.ColumnInt64(3), timer: s.ColumnInt64(4), checked: s.ColumnInt64(5),
		status: s.ColumnText(6), state: columnBytes(s, 7), sum: uint32(s.ColumnInt64(8)),
		body: columnBytes(s, 9), bodySum: uint32(s.ColumnInt64(10))}, nil
}

// Rows implements state.State.
func (h *Home) Rows(ctx context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	var found []record
	err := h.read(ctx, "read resources", func(c *sqlite.Conn) error {
		for _, id := range ids {
			if err := appendRecords(c, &found, selectRow, env, string(id)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rowsOf(found)
}

// AgentRows implements state.State.
func (h *Home) AgentRows(ctx context.Context, env, lane string, all bool) ([]state.Row, error) {
	if all {
		return h.rows(ctx, selectLane, env, lane)
	}
	return h.rows(ctx, selectScheduled, env, lane)
}

// ScanRows implements state.State.
func (h *Home) ScanRows(
	ctx context.Context, env string, after resource.ID, limit int,
) ([]state.Row, error) {
	return h.rows(ctx, selectAfter, env, string(after), limit)
}

// rows returns the rows that a statement selects.
func (h *Home) rows(ctx context.Context, sql string, args ...any) ([]state.Row, error) {
	var found []record
	err := h.read(ctx, "read resources", func(c *sqlite.Conn) error {
		return appendRecords(c, &found, sql, args...)
	})
	if err != nil {
		return nil, err
	}
	return rowsOf(found)
}

// appendRecords appends the records that a statement selects.
func appendRecords(c *sqlite.Conn, to *[]record, sql string, args ...any) error {
	more, err := list(c, sql, readRecord, args...)
	*to = append(*to, more...)
	return err
}

// rowsOf decodes records. It is called after the transaction, and uses all processors.
func rowsOf(found []record) ([]state.Row, error) {
	if len(found) == 0 {
		return nil, nil
	}
	out, errs := make([]state.Row, len(found)), make([]error, len(found))
	parallel.For(len(found), func(i int) { errs[i] = found[i].read(&out[i]) })
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
