package local

import (
	"bytes"
	"embed"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"southbound/shared/fault"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// tables makes the tables of the newest layout, as SQLite tells them once all migrations have run: a
// new database is made in less than half the time. TestTables says what belongs there.
//
//go:embed tables.sql
var tables string

// applicationID marks our databases ("sbnd").
const applicationID = 0x73626e64

// Where an SQLite file says in its first bytes how often its tables changed, and whose it is.
const (
	headerSize   = 100
	schemaCookie = 40
	headerOwner  = 68
)

// ours refuses the database of another program by its first bytes: SQLite itself, when it has
// opened a database, finishes what others left in its write-ahead log. In ours, the owner is
// written with the first tables; before that there is nothing to be told, and identify looks once
// more.
func ours(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // SQLite will say more
	}
	defer f.Close()
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(f, head); err != nil {
		return nil
	}
	if owner := binary.BigEndian.Uint32(head[headerOwner:]); owner == applicationID ||
		owner == 0 && binary.BigEndian.Uint32(head[schemaCookie:]) == 0 {
		return nil
	}
	if !bytes.HasPrefix(head, []byte("SQLite format 3\x00")) {
		return nil
	}
	return foreign(path)
}

func foreign(path string) error {
	return fault.New(fault.Foreign, "open "+path, "it is an SQLite database of another program").
		WithHint("name another data directory with --data")
}

// identify returns the layout of the tables, 0 if there are none, and refuses a database that is
// not ours. It is called in a transaction.
func identify(conn *sqlite.Conn, path string, known int) (layout int, err error) {
	var have [3]int64
	for i, q := range []string{"PRAGMA application_id", "PRAGMA user_version",
		"SELECT count(*) FROM sqlite_master"} {
		if have[i], err = number(conn, q); err != nil {
			return 0, err
		}
	}
	app, version, tables := have[0], have[1], have[2]
	switch {
	case app == 0 && version == 0 && tables == 0:
		return 0, nil
	case app != applicationID:
		return 0, foreign(path)
	case version > int64(known):
		return 0, fault.New(fault.Foreign, "open "+path, "it has layout %d, this program knows %d",
			version, known).
			WithHint("use the version of southbound that wrote it last, or a newer one")
	}
	return int(version), nil
}

// step leads from one layout to the next: statements, and then what they cannot say.
type step struct {
	statements string
	move       func(conn *sqlite.Conn) error // nil: nothing
}

// layouts are the ways to the newest layout.
type layouts struct {
	steps []step // that each lead from one layout to the next, in order
	whole string // statements that lead there from nothing; "": the steps do
}

// migrations returns the ways to the layout that this program knows.
func migrations() (layouts, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql") // sorted
	if err != nil {
		return layouts{}, fault.Wrap(fault.Internal, "list migrations", err)
	}
	var steps []step
	for _, n := range names {
		text, err := migrationFiles.ReadFile(n)
		if err != nil {
			return layouts{}, fault.Wrap(fault.Internal, "read migration", err)
		}
		one := step{statements: string(text)}
		if strings.HasSuffix(n, "-blocks.sql") {
			one.move = moveRows
		}
		steps = append(steps, one)
	}
	return layouts{steps: steps, whole: tables}, nil
}

// migrate runs the migrations that the database lacks, all of them or none. Of several processes
// one does it; the others wait, and find it done.
func migrate(conn *sqlite.Conn, path string, to layouts) (err error) {
	end, err := sqlitex.ImmediateTransaction(conn)
	if err != nil {
		return err
	}
	defer end(&err)
	layout, err := identify(conn, path, len(to.steps))
	if err != nil {
		return err
	}
	if layout == 0 && to.whole != "" {
		if err := script(conn, to.whole); err != nil {
			return fmt.Errorf("make the tables: %w", err)
		}
		layout = len(to.steps)
	}
	for ; layout < len(to.steps); layout++ {
		err := script(conn, to.steps[layout].statements)
		if move := to.steps[layout].move; err == nil && move != nil {
			err = move(conn)
		}
		if err != nil {
			return fmt.Errorf("take the tables to layout %d: %w", layout+1, err)
		}
	}
	return pragmas(conn, fmt.Sprintf("application_id=%d", applicationID),
		fmt.Sprintf("user_version=%d", layout))
}

// script runs the statements of a text; each ends with ";" at the end of a line.
func script(conn *sqlite.Conn, text string) error {
	for stmt := range strings.SplitSeq(text, ";\n") {
		if strings.TrimSpace(stmt) == "" {
			continue
		}
		if err := sqlitex.ExecuteTransient(conn, stmt, nil); err != nil {
			return err
		}
	}
	return nil
}
