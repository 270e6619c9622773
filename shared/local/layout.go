package local

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"southbound/shared/fault"
)

//go:embed tables.sql
var tables string // the statements that make the tables of a new database

// layout is the number of the current layout of the tables, and of the form of the records in them.
// Any change of either raises it. Until 0.1.0 no database of another layout is read.
const layout = 21

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

// isNew reports whether a database has no tables yet, and rejects one that is not ours or has
// another layout. It is called in a transaction.
func isNew(conn *sqlite.Conn, path string) (bool, error) {
	var have [3]int64
	for i, q := range []string{"PRAGMA application_id", "PRAGMA user_version",
		"SELECT count(*) FROM sqlite_master"} {
		var err error
		if have[i], err = number(conn, q); err != nil {
			return false, err
		}
	}
	app, version, tables := have[0], have[1], have[2]
	switch {
	case app == 0 && version == 0 && tables == 0:
		return true, nil
	case app != applicationID:
		return false, foreign(path)
	case version != layout:
		return false, fault.New(fault.Foreign, "open "+path,
			"the database has layout %d, and this program reads layout %d alone", version, layout).
			WithHint("run the version of southbound that wrote it, or move the data directory away " +
				"and apply again: that restores everything in the documents, but no instances of services, " +
				"no parameters and no history")
	}
	return false, nil
}

// makeTables makes the tables of a new database, all of them or none. Of several processes one does
// it, and the others find them made.
func makeTables(conn *sqlite.Conn, path string) (err error) {
	end, err := sqlitex.ImmediateTransaction(conn)
	if err != nil {
		return err
	}
	defer end(&err)
	if empty, err := isNew(conn, path); err != nil || !empty {
		return err
	}
	if err := sqlitex.ExecScript(conn, tables); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	return pragmas(conn, fmt.Sprintf("application_id=%d", applicationID),
		fmt.Sprintf("user_version=%d", layout))
}
