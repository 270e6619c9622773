package local

import (
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	// restsAfter is the time without writes after which the write-ahead log is emptied. During
	// writes, SQLite moves pages into the database whenever 16 MB have accumulated. Such
	// checkpoints are rare enough to cost nothing, and they do not shrink the file.
	restsAfter = time.Second
	// smallLog is the size in bytes up to which the log is not emptied. Emptying the log waits for
	// the disk twice, which each command that writes little would otherwise pay for.
	smallLog = 1 << 20
)

// emptyLog moves all pages of a large write-ahead log into the database and truncates the log. It
// does not wait for concurrent readers or writers: the next idle process empties the log instead.
func (d *db) emptyLog(conn *sqlite.Conn) {
	info, err := os.Stat(d.path + "-wal")
	if err != nil || info.Size() <= smallLog {
		return
	}
	// A failure loses no data: the log is part of the database.
	_ = sqlitex.ExecuteTransient(conn, "PRAGMA wal_checkpoint(TRUNCATE)", nil)
}
