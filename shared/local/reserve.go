package local

import (
	"os"
	"path/filepath"
)

// The reserve is a file that only occupies disk space. SQLite needs some space even for reading,
// for the index of its log, and users of a full disk want to see the state. So the reserve is
// deleted when the database cannot be opened for lack of space, and created again when there is
// space.
const (
	reserveName = "southbound.reserve"
	reserveSize = 256 << 10
)

// keepReserve creates the reserve if it is missing. Errors are ignored: without a reserve, the only
// loss is that the state on a full disk cannot be read. The next process that opens the database
// tries again.
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
