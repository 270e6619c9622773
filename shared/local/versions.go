package local

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
)

// A version names all of its sets, which are as many as there are instances of services, and it is
// read several times by each export. It never changes, and no other one gets its number, so one
// that was read or written before is not decoded again, as long as it is stored. Its sets are not
// copied for whoever reads it: they are not to be changed.

// maxVersions is how many versions a process remembers.
const maxVersions = 4

// knownVersions remembers versions that were read.
type knownVersions struct {
	mu    sync.Mutex
	byKey map[versionKey]knownVersion
}

type versionKey struct {
	env    string
	number int
}

// knownVersion is a version but for its agents, which are kept as they are stored: whoever gets
// them may change their values.
type knownVersion struct {
	state.Version
	agents string
}

// get returns a version as if it were read.
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

// setsOf returns the sets of a version that is known. They are not to be changed.
func (k *knownVersions) setsOf(key versionKey) (sets []string, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	have, known := k.byKey[key]
	return have.Sets, known
}

// keep remembers a version. Few are read again, so the memory is simply emptied when it is full.
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

// written remembers a version that was stored, as it is read.
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
			err := query(c, all, func(s *sqlite.Stmt) error {
				var v state.Version
				err := unseal(s.ColumnText(0), &v, "versions", env, s.ColumnText(1))
				out = append(out, v)
				return err
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
		err := query(c, exists, func(*sqlite.Stmt) error {
			there = true
			return nil
		}, key.env, key.number)
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
