package version

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Listing has the ids of the resources of a version, in order, and their sets. Chunks are in the
// order of a hash, so a page in order of id is found in a listing. It is immutable.
type Listing struct {
	IDs  []resource.ID
	sets []string
	set  []int32 // by resource: index into sets
}

// Set returns the resource set of the resource with an index.
func (l *Listing) Set(i int) string { return l.sets[l.set[i]] }

// chunksAtOnce is how many chunks are read at a time.
const chunksAtOnce = 64

// eachEntry calls f for the lines of chunks: the id and the encoded resource, which shares the
// memory of its chunk.
func eachEntry(
	ctx context.Context, files state.Files, chunks []string, f func(id resource.ID, body []byte) error,
) error {
	for hashes := range slices.Chunk(chunks, chunksAtOnce) {
		texts, err := ReadTexts(ctx, files, hashes)
		if err != nil {
			return err
		}
		for i, text := range texts {
			for line := range bytes.Lines(text) {
				_, body, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
				id := encodedID(body)
				if id == "" {
					return DamagedChunk(hashes[i])
				}
				if err := f(id, body); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// encodedID returns the id of an encoded resource, without decoding the resource; "" if there is none.
// Attributes come before the id, and no member with members of its own after it; and inside a
// string, a backslash precedes each quote.
func encodedID(body []byte) resource.ID {
	const member = `,"id":"`
	from := bytes.LastIndex(body, []byte(member))
	if from < 0 {
		return ""
	}
	text := body[from+len(member):]
	if end := bytes.IndexByte(text, '"'); end >= 0 && bytes.IndexByte(text[:end], '\\') < 0 {
		return resource.ID(text[:end])
	}
	r, err := resource.Decode(body)
	if err != nil {
		return ""
	}
	return r.ID
}

// readListing reads the listing of a version. It decodes no resource.
func readListing(ctx context.Context, files state.Files, chunks []string) (*Listing, error) {
	type entry struct {
		id  resource.ID
		set int32
	}
	l, number := &Listing{}, map[string]int32{}
	var all []entry
	err := eachEntry(ctx, files, chunks, func(id resource.ID, body []byte) error {
		set := resource.SetOf(body)
		n, known := number[set]
		if !known {
			n = int32(len(l.sets)) // a version has far fewer sets
			number[set] = n
			l.sets = append(l.sets, set)
		}
		all = append(all, entry{id, n})
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	l.IDs, l.set = make([]resource.ID, len(all)), make([]int32, len(all))
	for i := range all {
		l.IDs[i], l.set[i] = all[i].id, all[i].set
	}
	return l, nil
}

// ReadResources returns resources of a version, in the order of their ids. Each chunk is read once.
// It returns NotFound for an id that the version does not have.
func ReadResources(
	ctx context.Context, files state.Files, chunks []string, ids []resource.ID,
) ([]resource.Resource, error) {
	at, of := make(map[resource.ID]int, len(ids)), map[string]bool{}
	for i, id := range ids {
		at[id] = i
		if len(chunks) > 0 {
			of[chunks[ChunkOf(id, len(chunks))]] = true
		}
	}
	out := make([]resource.Resource, len(ids))
	err := eachEntry(ctx, files, slices.Sorted(maps.Keys(of)), func(id resource.ID, body []byte) error {
		i, wanted := at[id]
		if !wanted {
			return nil
		}
		r, err := resource.Decode(body)
		if err != nil {
			return fault.Wrap(fault.Damaged, "read version", err)
		}
		out[i] = *r
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].ID == "" {
			return nil, fault.New(fault.NotFound, "read version", "there is no resource %s", ids[i])
		}
	}
	return out, nil
}

// maxListings is how many listings a cache keeps, and maxListed is the number of resources up to
// which it keeps one.
const maxListings, maxListed = 2, 500_000

// Listings reads listings, and caches those read last. Versions are immutable, so the cache cannot
// be outdated.
type Listings struct {
	files state.Files
	mu    sync.Mutex
	kept  []keptListing // the last one was used last
}

type keptListing struct {
	chunks []string
	*Listing
}

// NewListings returns an empty cache.
func NewListings(files state.Files) *Listings { return &Listings{files: files} }

// Get returns the listing of a version, which the caller must not change.
func (c *Listings) Get(ctx context.Context, v *state.Version) (*Listing, error) {
	c.mu.Lock()
	defer c.mu.Unlock() // of several requests for one version, one reads it
	of := func(k keptListing) bool { return slices.Equal(k.chunks, v.Chunks) }
	if i := slices.IndexFunc(c.kept, of); i >= 0 {
		k := c.kept[i]
		c.kept = append(slices.Delete(c.kept, i, i+1), k)
		return k.Listing, nil
	}
	l, err := readListing(ctx, c.files, v.Chunks)
	if err == nil && len(l.IDs) <= maxListed {
		c.kept = append(c.kept, keptListing{v.Chunks, l})
		c.kept = c.kept[max(len(c.kept)-maxListings, 0):]
	}
	return l, err
}
