package local

import (
	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// moveRows moves the rows of a layout in which each stood by itself into blocks. A body that does
// not match its checksum stays such a body, and one that is lost becomes one: its row is there, and
// heals as any whose body is damaged.
func moveRows(conn *sqlite.Conn) error {
	var envs []string
	if err := query(conn, "SELECT DISTINCT env FROM rows", func(s *sqlite.Stmt) error {
		envs = append(envs, s.ColumnText(0))
		return nil
	}); err != nil {
		return err
	}
	for _, env := range envs {
		if err := moveEnv(conn, env); err != nil {
			return err
		}
	}
	for _, table := range []string{"rows", "bodies"} {
		if err := query(conn, "DROP TABLE "+table, nil); err != nil {
			return err
		}
	}
	return nil
}

func moveEnv(conn *sqlite.Conn, env string) error {
	out, first := blocks{c: conn, env: env}, ""
	var recs []record
	write := func() error {
		if len(recs) == 0 {
			return nil
		}
		p := part{first: first, recs: recs, bodied: true}
		p.encode()
		recs = recs[:0]
		return out.put(&p)
	}
	const sql = `SELECT r.id, r.rev, r.lane, r.ticket, r.next_at, r.checked, r.status, r.state,
		b.body, b.sum FROM rows r LEFT JOIN bodies b ON b.k = r.k WHERE r.env = ? ORDER BY r.id`
	if err := query(conn, sql, func(s *sqlite.Stmt) error {
		if len(recs) == maxInBlock {
			if err := write(); err != nil {
				return err
			}
			first = s.ColumnText(0)
		}
		r, err := movedRow(s)
		recs = append(recs, r)
		return err
	}, env); err != nil {
		return err
	}
	return write()
}

// movedRow returns a row of the former tables.
func movedRow(s *sqlite.Stmt) (record, error) {
	r := record{id: resource.ID(s.ColumnText(0)), rev: s.ColumnInt64(1), lane: s.ColumnText(2),
		ticket: s.ColumnInt64(3), nextAt: s.ColumnInt64(4), checked: s.ColumnInt64(5),
		status: s.ColumnText(6)}
	row := state.Row{ID: r.id}
	if err := decodeState(columnBytes(s, 7), &row); err != nil {
		return r, err
	}
	r.state = encodeState(&row)
	if s.ColumnType(8) == sqlite.TypeNull {
		r.sum = ^sumOf(nil) // of no body
		return r, nil
	}
	r.setBody(columnBytes(s, 8))
	if s.ColumnType(9) != sqlite.TypeNull { // programs before those with checksums stored none
		r.sum = uint32(s.ColumnInt64(9))
	}
	return r, nil
}
