package planner

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sync"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Contents remembers of the versions that were made or added to last what an export that only adds
// to one has to know of all of its resources. It never lies, as it goes by the digest of a version.
type Contents struct {
	mu       sync.Mutex
	byDigest map[string]*contents
}

// Bounds of what is remembered.
const (
	maxContents = 4
	maxKnown    = 200_000 // resources of a version
	maxMore     = 64      // marks beside those of the base
)

// NewContents returns a memory that is empty.
func NewContents() *Contents { return &Contents{byDigest: map[string]*contents{}} }

// contents is what is known of a version, and stored with it: see docs/design/export.md. It is
// immutable.
type contents struct {
	sums [][sha256.Size]byte // of the texts of its chunks
	base marks
	file string // the file that base is stored in; "": it is empty
	made bool   // the base was made now, and may not be stored
	more marks
}

// marks are hashes of what resources stand for and are related to, ascending and each once. That
// two things have one mark only has an export read more.
type marks []uint64

func (c marks) have(mark uint64) bool {
	_, found := slices.BinarySearch(c, mark)
	return found
}

// standsFor returns the mark of a thing that a resource stands for.
func standsFor(t model.Thing) uint64 { return markOf("thing", t.Space, t.Agent, t.Name) }

// relatesTo returns the mark of a resource to which others are related by their types.
func relatesTo(id resource.ID) uint64 { return markOf("related", string(id)) }

func markOf(texts ...string) uint64 {
	h := fnv.New64a()
	for _, s := range texts {
		_, _ = h.Write(append([]byte(s), 0))
	}
	return h.Sum64()
}

// marksOf returns what resources are and are related to.
func marksOf(c *model.Checker, some []resource.Resource) marks {
	var out marks
	for i := range some {
		if of, is := c.ThingOf(&some[i]); is {
			out = append(out, standsFor(of))
		}
		for _, to := range c.Related(&some[i]) {
			out = append(out, relatesTo(to.ID))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// concerns reports whether a resource that is added may concern one that is there.
func (x *contents) concerns(c *model.Checker, r *resource.Resource) bool {
	has := func(mark uint64) bool { return x.base.have(mark) || x.more.have(mark) }
	of, is := c.ThingOf(r)
	return is && has(standsFor(of)) || has(relatesTo(r.ID))
}

// contentsOf returns what there is to know of a version; nil if what is added to it may concern
// more than itself: references that may come to something else, and what is completed from others.
// If was, which may be nil, has the same marks, its base is used again.
func contentsOf(
	c *model.Checker, resources []resource.Resource, sums [][sha256.Size]byte, was *contents,
) *contents {
	if len(resources) > maxKnown {
		return nil
	}
	for i := range resources {
		if !known(&resources[i]) || c.Gathers(&resources[i]) {
			return nil
		}
	}
	all := marksOf(c, resources)
	if was != nil && slices.Equal(all, was.all()) {
		return &contents{sums: sums, base: was.base, file: was.file, more: was.more}
	}
	return (&contents{sums: sums, more: all}).folded()
}

// with returns the contents with more resources, whose chunks have these sums.
func (x *contents) with(
	c *model.Checker, some []resource.Resource, sums [][sha256.Size]byte,
) *contents {
	more := slices.Concat(x.more, marksOf(c, some))
	slices.Sort(more)
	return (&contents{sums: sums, base: x.base, file: x.file, more: slices.Compact(more)}).folded()
}

// all returns the marks of all resources.
func (x *contents) all() marks {
	all := slices.Concat(x.base, x.more)
	slices.Sort(all)
	return slices.Compact(all)
}

// folded returns the contents with all marks in the base, if there are many beside it.
func (x *contents) folded() *contents {
	if len(x.more) <= maxMore {
		return x
	}
	out := &contents{sums: x.sums, base: x.all(), made: true}
	out.file = out.blob().Hash
	return out
}

// blob returns the file of the base.
func (x *contents) blob() state.Blob { return version.FileOf(x.base.encode()) }

func (c marks) encode() []byte {
	b := make([]byte, 0, len(c)*8)
	for _, mark := range c {
		b = binary.BigEndian.AppendUint64(b, mark)
	}
	return b
}

// decodeMarks reads what encode has written; false if it is something else.
func decodeMarks(b []byte) (marks, bool) {
	out := make(marks, 0, len(b)/8)
	for one := range slices.Chunk(b, 8) {
		if len(one) < 8 {
			return nil, false
		}
		out = append(out, binary.BigEndian.Uint64(one))
	}
	return out, slices.IsSorted(out)
}

// stored returns the contents as they are stored with a version.
func (x *contents) stored(by string) *state.Contents {
	return &state.Contents{By: by, Sums: bytesOf(x.sums), Base: x.file, More: x.more.encode()}
}

func bytesOf(sums [][sha256.Size]byte) []byte {
	out := make([]byte, 0, len(sums)*sha256.Size)
	for i := range sums {
		out = append(out, sums[i][:]...)
	}
	return out
}

// relates says by which program and which types resources are related here; "": that is not known.
// What others have stored of a version is not used.
func (pl *Config) relates() string {
	if pl.Pack == "" {
		return ""
	}
	return pl.Pack + "-" + pl.Types.Digest()
}

// readContents returns what is known of a version, from memory or as it is stored with it; nil if
// that is nothing.
func (pl *Config) readContents(ctx context.Context, v *state.Version) (*contents, error) {
	if x := pl.Contents.get(v.Digest); x != nil {
		return x, nil
	}
	of := v.Contents
	if of == nil || of.By == "" || of.By != pl.relates() ||
		len(of.Sums) != len(v.Chunks)*sha256.Size {
		return nil, nil
	}
	x := &contents{file: of.Base, sums: make([][sha256.Size]byte, len(v.Chunks))}
	for i := range x.sums {
		copy(x.sums[i][:], of.Sums[i*sha256.Size:])
	}
	if of.Base != "" {
		blobs, err := pl.Files.Get(ctx, []string{of.Base})
		if state.Unreadable(err) {
			return nil, nil // the next one that reads the whole stores it anew
		}
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read what is known of version", err)
		}
		var whole bool
		if x.base, whole = decodeMarks(blobs[0]); !whole {
			return nil, nil
		}
	}
	var whole bool
	if x.more, whole = decodeMarks(of.More); !whole ||
		version.Digest(version.SumsDigest(x.sums), v.Agents) != v.Digest {
		return nil, nil
	}
	pl.Contents.keep(v.Digest, x)
	return x, nil
}

func (c *Contents) get(digest string) *contents {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byDigest[digest]
}

// keep remembers what is known of a version. Few are in use at a time, so the memory is simply
// emptied when it is full.
func (c *Contents) keep(digest string, known *contents) {
	if c == nil || known == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byDigest) >= maxContents {
		clear(c.byDigest)
	}
	c.byDigest[digest] = known
}
