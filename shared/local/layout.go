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
var tables string // the statements that create the tables of a new database

// layout is the number of the current layout of the tables and of the form of the records in them.
// Any change of either increments it. Before 0.1.0, a database with another layout is not read.
const layout = 35

// applicationID marks databases of this program ("sbnd").
const applicationID = 0x73626e64

// The offsets of two numbers in the header of an SQLite file: the schema cookie, which counts
// changes of the tables, and the application id.
const (
	headerSize   = 100
	schemaCookie = 40
	headerOwner  = 68
)

// ours rejects the database of another program by its first bytes, before SQLite opens it: SQLite
// would complete unfinished writes in the write-ahead log of that database. In a database of this
// program, the application id is written with the first tables. Before that, the header decides
// nothing, and isNew checks again.
func ours(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // SQLite returns a more precise error
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

// isNew reports whether a database has no tables yet. It rejects a database of another program or
// with another layout. It is called in a transaction.
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

// makeTables creates the tables of a new database, all of them or none. If several processes call
// it, one creates the tables, and the others find them.
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
