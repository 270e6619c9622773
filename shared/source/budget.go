package source

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// A few bytes can stand for many values: `[a,a,...]` takes a library that reads YAML some 300 bytes
// for each two. So what a document may take is bounded by its size, and is counted before it is
// taken:
//
//   - what is read at once (a document, or a piece of its list of resources) by the values that it
//     can hold at most;
//   - what is kept of a document while the rest is read, by its values.
//
// Half of the bound is garbage that is not collected yet: the collector begins when the heap has
// doubled.

const (
	timesSize = 20
	minMemory = 96 << 20 // for a short document
	maxMemory = 256 << 20
	minKept   = 72 << 20 // enough for the resources of any 5 MB that somebody means
)

// What is held for one value, in bytes, with the room that lists have in reserve. TestMemory
// measures it.
const (
	costYAML = 300 // while YAML is read: the library's node, and ours
	costJSON = 300 // while JSON is read
	costNode = 100 // of a node that an alias stands for
)

// budget is what one document may take.
type budget struct {
	limit  int64 // bytes, for messages
	size   int64
	atOnce int64 // what reading a part of it may take
	kept   atomic.Int64
	over   atomic.Bool // nothing more is read
	gate   gate
}

func newBudget(size int) *budget {
	b := &budget{size: int64(size), limit: min(max(timesSize*int64(size), minMemory), maxMemory)}
	b.atOnce = b.limit / 2
	b.gate.init(b.limit / 8)
	b.again()
	return b
}

// again is for reading the document once more.
func (b *budget) again() { b.kept.Store(max(b.limit/2, minKept)) }

// values is how many values, each of which costs so much, may be read at once.
func (b *budget) values(cost int64) int64 { return b.atOnce / cost }

// maxExpanded bounds how many values all aliases of a document together may stand for.
const maxExpanded = 1_000_000

// expansions is how many values all aliases of the document together may stand for.
func (b *budget) expansions() int64 {
	if b == nil {
		return maxExpanded
	}
	return min(maxExpanded, b.limit/4/costNode)
}

// refuses reports a text in YAML that can hold more values than may be read at once.
func (b *budget) refuses(r *report, at place, text []byte) bool {
	if b == nil {
		return false
	}
	limit := b.values(costYAML)
	n := maxValues(text, limit)
	if n > limit {
		b.tooMany(r, at, costYAML)
	}
	return n > limit
}

// reserve takes from what may be kept what reading the largest part takes, if that is much.
func (b *budget) reserve(n int64) { b.kept.Add(-max(0, min(n, b.atOnce)-b.limit/8)) }

// keep notes that so much is kept; false when it is too much.
func (b *budget) keep(n int64) bool {
	if b == nil {
		return true
	}
	left := b.kept.Add(-n)
	if left < 0 {
		b.over.Store(true)
	}
	// Much is kept: collect what is not, before the heap has doubled.
	if step := b.limit / 10; left < b.limit/2 && left/step != (left+n)/step {
		runtime.GC()
	}
	return !b.over.Load()
}

// tooMuch is the problem that a document as a whole is beyond its budget.
func (b *budget) tooMuch(r *report) {
	r.add(place{1, 1},
		"split it into several files of a directory, and put long lists into several resources",
		"reading this document would take more than %d MB of memory: it has %s, but says too "+
			"much in few bytes", b.limit>>20, megabytes(b.size))
}

// tooMany is the problem that one part of a document holds too many values.
func (b *budget) tooMany(r *report, at place, cost int64) {
	r.full = true
	r.syntax(at,
		"split it into several resources, or into several files of a directory; a long text can "+
			"stand in a file beside it: {file: NAME}",
		"what begins here holds too many values to be read at once: at most %d in a document of %s",
		b.values(cost), megabytes(b.size))
}

// megabytes shows a size.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }

// keptOf returns what the value of a node takes, about.
func keptOf(n *node) int64 {
	if n == nil {
		return 0
	}
	total := int64(16)
	if s, ok := n.value.(string); ok {
		total += 16 + int64(len(s))
	}
	perItem := int64(0)
	switch n.kind {
	case list:
		total += 24
	case object: // a small one has room for eight members
		total, perItem = total+336, 24
		if len(n.items) > 8 {
			perItem = 80
		}
	}
	for i := range n.items {
		total += perItem + keptOf(&n.items[i])
	}
	return total
}

// keptOfResource returns what a resource takes, about, with its places.
func keptOfResource(n *node) int64 {
	return 220 + keptOf(n.get("attributes")) + keptOf(n.get("requires"))
}

// gate bounds what is read at the same time.
type gate struct {
	mu    sync.Mutex
	freed sync.Cond
	all   int64
	left  int64
}

func (g *gate) init(n int64) { g.all, g.left, g.freed.L = n, n, &g.mu }

// enter waits until there is room for n, or for all that there is, and returns what leaves.
func (g *gate) enter(n int64) (leave func()) {
	n = min(n, g.all)
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.left < n {
		g.freed.Wait()
	}
	g.left -= n
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.left += n
		g.freed.Broadcast()
	}
}
