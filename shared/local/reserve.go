package local

import (
	"os"
	"path/filepath"
)

// A reserve is a file that only takes up room. SQLite needs some even to read, for the index of its
// log, and on a full disk people want to see what has happened. So the reserve is given up when the
// database cannot be opened, and made again when there is room once more.
const (
	reserveName = "southbound.reserve"
	reserveSize = 256 << 10
)

// keepReserve makes the reserve if it is missing. Without it, a full disk cannot be read, which is
// all: errors are left alone, and the next one who opens the database tries again.
func keepReserve(dir string) {
	f, err := os.OpenFile(filepath.Join(dir, reserveName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, err = f.Write(make([]byte, reserveSize))
	if closed := f.Close(); err != nil || closed != nil {
		_ = os.Remove(f.Name())
	}
}

// giveReserve removes the reserve, and reports whether there was one.
func giveReserve(dir string) bool { return os.Remove(filepath.Join(dir, reserveName)) == nil }
