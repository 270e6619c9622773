package local

import (
	"strings"

	"zombiezen.com/go/sqlite"

	"southbound/shared/service/inventory"
)

// order is the order of a list by columns, with the position of the last entry of the previous page.
type order struct {
	columns []string
	newest  bool // descending
	started bool // there is a position
	at      []any
}

// add adds a column, with its value at the position.
func (o *order) add(column string, at any) {
	o.columns, o.at = append(o.columns, column), append(o.at, at)
}

// compared returns a comparison of entries with the position.
func (o *order) compared(operator string) string {
	return "(" + strings.Join(o.columns, ", ") + ") " + operator +
		" (?" + strings.Repeat(", ?", len(o.columns)-1) + ")"
}

// after adds the condition that an entry follows the position.
func (o *order) after(w *where) {
	switch {
	case o.started && o.newest:
		w.and(o.compared("<"), o.at...)
	case o.started:
		w.and(o.compared(">"), o.at...)
	}
}

// by returns the clause of the order.
func (o *order) by() string {
	if o.newest {
		return " ORDER BY " + strings.Join(o.columns, " DESC, ") + " DESC"
	}
	return " ORDER BY " + strings.Join(o.columns, ", ")
}

// count counts the rows of a table that match a condition, and among them those up to the position.
func (o *order) count(c *sqlite.Conn, from string, w *where) (inventory.Count, error) {
	ahead, args := "0", w.args
	if o.started {
		operator := "<="
		if o.newest {
			operator = ">="
		}
		ahead, args = "coalesce(sum("+o.compared(operator)+"), 0)", append(o.at, w.args...)
	}
	return one(c, "SELECT count(*), "+ahead+" FROM "+from+w.sql,
		func(s *sqlite.Stmt) (inventory.Count, error) {
			return inventory.Count{Total: s.ColumnInt(0), Ahead: s.ColumnInt(1)}, nil
		}, args...)
}
