// Package local is the embedded home: it implements the engine's ports on one machine. State is in an SQLite database, files are in a folder,
// by their hash, and rings are in memory. Any number of processes may use one data directory at once.
package local

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/machine"
	"southbound/shared/resource"
)

const dbName = "southbound.db"

// Home is an open data directory. It implements deploy.State. The caller has to close it.
type Home struct {
	*db
	*Bell
	Dir    string
	holder string
	lock   *os.File
	files  string
	ids    *machine.IDs

	wavesMu sync.Mutex
	waves   map[waveKey]*checkedIn
}

// Open opens the data directory dir, and makes it if it is missing. Its errors are of the kinds Foreign, Damaged, Denied and Full; with any
// of them nothing was touched.
func Open(dir string) (*Home, error) {
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	h := &Home{Dir: dir, Bell: NewBell(), files: filepath.Join(dir, "files"), waves: map[waveKey]*checkedIn{}}
	var err error
	if h.db, err = openDB(filepath.Join(dir, dbName)); err != nil {
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

// Holder returns the name under which this process holds leases.
func (h *Home) Holder() string { return h.holder }

// hold makes the lock file by which others see that this process lives: the system drops the lock when the process ends, however it ends.
func (h *Home) hold() error {
	dir := filepath.Join(h.Dir, "holders")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	h.sweepHolders(dir)
	h.ids = machine.NewIDs()
	h.holder = h.ids.Holder
	f, err := os.OpenFile(filepath.Join(dir, h.holder), os.O_CREATE|os.O_EXCL|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
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

// dead reports whether the process behind a holder is known to have ended.
func (h *Home) dead(holder string) bool {
	name, _, _ := strings.Cut(holder, "#")
	if name == h.holder {
		return false
	}
	f, err := os.Open(filepath.Join(h.Dir, "holders", filepath.Base(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
}

// NewID returns a unique id, greater than all that this process has made before and, as far as their clocks agree, that others have.
func (h *Home) NewID() string { return h.ids.NewID() }

// Clock is the clock of the machine.
type Clock = machine.Clock

// Caller calls each handler in a goroutine of its own.
type Caller = machine.Caller

// Secrets resolves secrets from the environment and from files.
type Secrets struct {
	keyFile string
	once    sync.Once
	key     []byte
	err     error
}

// Secrets returns the resolver of this home. The versions it gives to secrets are keyed hashes of their values; the key stays in the data
// directory, so that the versions tell nothing about the values to those who see only the state.
func (h *Home) Secrets() *Secrets { return &Secrets{keyFile: filepath.Join(h.Dir, "key")} }

const mostSecret = 1 << 20 // bytes

// Resolve implements deploy.Secrets.
func (s *Secrets) Resolve(_ context.Context, ref resource.Secret) (value, version string, err error) {
	scheme, name, _ := strings.Cut(ref.Source, ":")
	switch scheme {
	case "env":
		v, ok := os.LookupEnv(name)
		if !ok {
			return "", "", fault.New(fault.NotFound, "resolve secret", "the environment variable %s is not set", name)
		}
		value = v
	case "file":
		if value, err = readSecret(name); err != nil {
			return "", "", err
		}
	default:
		return "", "", fault.New(fault.Unsupported, "resolve secret", "secrets of %q cannot be read on one machine", scheme).
			WithHint("use env:NAME or file:PATH; ssm and secretsmanager are for the AWS home")
	}
	version, err = s.version(ref.Source, value)
	return value, version, err
}

func readSecret(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the author names the file
	if err != nil {
		kind := fault.Unavailable
		if errors.Is(err, fs.ErrNotExist) {
			kind = fault.NotFound
		} else if errors.Is(err, fs.ErrPermission) {
			kind = fault.Denied
		}
		return "", fault.Wrap(kind, "resolve secret", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostSecret+1))
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, "resolve secret", err)
	}
	if len(b) > mostSecret {
		return "", fault.New(fault.Invalid, "resolve secret", "%s is larger than %d bytes", path, mostSecret)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"), nil
}

func (s *Secrets) version(source, value string) (string, error) {
	s.once.Do(func() { s.key, s.err = loadKey(s.keyFile) })
	if s.err != nil {
		return "", fileError("read key of data directory", s.err)
	}
	m := hmac.New(sha256.New, s.key)
	fmt.Fprintf(m, "%s\n%s", source, value)
	return hex.EncodeToString(m.Sum(nil)[:16]), nil
}

// loadKey reads the key of the data directory. If there is none it makes one; of several processes the first to link its file wins.
func loadKey(path string) ([]byte, error) {
	for {
		key, err := os.ReadFile(path) //nolint:gosec // in the data directory
		if err == nil && len(key) == 32 {
			return key, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			return nil, fault.New(fault.Damaged, "", "%s is damaged", path).
				WithHint("restore it from a copy, or remove it: then secrets count as changed once")
		}
		if err := makeKey(path); err != nil {
			return nil, err
		}
	}
}

// makeKey writes a new key, unless another process is faster. It is on the disk before it has its name.
func makeKey(path string) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	f, err := os.CreateTemp(filepath.Dir(path), dbName+"-key-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has another name by then
	_, err = f.Write(key)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func noSpace(err error) bool  { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

var (
	_ deploy.State = (*Home)(nil)
	_ deploy.Files = (*Files)(nil)
)
