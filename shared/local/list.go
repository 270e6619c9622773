package local

import (
	"context"

	"zombiezen.com/go/sqlite"
)

// list returns the values that read returns for the rows of a statement.
func list[T any](
	c *sqlite.Conn, sql string, read func(s *sqlite.Stmt) (T, error), args ...any,
) ([]T, error) {
	var out []T
	err := query(c, sql, func(s *sqlite.Stmt) error {
		v, err := read(s)
		out = append(out, v)
		return err
	}, args...)
	return out, err
}

// readList is list in a transaction of its own.
func readList[T any](
	ctx context.Context, h *Home, op, sql string, read func(s *sqlite.Stmt) (T, error), args ...any,
) ([]T, error) {
	var out []T
	err := h.read(ctx, op, func(c *sqlite.Conn) (err error) {
		out, err = list(c, sql, read, args...)
		return err
	})
	return out, err
}

// one returns the value of the last row of a statement, or the zero value.
func one[T any](
	c *sqlite.Conn, sql string, read func(s *sqlite.Stmt) (T, error), args ...any,
) (T, error) {
	var out T
	err := query(c, sql, func(s *sqlite.Stmt) (err error) {
		out, err = read(s)
		return err
	}, args...)
	return out, err
}

// text reads a row of one text, integer a row of one number, and present any row.
func text[T ~string](s *sqlite.Stmt) (T, error) { return T(s.ColumnText(0)), nil }

func integer(s *sqlite.Stmt) (int64, error) { return s.ColumnInt64(0), nil }

func present(*sqlite.Stmt) (bool, error) { return true, nil }

// sealedRow returns the reader of a row of a sealed record in a table, followed by its keys.
func sealedRow[T any](table string) func(s *sqlite.Stmt) (T, error) {
	return func(s *sqlite.Stmt) (v T, err error) {
		err = unsealRow(s, 0, &v, table)
		return v, err
	}
}
