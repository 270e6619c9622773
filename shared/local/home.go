// Package local is the embedded home: it implements the engine's ports on one machine. State is in
// an SQLite database, files are in a folder, by their hash, and notices are in memory. Any number
// of processes may use one data directory at once.
//
//	Home       state.State: a commit is one transaction, which first compares the lease's fence
//	  db         one connection writes, and commits what waits for it together; others read
//	  tx         one commit: its steps in their order
//	Files      state.Files: written beside, synced, renamed; a commit that refers to them comes later
//	Notifier   lanes with work, in this process; for others, that the database has changed
//	Runner     serves the lanes that it is notified of, with the engine's Run
//	Secrets    values from the environment and from files
//
// Instances, Definitions and Callbacks store services in the same database. A database with another
// layout is rejected (layout). See docs/design/embedded.md.
package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/platform"
)

const (
	dbName     = "southbound.db"
	holdersDir = "holders" // lock files of the processes that are at work
	modelsDir  = "models"  // what orders of services are compiled from
)

// Home is an open data directory. It implements state.State. The caller has to close it.
//
// Large: it implements a wide port over one database, whose connection and caches all operations
// share.
type Home struct {
	*db
	*Notifier
	Dir      string
	holder   string
	lock     *os.File
	files    string
	verified verified // those of files that were read as a whole
	ids      *platform.IDs

	wavesMu sync.Mutex
	waves   map[waveKey]*seenChecks

	versions knownVersions
}

// Open opens the data directory dir, and makes it if it is missing. Its errors are of the kinds
// Foreign, Damaged, Denied and Full; with any of them nothing was touched.
func Open(dir string) (*Home, error) { return OpenWaiting(context.Background(), dir, nil) }

// OpenWaiting is Open that waits for other processes until ctx is done. It calls slow, unless that is
// nil, when another process keeps it from reading or writing for long, then and later.
func OpenWaiting(ctx context.Context, dir string, slow func()) (*Home, error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	h := &Home{Dir: dir, Notifier: NewNotifier(), files: filepath.Join(dir, "files"),
		waves: map[waveKey]*seenChecks{}}
	var err error
	if h.db, err = openDB(ctx, filepath.Join(dir, dbName), slow); err != nil {
		return nil, err
	}
	if err := h.hold(); err != nil {
		h.db.close()
		return nil, dirError(dir, err)
	}
	return h, nil
}

// Close waits for writes under way and gives up the leases that this process holds.
func (h *Home) Close() error {
	h.db.close()
	_ = os.Remove(h.lock.Name())
	return h.lock.Close()
}

// Sizes returns the sizes that suit a home on one machine: to make a file costs more there than to
// read or write some more of it.
func Sizes() deploy.Sizes { return deploy.Sizes{Chunk: 1024, Claim: 2048} }

// Holder returns the name under which this process holds leases.
func (h *Home) Holder() string { return h.holder }

// Alone makes this process the only one that works on the orders of an environment, until release
// is called or it ends. It returns false if another one is.
func (h *Home) Alone(env string) (release func(), ok bool, err error) {
	dir := filepath.Join(h.Dir, modelsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, dirError(h.Dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, env+".lock"), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC,
		0o600)
	if err != nil {
		return nil, false, dirError(h.Dir, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, false, nil
		}
		return nil, false, dirError(h.Dir, err)
	}
	return func() { _ = f.Close() }, true, nil
}

// hold makes the lock file by which others see that this process lives: the system drops the lock
// when the process ends, however it ends.
func (h *Home) hold() error {
	dir := filepath.Join(h.Dir, holdersDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	h.sweepHolders(dir)
	h.ids = platform.NewIDs()
	h.holder = h.ids.Holder
	f, err := os.OpenFile(filepath.Join(dir, h.holder),
		os.O_CREATE|os.O_EXCL|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	h.lock = f
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	h.sweepFiles()
	return nil
}

// sweepFiles removes the files that processes were writing when they were killed.
func (h *Home) sweepFiles() {
	dir := filepath.Join(h.files, newFiles)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if holder, _, _ := strings.Cut(e.Name(), "-"); h.dead(holder) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// sweepHolders removes the lock files of processes that ended without removing them.
func (h *Home) sweepHolders(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > time.Minute && h.dead(e.Name()) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Ended reports whether the process behind a holder of leases is known to have ended.
func (h *Home) Ended(holder string) bool { return h.dead(holder) }

// dead reports whether the process behind a holder is known to have ended.
func (h *Home) dead(holder string) bool {
	name, _, _ := strings.Cut(holder, "#")
	if name == h.holder {
		return false
	}
	f, err := os.Open(filepath.Join(h.Dir, holdersDir, filepath.Base(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
}

// NewID returns a unique id, greater than all that this process has made before and, as far as
// their clocks agree, that others have.
func (h *Home) NewID() string { return h.ids.NewID() }

// Clock is the clock of the machine.
type Clock = platform.Clock

// Caller calls each handler in a goroutine of its own.
type Caller = platform.Caller

var (
	_ state.State = (*Home)(nil)
	_ state.Files = (*Files)(nil)
)
