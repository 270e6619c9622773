package source

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
)

// pieces reads the pieces of an outline, in parallel unless what one names counts in the next. It
// gives up if one of them cannot be read by itself.
func (l *loader) pieces(
	ctx context.Context, d document, o outline, b *budget, items func(*part, piece) ([]node, bool),
) ([]*part, bool) {
	head := l.taker(d, b)
	goOn := head.header(&o.root)
	if !goOn {
		head.dropped = append(head.dropped, "")
	}
	costs := costsOf(o.pieces)
	b.reserve(slices.Max(append(costs, 0)))
	parts := make([]*part, len(o.pieces), len(o.pieces)+1)
	var failed atomic.Bool
	workers := runtime.GOMAXPROCS(0)
	if o.anchors != nil {
		workers = 1
	}
	parallelOn(workers, len(o.pieces), func(i int) {
		if failed.Load() || ctx.Err() != nil || b.over.Load() {
			return
		}
		defer b.gate.enter(costs[i])()
		t := l.taker(d, b)
		t.defaults = head.defaults
		parts[i] = t.part
		nodes, ok := items(t.part, o.pieces[i])
		if !ok {
			failed.Store(true)
			return
		}
		if t.full {
			t.dropped = append(t.dropped, "")
		}
		if goOn {
			t.resources(nodes)
		}
	})
	for _, n := range o.last {
		if goOn {
			head.resource(n)
		}
	}
	if failed.Load() || ctx.Err() != nil || b.over.Load() {
		return nil, false
	}
	return append(parts, head.part), true
}

// costsOf returns what reading each piece takes at most.
func costsOf(pieces []piece) []int64 {
	costs := make([]int64, len(pieces))
	parallel(len(pieces), func(i int) { costs[i] = costYAML * valuesIn(pieces[i].text) })
	return costs
}
