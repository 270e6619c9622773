package local

import (
	"bytes"
	"context"
	"slices"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy"
	"southbound/shared/resource"
)

// Rows implements deploy.State.
func (h *Home) Rows(ctx context.Context, env string, ids []resource.ID) ([]deploy.Row, error) {
	var out []deploy.Row
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

// LaneRows implements deploy.State.
func (h *Home) LaneRows(ctx context.Context, env, lane string, all bool) ([]deploy.Row, error) {
	sql := `SELECT b.rows, o.bodies FROM block_lanes l JOIN blocks b ON b.k = l.k
		LEFT JOIN block_bodies o ON o.k = l.k WHERE l.env = +? AND l.lane = +?`
	if !all {
		sql += " AND l.scheduled"
	}
	return h.scan(ctx, 0, func(r *record) bool {
		return r.lane == lane && (all || r.ticket != 0)
	}, sql, env, lane)
}

// ScanRows implements deploy.State.
func (h *Home) ScanRows(
	ctx context.Context, env string, after resource.ID, limit int,
) ([]deploy.Row, error) {
	return h.scan(ctx, limit, func(r *record) bool { return r.id > after },
		`SELECT b.rows, o.bodies FROM blocks b LEFT JOIN block_bodies o ON o.k = b.k
		WHERE b.env = +? AND b.first >= (SELECT max(first) FROM blocks WHERE env = +? AND first <= +?)
		ORDER BY b.first`, env, env, string(after))
}

// scan returns rows of the blocks that a statement selects: those that are wanted, up to limit
// unless that is 0.
func (h *Home) scan(
	ctx context.Context, limit int, wanted func(*record) bool, sql string, args ...any,
) ([]deploy.Row, error) {
	var found [][]deploy.Row // rows are large: one slice that grows would copy them again and again
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
			rows, err := rowsOf(s, wanted)
			if err != nil {
				return err
			}
			if limit > 0 {
				rows = rows[:min(len(rows), limit-n)]
			}
			found, n = append(found, rows), n+len(rows)
		}
		return nil
	})
	return slices.Concat(found...), err
}

// rowsOf returns the rows of one block that are wanted, from its rows and its bodies.
func rowsOf(s *sqlite.Stmt, wanted func(*record) bool) ([]deploy.Row, error) {
	recs, err := decodeRecords(columnBytes(s, 0))
	if err != nil {
		return nil, err
	}
	n := 0
	for i := range recs {
		if wanted(&recs[i]) {
			n++
		} else {
			recs[i].gone = true
		}
	}
	if n == 0 {
		return nil, nil
	}
	decodeBodies(columnBytes(s, 1), recs)
	out := make([]deploy.Row, 0, n)
	for i := range recs {
		if recs[i].gone {
			continue
		}
		row, err := recs[i].row()
		if err != nil {
			return nil, err
		}
		if 2*n < len(recs) {
			row.Body = bytes.Clone(row.Body) // else a few rows would hold all bodies of the block
		}
		out = append(out, row)
	}
	return out, nil
}
