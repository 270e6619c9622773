package local

import (
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	// restsAfter is how long nobody writes before the write-ahead log is emptied. While somebody does,
	// SQLite moves its pages into the database each time that 16 MB have come together: that is seldom
	// enough to cost nothing, and the file never gets shorter by that.
	restsAfter = time.Second
	// smallLog is how large, in bytes, the log may stay: to empty it makes two calls wait for the
	// disk, and each command that has little to write would have them.
	smallLog = 1 << 20
)

// emptyLog moves all of a large write-ahead log into the database, and makes it empty. It waits for
// nobody who reads or writes meanwhile: whoever rests after them empties it.
func (d *db) emptyLog(conn *sqlite.Conn) {
	info, err := os.Stat(d.path + "-wal")
	if err != nil || info.Size() <= smallLog {
		return
	}
	// What fails is no loss: the log is part of the database.
	_ = sqlitex.ExecuteTransient(conn, "PRAGMA wal_checkpoint(TRUNCATE)", nil)
}
