package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// damage changes the data directory as a bad disk does: "damage bodies FROM TO" replaces text in
// what is stored of resources, "damage files" flips a bit in each stored file, "damage lose"
// removes them, "damage chunks" flips a bit in those that hold resources or graphs.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(".southbound")
	switch {
	case !neg && len(args) == 3 && args[0] == "bodies":
		conn, err := sqlite.OpenConn(filepath.Join(dir, "southbound.db"), sqlite.OpenReadWrite)
		ts.Check(err)
		defer conn.Close()
		ts.Check(sqlitex.ExecuteTransient(conn,
			"UPDATE intents SET body = unhex(replace(hex(body), hex(?), hex(?)))",
			&sqlitex.ExecOptions{
				Args: []any{args[1], args[2]},
			}))
		if conn.Changes() == 0 {
			ts.Fatalf("there are no bodies")
		}
	case !neg && len(args) == 1 && slices.Contains([]string{"files", "lose", "chunks"}, args[0]):
		ts.Check(filepath.WalkDir(filepath.Join(dir, "files"),
			func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				if args[0] == "lose" {
					return os.Remove(path)
				}
				b, err := os.ReadFile(path)
				if zstd := bytes.HasPrefix(b, []byte("\x28\xb5\x2f\xfd")); args[0] == "chunks" && !zstd {
					return err
				}
				if err == nil {
					b[len(b)/2] ^= 1
					err = os.WriteFile(path, b, 0o600)
				}
				return err
			}))
	default:
		ts.Fatalf("usage: damage bodies FROM TO | files | lose | chunks")
	}
}
