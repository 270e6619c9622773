package local

import (
	"context"
	"strings"

	"zombiezen.com/go/sqlite"

	"southbound/shared/service/inventory"
)

// position is the position of an entry in a list ordered by creation.
type position struct {
	created int64
	id      string
}

// countRows counts the rows of a table that match a condition, and among them those up to a
// position.
func countRows(
	ctx context.Context, home *Home, from string, newest bool, at *position, args []any,
) (inventory.Count, error) {
	var out inventory.Count
	sum := "0"
	if at != nil {
		sum, args = "coalesce(sum((created, id) <= (?, ?)), 0)", append([]any{at.created, at.id},
			args...)
		if newest {
			sum = strings.Replace(sum, "<=", ">=", 1)
		}
	}
	err := home.read(ctx, "count", func(c *sqlite.Conn) error {
		return query(c, "SELECT count(*), "+sum+" FROM "+from, func(s *sqlite.Stmt) error {
			out = inventory.Count{Total: s.ColumnInt(0), Ahead: s.ColumnInt(1)}
			return nil
		}, args...)
	})
	return out, err
}
