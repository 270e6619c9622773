package local

import (
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
)

// TestTables pins that a new database has the tables, the indexes and the layout to which all
// migrations lead.
func TestTables(t *testing.T) {
	t.Parallel()
	made := func(to layouts) (text string, layout int64) {
		conn, err := sqlite.OpenConn(filepath.Join(t.TempDir(), dbName), sqlite.OpenReadWrite,
			sqlite.OpenCreate)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := prepareDB(conn, "test", to); err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		// Those that SQLite makes by itself have no text.
		if err := query(conn, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid",
			func(s *sqlite.Stmt) error {
				all.WriteString(s.ColumnText(0) + ";\n")
				return nil
			}); err != nil {
			t.Fatal(err)
		}
		if layout, err = number(conn, "PRAGMA user_version"); err != nil {
			t.Fatal(err)
		}
		return all.String(), layout
	}
	to, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	at, atLayout := made(to)
	want, layout := made(layouts{steps: to.steps})
	if at != want || tables != want {
		t.Errorf("tables.sql must be what the migrations make:\n%s", want)
	}
	if atLayout != layout || int(layout) != len(to.steps) {
		t.Errorf("a new database has layout %d, and migrations lead to %d", atLayout, layout)
	}
}
