// Package local is the embedded home: it implements the engine's ports on one machine. State is in
// an SQLite database, files are in a folder, by their hash, and notices are in memory. Any number
// of processes may use one data directory concurrently.
//
//	Home       state.State: a commit is one transaction, which first compares the lease's fence
//	  db         one connection writes and groups pending writes in a commit; the others read
//	  tx         one commit: its steps in order
//	Files      state.Files: written to a temporary name, synced, renamed, before the commit
//	Notifier   lanes with work, in this process
//	Runner     serves notified lanes with the engine's RunAgent
//	Secrets    values from variables, files and the other sources of a machine
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
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/platform"
)

const (
	dbName     = "southbound.db"
	holdersDir = "holders" // lock files of running processes
	modelsDir  = "models"  // models from which service orders are compiled
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
	verified verified // cache of verified files
	ids      *platform.IDs

	wavesMu sync.Mutex
	waves   map[waveKey]*seenChecks

	versions knownVersions
	clients  atomic.Bool // see ForClients
}

// ForClients notes that documents come from clients of this process from now on. Their secrets run
// commands only if the variable SOUTHBOUND_SECRET_COMMANDS permits it.
func (h *Home) ForClients() { h.clients.Store(true) }

// Open opens the data directory dir, and creates it if it is missing. Its errors are of the kinds
// Foreign, Damaged, Denied and Full. With any of them, the directory is unchanged.
func Open(dir string) (*Home, error) { return OpenWaiting(context.Background(), dir, nil) }

// OpenWaiting is Open that waits for other processes until ctx is done. It calls slow, unless that
// is nil, whenever another process blocks a read or a write for long, during Open and later.
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

// Close waits for running writes and releases the leases that this process holds.
func (h *Home) Close() error {
	h.db.close()
	_ = os.Remove(h.lock.Name())
	return h.lock.Close()
}

// Sizes returns the sizes for a home on one machine, where creating a file costs more than reading
// or writing somewhat more of it.
func Sizes() deploy.Sizes { return deploy.Sizes{Chunk: 1024, Claim: 2048} }

// Holder returns the name under which this process holds leases.
func (h *Home) Holder() string { return h.holder }

// Alone makes this process the only one that processes the orders of an environment, until release
// is called or the process ends. It returns false if another process is the one.
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

// hold creates the lock file by which other processes detect that this process is alive. The system
// releases the lock when the process ends, in whatever way.
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

// sweepFiles removes partly written files of processes that were killed.
func (h *Home) sweepFiles() {
	dir := filepath.Join(h.files, newFiles)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if holder, _, _ := strings.Cut(e.Name(), "-"); h.dead(holder) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// sweepHolders removes the lock files of processes that ended without removing them. It keeps lock
// files younger than a minute.
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

// NewID returns a unique id, greater than all ids that this process has made before. As far as the
// clocks of processes agree, it is also greater than earlier ids of other processes.
func (h *Home) NewID() string { return h.ids.NewID() }

// Clock is the clock of the machine.
type Clock = platform.Clock

// Caller calls each handler in a goroutine of its own.
type Caller = platform.Caller

var (
	_ state.State = (*Home)(nil)
	_ state.Files = (*Files)(nil)
)
