package version

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"sync"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// ContentsCache caches data about the most recently made or changed versions: the data about all
// resources of a version that an export of some sets needs. It cannot be outdated, since its key is
// the digest of a version.
type ContentsCache struct {
	mu       sync.Mutex
	byDigest map[string]*Contents
}

// Bounds of the cache.
const (
	maxContents = 4
	maxKnown    = 200_000 // resources of a version
	maxMore     = 256     // marks in addition to the base, and removed ones of the base
)

// NewContentsCache returns an empty cache.
func NewContentsCache() *ContentsCache { return &ContentsCache{byDigest: map[string]*Contents{}} }

// Contents is the cached data about a version, which is also stored with it: see
// docs/design/export.md. It is immutable. Its marks are those of base and more without those of
// less.
type Contents struct {
	Sums [][sha256.Size]byte // of the texts of its chunks
	base Marks
	file string // the file that base is stored in; "": it is empty
	made bool   // the base was created by this export, and may not be stored
	more Marks
	less Marks
}

// Marks are hashes of the things, relations, file references and sets of resources, ascending. Each
// occurs as often as there are resources that have it. If two facts share a mark, an export only
// reads more than it needs.
type Marks []uint64

// count returns how often a mark occurs.
func (c Marks) count(mark uint64) int {
	at, found := slices.BinarySearch(c, mark)
	if !found {
		return 0
	}
	after, _ := slices.BinarySearch(c[at:], mark+1)
	if mark == math.MaxUint64 {
		after = len(c) - at
	}
	return after
}

// without returns left, the marks without others, each of which removes one occurrence. It also
// returns rest, the others that had no occurrence.
func (c Marks) without(others Marks) (left, rest Marks) {
	left = make(Marks, 0, len(c))
	for _, mark := range c {
		for len(others) > 0 && others[0] < mark {
			rest, others = append(rest, others[0]), others[1:]
		}
		if len(others) > 0 && others[0] == mark {
			others = others[1:]
		} else {
			left = append(left, mark)
		}
	}
	return left, append(rest, others...)
}

// with returns the union of marks and others, with all occurrences.
func (c Marks) with(others Marks) Marks {
	all := slices.Concat(c, others)
	slices.Sort(all)
	return all
}

// StandsFor returns the mark of a thing that a resource manages.
func StandsFor(t model.Thing) uint64 { return markOf("thing", t.Space, t.Target, t.Name) }

// WholeOf returns the mark of a thing that a resource describes as a whole.
func WholeOf(t model.Thing) uint64 { return markOf("whole", t.Space, t.Target, t.Name) }

// PartOf returns the mark of a thing that a resource changes a part of.
func PartOf(t model.Thing) uint64 { return markOf("part", t.Space, t.Target, t.Name) }

// RelatesTo returns the mark of a resource to which another one is related by its type.
func RelatesTo(id resource.ID) uint64 { return markOf("related", string(id)) }

// TiedTo returns the mark of a resource to which another one is related by its type in another way
// than by requiring it.
func TiedTo(id resource.ID) uint64 { return markOf("tied", string(id)) }

// RefersTo returns the mark of a file that a resource refers to.
func RefersTo(hash string) uint64 { return markOf("file", hash) }

// IsIn returns the mark of a set that has a resource in a chunk.
func IsIn(set string, chunk int) uint64 { return markOf("set", set, strconv.Itoa(chunk)) }

func markOf(texts ...string) uint64 {
	h := fnv.New64a()
	for _, s := range texts {
		_, _ = h.Write(append([]byte(s), 0))
	}
	return h.Sum64()
}

// MarksOf returns the marks of some resources of a version with a number of chunks.
func MarksOf(
	c *model.Checker, targets model.Targets, some []*resource.Resource, chunks int,
) Marks {
	var out Marks
	for _, r := range some {
		names, shared := c.ThingsOf(r, targets)
		if shared {
			names = nil
		}
		for _, of := range names {
			out = append(out, StandsFor(of))
			if all, _ := c.DescribesAll(r); all {
				out = append(out, WholeOf(of))
			}
		}
		if of, is := c.PartOf(r, targets); is {
			out = append(out, PartOf(of))
		}
		for _, to := range c.Related(r) {
			out = append(out, RelatesTo(to.ID))
			if to.Kind != schema.Require {
				out = append(out, TiedTo(to.ID))
			}
		}
		for _, hash := range FilesOf(r) {
			out = append(out, RefersTo(hash))
		}
		if r.Set != "" {
			out = append(out, IsIn(r.Set, ChunkOf(r.ID, chunks)))
		}
	}
	slices.Sort(out)
	return out
}

// FilesOf returns the files that a resource refers to.
func FilesOf(r *resource.Resource) []string {
	var out []string
	for _, v := range r.Attributes {
		for _, ref := range resource.References(v) {
			if f, is := ref.(resource.File); is {
				out = append(out, f.Hash)
			}
		}
	}
	return out
}

