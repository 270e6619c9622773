package local

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"southbound/shared/internal/seal"
)

// leasesDir holds issued credentials, one file for each path of a server, sealed with the key of the
// data directory.
const leasesDir = "leases"

// leases implements vault.Leases.
type leases struct{ secrets *Secrets }

// Load implements vault.Leases. A lease that this key has not sealed counts as none.
func (l leases) Load(name string) ([]byte, error) {
	path, box, err := l.of(name)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError("read lease", err)
	}
	lease, err := box.Open(context.Background(), name, b)
	if err != nil {
		return nil, nil //nolint:nilerr // another is issued
	}
	return lease, nil
}

// Save implements vault.Leases. A crash leaves the previous lease or this one.
func (l leases) Save(name string, lease []byte) error {
	path, box, err := l.of(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fileError("make directory of leases", err)
	}
	sealed, err := box.Seal(context.Background(), name, lease)
	if err != nil {
		return err
	}
	err = renameio.WriteFile(path, sealed, 0o600, renameio.WithTempDir(filepath.Dir(path)))
	if err != nil {
		return fileError("write lease", err)
	}
	return nil
}

// of returns the file of a lease, and what seals it.
func (l leases) of(name string) (path string, box seal.Box, err error) {
	key, err := l.secrets.loadedKey()
	if err != nil {
		return "", seal.Box{}, err
	}
	m := hmac.New(sha256.New, key)
	fmt.Fprint(m, "seal leases")
	own := seal.Key(m.Sum(nil))
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(l.secrets.home.Dir, leasesDir, hex.EncodeToString(sum[:16])),
		seal.Box{Keys: func(context.Context) ([]seal.Key, error) { return []seal.Key{own}, nil }}, nil
}
