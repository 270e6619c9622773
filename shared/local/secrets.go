package local

import (
	"cmp"
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

	"southbound/shared/fault"
	"southbound/shared/internal/secretsource/command"
	"southbound/shared/internal/secretsource/sops"
	"southbound/shared/internal/secretsource/vault"
)

// Secrets resolves the secrets of this machine. It implements state.Secrets and
// state.SecretVersions. Any number of goroutines may use it.
type Secrets struct {
	home    *Home  // nil: versions are unknown
	keyFile string // of the home
	once    sync.Once
	key     []byte
	err     error
	memory  memory
	command command.Reader
	sops    sops.Reader
	vault   vault.Reader
}

// Secrets returns the resolver of this home. The versions of secrets are keyed hashes of their
// values. The key stays in the data directory, so a reader of the state alone learns nothing about
// the values from the versions.
func (h *Home) Secrets() *Secrets {
	return newSecrets(h, filepath.Join(h.Dir, "key"))
}

// newSecrets returns a resolver. Without a home, versions are unknown.
func newSecrets(h *Home, keyFile string) *Secrets {
	s := &Secrets{home: h, keyFile: keyFile, sops: sops.Reader{File: readSecret}}
	if h != nil {
		s.vault.Leases = leases{s}
	}
	return s
}

const maxSecret = 1 << 20 // bytes

func readVariable(name string) (string, error) {
	v, ok := os.LookupEnv(name)
	if !ok {
		return "", fault.New(fault.NotFound, "resolve secret",
			"the environment variable %s is not set", name)
	}
	return v, nil
}

func readSecret(name string) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, "resolve secret", err)
	}
	value, err := readSecretAt(path)
	if err == nil || filepath.IsAbs(name) {
		return value, err
	}
	return "", &fault.Error{Kind: fault.KindOf(err), Hint: cmp.Or(fault.HintOf(err),
		"name the whole path"), Err: fmt.Errorf("%w (%s is relative to the directory in which the "+
		"program runs)", err, name)}
}

func readSecretAt(path string) (string, error) {
	switch info, err := os.Stat(path); {
	case err != nil:
	case info.IsDir():
		return "", fault.New(fault.Invalid, "resolve secret", "%s is a directory", path).
			WithHint("name a file")
	case info.Mode()&fs.ModeNamedPipe != 0 && !handedOn(path):
		return "", fault.New(fault.Invalid, "resolve secret", "%s is a named pipe, and no program may "+
			"ever write to it", path).WithHint("name a file")
	}
	f, err := os.Open(path)
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
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, "resolve secret", err)
	}
	if len(b) > maxSecret {
		return "", fault.New(fault.Invalid, "resolve secret", "%s is larger than %d bytes", path,
			maxSecret)
	}
	return string(b), nil
}

// handedOn reports whether a path is a descriptor of this process. If that descriptor is a pipe, a
// shell has passed it on and writes to it.
func handedOn(path string) bool {
	return path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") ||
		strings.HasPrefix(path, "/proc/self/fd/")
}

// ID identifies this home, independent of the path to it. A copy of the data directory has the same
// ID.
func (h *Home) ID() (string, error) { return h.Secrets().version("home", "") }

// TakeKey copies the key of the data directory dir to this home, which must not have a key yet. The
// versions of secrets are then the same in both. TakeKey creates dir and its key if they do not
// exist.
func (h *Home) TakeKey(dir string) error {
	if err := checkDir(dir); err != nil {
		return err
	}
	key, err := loadKey(filepath.Join(dir, "key"))
	if err != nil {
		return dirError(dir, err)
	}
	if err := os.WriteFile(filepath.Join(h.Dir, "key"), key, 0o600); err != nil {
		return dirError(h.Dir, err)
	}
	return nil
}

func (s *Secrets) version(source, value string) (string, error) {
	key, err := s.loadedKey()
	if err != nil {
		return "", err
	}
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s\n%s", source, value)
	return hex.EncodeToString(m.Sum(nil)[:16]), nil
}

// loadedKey returns the key of the data directory.
func (s *Secrets) loadedKey() ([]byte, error) {
	s.once.Do(func() { s.key, s.err = loadKey(s.keyFile) })
	if s.err != nil {
		return nil, fileError("read key of data directory", s.err)
	}
	return s.key, nil
}

// loadKey reads the key of the data directory, and creates it if it is missing. If several
// processes create a key, the first one to link its file wins.
func loadKey(path string) ([]byte, error) {
	for {
		key, err := os.ReadFile(path)
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

// makeKey writes a new key, unless another process does so first. The key is synced to disk before
// it gets its name.
func makeKey(path string) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	f, err := os.CreateTemp(filepath.Dir(path), dbName+"-key-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // the key has another name by then
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
