package local

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestLogIsEmptied pins that what has written much leaves no large write-ahead log behind, whether it
// ends or only rests, also while another process has the database open, which keeps the file.
func TestLogIsEmptied(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]func(d *db){
		"ends":  func(d *db) { d.close() },
		"rests": func(*db) { time.Sleep(2 * restsAfter); synctest.Wait() },
	} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db")
			d, err := openDB(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer d.close()
			other, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Close() }()
			if _, err := number(other, "SELECT count(*) FROM sqlite_schema"); err != nil {
				t.Fatal(err)
			}
			if err := d.write(t.Context(), "write", func(c *sqlite.Conn) error {
				return sqlitex.ExecuteScript(c,
					"CREATE TABLE much (b); INSERT INTO much VALUES (zeroblob(3000000))", nil)
			}); err != nil {
				t.Fatal(err)
			}
			if n := logSize(t, path); n < 2*smallLog {
				t.Fatalf("%s: the log has %d bytes, which says nothing", name, n)
			}
			rest(d)
			if n := logSize(t, path); n != 0 {
				t.Errorf("%s: the log still has %d bytes", name, n)
			}
			if n, err := number(other, "SELECT length(b) FROM much"); n != 3000000 || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		})
	}
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
