package local

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/seal"
	"southbound/shared/resource"
)

// stateKey is the file with the key of kept states, beside the database.
const stateKey = "state.key"

// Sealer returns the sealer of this home. references, separated by spaces, name secrets that hold
// keys: the first one seals, all of them open. Without references, the key is in a file beside the
// database, which the first state creates. That file opens states in any case.
func (h *Home) Sealer(secrets state.Secrets, references string) state.Sealer {
	k := &stateKeys{path: filepath.Join(h.Dir, stateKey), secrets: secrets,
		references: strings.Fields(references)}
	return seal.Ring{Keys: k.get}
}

// stateKeys reads the keys of kept states once.
type stateKeys struct {
	path       string
	secrets    state.Secrets
	references []string

	mu   sync.Mutex
	keys []seal.Key
}

func (k *stateKeys) get(ctx context.Context) ([]seal.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.keys) > 0 {
		return k.keys, nil
	}
	var keys []seal.Key
	for _, ref := range k.references {
		text, _, err := k.secrets.Resolve(ctx, resource.Secret{Source: ref})
		if err != nil {
			return nil, fault.Wrap(fault.KindOf(err), "read SOUTHBOUND_STATE_KEY", err)
		}
		key, err := seal.ParseKey(text)
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, "read SOUTHBOUND_STATE_KEY: "+ref, err)
		}
		keys = append(keys, key)
	}
	key, err := k.file(len(keys) == 0)
	switch {
	case err == nil:
		keys = append(keys, key)
	case fault.Is(err, fault.Damaged):
		return nil, err
	case len(keys) == 0 || !errors.Is(err, fs.ErrNotExist):
		return nil, dirError(filepath.Dir(k.path), err)
	}
	k.keys = keys
	return keys, nil
}

// file reads the key in the file, and creates the file if it is missing and create is set.
func (k *stateKeys) file(create bool) (seal.Key, error) {
	raw, err := os.ReadFile(k.path)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err = makeKey(k.path); err == nil { // or another process has
			raw, err = os.ReadFile(k.path)
		}
	}
	if err == nil && len(raw) != seal.KeySize {
		err = fault.New(fault.Damaged, "", "%s is damaged", k.path).
			WithHint("restore it from a backup: without it, the states that handlers keep are lost")
	}
	if err != nil {
		return seal.Key{}, err
	}
	return seal.Key(raw), nil
}