// Has reports whether a resource has a mark.
func (x *Contents) Has(mark uint64) bool {
	return x.base.count(mark)+x.more.count(mark) > x.less.count(mark)
}

// ContentsOf returns the contents of a version. It returns nil if the version is too large, or if
// it has resources that are completed from other resources: then a change may affect resources of
// other sets. If was, which may be nil, has the same marks, its base is reused.
func ContentsOf(
	c *model.Checker, targets model.Targets, resources []resource.Resource,
	sums [][sha256.Size]byte, was *Contents,
) *Contents {
	if len(resources) > maxKnown {
		return nil
	}
	some := make([]*resource.Resource, len(resources))
	for i := range resources {
		if some[i] = &resources[i]; c.Gathers(some[i]) {
			return nil
		}
	}
	all := MarksOf(c, targets, some, len(sums))
	if was != nil && slices.Equal(all, was.all()) {
		return &Contents{
			Sums: sums, base: was.base, file: was.file, more: was.more, less: was.less,
		}
	}
	return (&Contents{Sums: sums, more: all}).Folded()
}

// Changed returns the contents with the marks more and without the marks gone, all of which it has;
// nil if x is nil.
func (x *Contents) Changed(gone, more Marks) *Contents {
	if x == nil {
		return nil
	}
	left, rest := x.more.with(more).without(gone)
	less := x.less.with(rest)
	left, less = left.without(less)
	return &Contents{Sums: x.Sums, base: x.base, file: x.file, more: left, less: less}
}

// all returns the marks of all resources.
func (x *Contents) all() Marks {
	all, _ := x.base.with(x.more).without(x.less)
	return all
}

// Folded returns the contents with all marks in the base, if more and less have many.
func (x *Contents) Folded() *Contents {
	if len(x.more)+len(x.less) <= maxMore {
		return x
	}
	out := &Contents{Sums: x.Sums, base: x.all(), made: true}
	out.file = out.blob().Hash
	return out
}

// blob returns the file of the base.
func (x *Contents) blob() state.Blob { return FileOf(x.base.encode()) }

func (c Marks) encode() []byte {
	b := make([]byte, 0, len(c)*8)
	for _, mark := range c {
		b = binary.BigEndian.AppendUint64(b, mark)
	}
	return b
}

// decodeMarks is the inverse of encode; false if b is not the result of encode.
func decodeMarks(b []byte) (Marks, bool) {
	out := make(Marks, 0, len(b)/8)
	for one := range slices.Chunk(b, 8) {
		if len(one) < 8 {
			return nil, false
		}
		out = append(out, binary.BigEndian.Uint64(one))
	}
	return out, slices.IsSorted(out)
}

// Stored returns the contents as the program by stores them with a version. It also returns the file
// that has to be stored as well, unless the contents of the previous version, which may be nil, name it.
func (x *Contents) Stored(by string, was *state.Contents) (*state.Contents, []state.Blob) {
	out := &state.Contents{By: by, Sums: bytesOf(x.Sums), Base: x.file, More: x.more.encode(),
		Less: x.less.encode()}
	if x.made || x.file != "" && (was == nil || was.Base != x.file) {
		return out, []state.Blob{x.blob()}
	}
	return out, nil
}

func bytesOf(sums [][sha256.Size]byte) []byte {
	out := make([]byte, 0, len(sums)*sha256.Size)
	for i := range sums {
		out = append(out, sums[i][:]...)
	}
	return out
}

// ReadContents returns the contents of a version as they are stored with it; nil if there are none, or
// the program that stored them, by, is another one.
func ReadContents(
	ctx context.Context, files state.Files, v *state.Version, by string,
) (*Contents, error) {
	of := v.Contents
	if of == nil || of.By == "" || of.By != by || len(of.Sums) != len(v.Chunks)*sha256.Size {
		return nil, nil
	}
	x := &Contents{file: of.Base, Sums: make([][sha256.Size]byte, len(v.Chunks))}
	for i := range x.Sums {
		copy(x.Sums[i][:], of.Sums[i*sha256.Size:])
	}
	if of.Base != "" {
		blobs, err := files.Get(ctx, []string{of.Base})
		if state.Unreadable(err) {
			return nil, nil // the next export that reads the whole version stores it again
		}
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read contents of version", err)
		}
		var whole bool
		if x.base, whole = decodeMarks(blobs[0]); !whole {
			return nil, nil
		}
	}
	var whole, less bool
	x.more, whole = decodeMarks(of.More)
	if x.less, less = decodeMarks(of.Less); !whole || !less ||
		Digest(SumsDigest(x.Sums), v.Agents) != v.Digest {
		return nil, nil
	}
	return x, nil
}

// Get returns the contents of the version with a digest; nil: they are not cached.
func (c *ContentsCache) Get(digest string) *Contents {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byDigest[digest]
}

// Keep caches the contents of a  Few are in use at a time, so the cache is simply emptied
// when it is full.
func (c *ContentsCache) Keep(digest string, known *Contents) {
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
