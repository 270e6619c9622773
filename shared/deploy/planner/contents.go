package planner

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
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Contents caches data about the most recently made or changed versions: the data about all
// resources of a version that an export of some sets needs. It cannot be outdated, since its key is
// the digest of a version.
type Contents struct {
	mu       sync.Mutex
	byDigest map[string]*contents
}

// Bounds of the cache.
const (
	maxContents = 4
	maxKnown    = 200_000 // resources of a version
	maxMore     = 256     // marks in addition to the base, and removed ones of the base
)

// NewContents returns an empty cache.
func NewContents() *Contents { return &Contents{byDigest: map[string]*contents{}} }

// contents is the cached data about a version, which is also stored with it: see
// docs/design/export.md. It is immutable. Its marks are those of base and more without those of
// less.
type contents struct {
	sums [][sha256.Size]byte // of the texts of its chunks
	base marks
	file string // the file that base is stored in; "": it is empty
	made bool   // the base was created by this export, and may not be stored
	more marks
	less marks
}

// marks are hashes of the things, relations, file references and sets of resources, ascending. Each
// occurs as often as there are resources that have it. If two facts share a mark, an export only
// reads more than it needs.
type marks []uint64

// count returns how often a mark occurs.
func (c marks) count(mark uint64) int {
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
func (c marks) without(others marks) (left, rest marks) {
	left = make(marks, 0, len(c))
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
func (c marks) with(others marks) marks {
	all := slices.Concat(c, others)
	slices.Sort(all)
	return all
}

// standsFor returns the mark of a thing that a resource manages.
func standsFor(t model.Thing) uint64 { return markOf("thing", t.Space, t.Target, t.Name) }

// wholeOf returns the mark of a thing that a resource describes as a whole.
func wholeOf(t model.Thing) uint64 { return markOf("whole", t.Space, t.Target, t.Name) }

// partOf returns the mark of a thing that a resource changes a part of.
func partOf(t model.Thing) uint64 { return markOf("part", t.Space, t.Target, t.Name) }

// relatesTo returns the mark of a resource to which another one is related by its type.
func relatesTo(id resource.ID) uint64 { return markOf("related", string(id)) }

// tiedTo returns the mark of a resource to which another one is related by its type in another way
// than by requiring it.
func tiedTo(id resource.ID) uint64 { return markOf("tied", string(id)) }

// refersTo returns the mark of a file that a resource refers to.
func refersTo(hash string) uint64 { return markOf("file", hash) }

// isIn returns the mark of a set that has a resource in a chunk.
func isIn(set string, chunk int) uint64 { return markOf("set", set, strconv.Itoa(chunk)) }

func markOf(texts ...string) uint64 {
	h := fnv.New64a()
	for _, s := range texts {
		_, _ = h.Write(append([]byte(s), 0))
	}
	return h.Sum64()
}

// marksOf returns the marks of some resources of a version with a number of chunks.
func marksOf(
	c *model.Checker, targets model.Targets, some []*resource.Resource, chunks int,
) marks {
	var out marks
	for _, r := range some {
		names, shared := c.ThingsOf(r, targets)
		if shared {
			names = nil
		}
		for _, of := range names {
			out = append(out, standsFor(of))
			if all, _ := c.DescribesAll(r); all {
				out = append(out, wholeOf(of))
			}
		}
		if of, is := c.PartOf(r, targets); is {
			out = append(out, partOf(of))
		}
		for _, to := range c.Related(r) {
			out = append(out, relatesTo(to.ID))
			if to.Kind != schema.Require {
				out = append(out, tiedTo(to.ID))
			}
		}
		for _, hash := range filesOf(r) {
			out = append(out, refersTo(hash))
		}
		if r.Set != "" {
			out = append(out, isIn(r.Set, version.ChunkOf(r.ID, chunks)))
		}
	}
	slices.Sort(out)
	return out
}

// filesOf returns the files that a resource refers to.
func filesOf(r *resource.Resource) []string {
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

// has reports whether a resource has a mark.
func (x *contents) has(mark uint64) bool {
	return x.base.count(mark)+x.more.count(mark) > x.less.count(mark)
}

// contentsOf returns the contents of a version. It returns nil if the version is too large, or if
// it has resources that are completed from other resources: then a change may affect resources of
// other sets. If was, which may be nil, has the same marks, its base is reused.
func contentsOf(
	c *model.Checker, targets model.Targets, resources []resource.Resource,
	sums [][sha256.Size]byte, was *contents,
) *contents {
	if len(resources) > maxKnown {
		return nil
	}
	some := make([]*resource.Resource, len(resources))
	for i := range resources {
		if some[i] = &resources[i]; c.Gathers(some[i]) {
			return nil
		}
	}
	all := marksOf(c, targets, some, len(sums))
	if was != nil && slices.Equal(all, was.all()) {
		return &contents{
			sums: sums, base: was.base, file: was.file, more: was.more, less: was.less,
		}
	}
	return (&contents{sums: sums, more: all}).folded()
}

// changed returns the contents with the marks more and without the marks gone, all of which it has;
// nil if x is nil.
func (x *contents) changed(gone, more marks) *contents {
	if x == nil {
		return nil
	}
	left, rest := x.more.with(more).without(gone)
	less := x.less.with(rest)
	left, less = left.without(less)
	return &contents{sums: x.sums, base: x.base, file: x.file, more: left, less: less}
}

// all returns the marks of all resources.
func (x *contents) all() marks {
	all, _ := x.base.with(x.more).without(x.less)
	return all
}

// folded returns the contents with all marks in the base, if more and less have many.
func (x *contents) folded() *contents {
	if len(x.more)+len(x.less) <= maxMore {
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

// decodeMarks is the inverse of encode; false if b is not the result of encode.
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
	return &state.Contents{By: by, Sums: bytesOf(x.sums), Base: x.file, More: x.more.encode(),
		Less: x.less.encode()}
}

func bytesOf(sums [][sha256.Size]byte) []byte {
	out := make([]byte, 0, len(sums)*sha256.Size)
	for i := range sums {
		out = append(out, sums[i][:]...)
	}
	return out
}

// relates identifies the program and the types that define the relations of resources; "": they are
// unknown. Contents that another program stored are not used.
func relates(pl *Config) string {
	if pl.Pack == "" {
		return ""
	}
	return pl.Pack + "-" + pl.Types.Digest()
}

// readContents returns the contents of a version, from the cache or as stored with it; nil if there
// are none.
func (pl *Config) readContents(ctx context.Context, v *state.Version) (*contents, error) {
	if x := pl.Contents.get(v.Digest); x != nil {
		return x, nil
	}
	of := v.Contents
	if of == nil || of.By == "" || of.By != relates(pl) ||
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
			return nil, nil // the next export that reads the whole version stores it again
		}
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read what is known of version", err)
		}
		var whole bool
		if x.base, whole = decodeMarks(blobs[0]); !whole {
			return nil, nil
		}
	}
	var whole, less bool
	x.more, whole = decodeMarks(of.More)
	if x.less, less = decodeMarks(of.Less); !whole || !less ||
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

// keep caches the contents of a version. Few are in use at a time, so the cache is simply emptied
// when it is full.
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
