package local

import (
	"bytes"
	"context"
	"slices"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/parallel"
	"southbound/shared/resource"
)

// Rows implements state.State.
func (h *Home) Rows(ctx context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	var out []state.Row
	err := h.read(ctx, "read resources", func(c *sqlite.Conn) error {
		in := blocks{c: c, env: env}
		for _, id := range ids {
			o, r, err := in.find(id)
			if err == nil && r != nil {
				err = in.bodies(o)
			}
			if err != nil {
				return err
			}
			if r == nil {
				continue
			}
			row, err := r.row()
			if err != nil {
				return err
			}
			out = append(out, row)
		}
		return nil
	})
	return out, err
}

// LaneRows implements state.State.
func (h *Home) LaneRows(ctx context.Context, env, lane string, all bool) ([]state.Row, error) {
	sql := `SELECT b.rows, o.bodies FROM block_lanes l JOIN blocks b ON b.k = l.k
		LEFT JOIN block_bodies o ON o.k = l.k WHERE l.env = +? AND l.lane = +?`
	if !all {
		sql += " AND l.scheduled"
	}
	return h.scan(ctx, 0, func(r *record) bool {
		return r.lane == lane && (all || r.ticket != 0)
	}, sql, env, lane)
}

// ScanRows implements state.State.
func (h *Home) ScanRows(
	ctx context.Context, env string, after resource.ID, limit int,
) ([]state.Row, error) {
	return h.scan(ctx, limit, func(r *record) bool { return r.id > after },
		`SELECT b.rows, o.bodies FROM blocks b LEFT JOIN block_bodies o ON o.k = b.k
		WHERE b.env = +? AND b.first >= (SELECT max(first) FROM blocks WHERE env = +? AND first <= +?)
		ORDER BY b.first`, env, env, string(after))
}

// scan returns rows of the blocks that a statement selects: those that are wanted, up to limit
// unless that is 0.
func (h *Home) scan(
	ctx context.Context, limit int, wanted func(*record) bool, sql string, args ...any,
) ([]state.Row, error) {
	var found [][]record
	n := 0
	err := h.read(ctx, "read resources", func(c *sqlite.Conn) error {
		s, err := c.Prepare(sql)
		if err != nil {
			return err
		}
		defer func() { _ = s.Reset() }()
		bind(s, args)
		for limit == 0 || n < limit {
			more, err := s.Step()
			if err != nil || !more {
				return err
			}
			recs, err := recordsOf(s, wanted)
			if err != nil {
				return err
			}
			if limit > 0 {
				recs = recs[:min(len(recs), limit-n)]
			}
			found, n = append(found, recs), n+len(recs)
		}
		return nil
	})
	if err != nil || n == 0 {
		return nil, err
	}
	return rowsOf(found, n)
}

// rowsOf returns the rows of the records of some blocks, which are n. That takes as long as to read
// them, so it is done once the transaction is over, and by all processors.
func rowsOf(found [][]record, n int) ([]state.Row, error) {
	out := make([]state.Row, n)
	parts, errs := make([][]state.Row, len(found)), make([]error, len(found))
	at := 0
	for i := range found {
		parts[i] = out[at : at+len(found[i])]
		at += len(found[i])
	}
	parallel.For(len(found), func(i int) {
		for j := range found[i] {
			if errs[i] = found[i][j].read(&parts[i][j]); errs[i] != nil {
				return
			}
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// recordsOf returns the records of one block that are wanted, from its rows and its bodies.
func recordsOf(s *sqlite.Stmt, wanted func(*record) bool) ([]record, error) {
	recs, err := decodeRecords(columnBytes(s, 0))
	if err != nil {
		return nil, err
	}
	n := 0
	for i := range recs {
		if recs[i].gone = !wanted(&recs[i]); !recs[i].gone {
			n++
		}
	}
	if n == 0 {
		return nil, nil
	}
	all := len(recs)
	decodeBodies(columnBytes(s, 1), recs)
	recs = slices.DeleteFunc(recs, func(r record) bool { return r.gone })
	if 2*n < all {
		for i := range recs { // else a few rows would hold all bodies of the block
			recs[i].body = bytes.Clone(recs[i].body)
		}
	}
	return recs, nil
}
