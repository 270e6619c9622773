package local

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
)

// A version lists all of its sets, which are as many as there are instances of services, and each
// export reads the version several times. A version never changes, and its number is never reused.
// So a version that was read or written before is cached while it is stored, and not decoded again.
// Readers share its sets and must not change them.

// maxVersions is the maximum number of versions that a process caches.
const maxVersions = 4

// knownVersions is a cache of versions.
type knownVersions struct {
	mu    sync.Mutex
	byKey map[versionKey]knownVersion
}

type versionKey struct {
	env    string
	number int
}

// knownVersion is a cached version. Its agents are kept encoded, since readers may change the
// values of their agents.
type knownVersion struct {
	state.Version
	agents string
}

// get returns a cached version, as if it were read from the database.
func (k *knownVersions) get(key versionKey) (v state.Version, known bool, err error) {
	k.mu.Lock()
	have, known := k.byKey[key]
	k.mu.Unlock()
	if !known {
		return v, false, nil
	}
	v = have.Version
	v.Chunks, v.Files = slices.Clone(v.Chunks), slices.Clone(v.Files)
	return v, true, fromJSON(have.agents, &v.Agents)
}

// setsOf returns the sets of a cached version. Callers must not change them.
func (k *knownVersions) setsOf(key versionKey) (sets []string, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	have, known := k.byKey[key]
	return have.Sets, known
}

// keep caches a version. Few versions are read again, so the cache is cleared when it is full.
func (k *knownVersions) keep(key versionKey, v state.Version) {
	have := knownVersion{v, toJSON(v.Agents)}
	have.Agents = nil
	have.Chunks, have.Sets, have.Files = slices.Clone(v.Chunks), slices.Clip(v.Sets),
		slices.Clone(v.Files)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byKey == nil || len(k.byKey) >= maxVersions {
		k.byKey = map[versionKey]knownVersion{}
	}
	k.byKey[key] = have
}

// written caches a stored version in the form in which it would be read.
func (k *knownVersions) written(key versionKey, v state.Version) {
	lists := v
	v.Chunks, v.Sets, v.Files, v.Contents = nil, nil, nil, nil
	var read state.Version
	if fromJSON(toJSON(v), &read) != nil {
		return
	}
	read.Chunks, read.Files, read.Contents = lists.Chunks, lists.Files, lists.Contents
	if len(lists.Sets) > 0 {
		read.Sets = lists.Sets
	}
	k.keep(key, read)
}

// Versions implements state.State.
func (h *Home) Versions(ctx context.Context, env string, numbers ...int) ([]state.Version, error) {
	var out []state.Version
	err := h.read(ctx, "read versions", func(c *sqlite.Conn) error {
		if len(numbers) == 0 {
			const all = "SELECT record, number FROM versions WHERE env = ? ORDER BY number"
			var err error
			out, err = list(c, all, func(s *sqlite.Stmt) (v state.Version, err error) {
				err = unseal(s.ColumnText(0), &v, "versions", env, s.ColumnText(1))
				return v, err
			}, env)
			for i := 0; i < len(out) && err == nil; i++ {
				err = readSets(c, env, &out[i])
			}
			return err
		}
		for _, n := range numbers {
			v, there, err := h.version(c, versionKey{env, n})
			if err != nil {
				return err
			}
			if there {
				out = append(out, v)
			}
		}
		return nil
	})
	return out, err
}

// version reads a version.
func (h *Home) version(c *sqlite.Conn, key versionKey) (v state.Version, there bool, err error) {
	v, known, err := h.versions.get(key)
	if err != nil {
		return v, false, err
	}
	if known {
		const exists = "SELECT 1 FROM versions WHERE env = ? AND number = ?"
		there, err = one(c, exists, present, key.env, key.number)
		return v, there, err
	}
	const one = "SELECT record FROM versions WHERE env = ? AND number = ?"
	err = query(c, one, func(s *sqlite.Stmt) error {
		there = true
		return unseal(s.ColumnText(0), &v, "versions", key.env, strconv.Itoa(key.number))
	}, key.env, key.number)
	if there && err == nil {
		if err = readSets(c, key.env, &v); err != nil {
			return v, there, err
		}
		h.versions.keep(key, v)
	}
	return v, there, err
}
