package local

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"southbound/shared/fault"
)

// leasesDir holds issued credentials, one file for each path of a server, sealed with the key of the
// data directory.
const leasesDir = "leases"

// leases implements vault.Leases.
type leases struct{ secrets *Secrets }

// Load implements vault.Leases. A lease that this key has not sealed counts as none.
func (l leases) Load(name string) ([]byte, error) {
	path, seal, err := l.of(name)
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
	lease, err := seal.Open(nil, nil, b, []byte(name))
	if err != nil {
		return nil, nil //nolint:nilerr // another is issued
	}
	return lease, nil
}

// Save implements vault.Leases. A crash leaves the previous lease or this one.
func (l leases) Save(name string, lease []byte) error {
	path, seal, err := l.of(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fileError("make directory of leases", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return fileError("write lease", err)
	}
	defer os.Remove(f.Name())                                  // it has another name by then
	_, err = f.Write(seal.Seal(nil, nil, lease, []byte(name))) //nolint:gosec // it makes its nonce itself
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fileError("write lease", err)
	}
	return nil
}

// of returns the file of a lease, and what seals it.
func (l leases) of(name string) (path string, seal cipher.AEAD, err error) {
	key, err := l.secrets.loadedKey()
	if err != nil {
		return "", nil, err
	}
	m := hmac.New(sha256.New, key)
	fmt.Fprint(m, "seal leases")
	block, err := aes.NewCipher(m.Sum(nil))
	if err == nil {
		seal, err = cipher.NewGCMWithRandomNonce(block)
	}
	if err != nil {
		return "", nil, fault.Wrap(fault.Internal, "seal lease", err)
	}
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(l.secrets.home.Dir, leasesDir, hex.EncodeToString(sum[:16])), seal, nil
}
