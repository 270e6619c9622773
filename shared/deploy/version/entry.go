package version

import (
	"bytes"
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/parallel"
	"southbound/shared/resource"
)

// Entry is one resource of a version.
type Entry struct {
	ID   resource.ID
	Hash string
	Body []byte
}

// Same reports whether two entries of a resource are equal.
func (en *Entry) Same(o *Entry) bool { return en.Hash == o.Hash && bytes.Equal(en.Body, o.Body) }

// size returns how many bytes the line of an entry has.
func (en *Entry) size() int { return len(en.Hash) + len(en.Body) + len("\t\n") }

// write writes the line of an entry.
func (en *Entry) write(to *bytes.Buffer) {
	to.WriteString(en.Hash)
	to.WriteByte('\t')
	to.Write(en.Body)
	to.WriteByte('\n')
}

// HasReferences reports whether an entry of a version refers to a parameter, a fact or a secret
// output.
func (en *Entry) HasReferences() bool {
	return bytes.Contains(en.Body, []byte(`"parameter":`)) ||
		bytes.Contains(en.Body, []byte(`"fact":`)) ||
		bytes.Contains(en.Body, []byte(`"secret":"output:`))
}

// SortedEntries returns entries in order of id.
func SortedEntries(byID map[resource.ID]Entry) []Entry {
	entries := make([]Entry, 0, len(byID))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		entries = append(entries, byID[id])
	}
	return entries
}

// NewEntry returns the entry of a resource at an agent, with values of facts if it has any.
func NewEntry(r *resource.Resource, a resource.Agent) (Entry, error) {
	hash, err := r.Hash(a)
	if err != nil {
		return Entry{}, err
	}
	body, err := r.Encode()
	return Entry{ID: r.ID, Hash: hash, Body: body}, err
}

// NewEntries returns the entries of resources as a version has them, sorted by id. If known, which may be nil, returns the
// entry of a resource, that entry is used; known is called concurrently.
func NewEntries(resources []resource.Resource, agents map[string]resource.Agent,
	known func(*resource.Resource, resource.Agent) (Entry, bool),
) ([]Entry, error) {
	entries := make([]Entry, len(resources))
	errs := make([]error, len(resources))
	parallel.For(len(resources), func(i int) {
		r := &resources[i]
		is := false
		if known != nil {
			entries[i], is = known(r, agents[r.Agent])
		}
		if !is {
			entries[i], errs[i] = NewEntry(r.Written(), agents[r.Agent])
		}
	})
	for i, err := range errs {
		if err != nil {
			return nil, diag.Problems{{Resource: string(resources[i].ID), Message: err.Error()}}
		}
	}
	slices.SortFunc(entries, compareEntries)
	return entries, nil
}

// DecodeAll returns the resources of entries, in their order.
func DecodeAll(entries []Entry) ([]*resource.Resource, error) {
	out, errs := make([]*resource.Resource, len(entries)), make([]error, len(entries))
	parallel.For(len(entries), func(i int) { out[i], errs[i] = resource.Decode(entries[i].Body) })
	for _, err := range errs {
		if err != nil {
			return nil, fault.Wrap(fault.Damaged, "read version", err)
		}
	}
	return out, nil
}
