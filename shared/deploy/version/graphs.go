package version

import (
	"context"
	"sync"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// maxGraphs is how many graphs a cache keeps.
const maxGraphs = 4

// Graphs reads graphs from files, and caches a few. Graphs are immutable, so the cache cannot be
// outdated.
type Graphs struct {
	files  state.Files
	mu     sync.Mutex
	byName map[string]*Graph
}

// NewGraphs returns a cache of the graphs in files.
func NewGraphs(files state.Files) *Graphs {
	return &Graphs{files: files, byName: map[string]*Graph{}}
}

// Get returns the graph with that name; "" stands for the empty graph. Its errors are those of
// Files.Get, and Damaged.
func (c *Graphs) Get(ctx context.Context, name string) (*Graph, error) {
	if name == "" {
		return EmptyGraph(), nil
	}
	if g := c.kept(name); g != nil {
		return g, nil
	}
	hashes := GraphFiles(name)
	g := c.kept(hashes[0])
	if g != nil {
		hashes = hashes[1:]
	}
	blobs, err := c.files.Get(ctx, hashes)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read graph", err)
	}
	for i, blob := range blobs {
		if g == nil {
			g, err = decodeGraph(blob)
		} else {
			g, err = decodeEdit(g, GraphFiles(name)[0], blob)
		}
		if err != nil {
			return nil, err
		}
		if i < len(blobs)-1 {
			c.Keep(hashes[i], g)
		}
	}
	c.Keep(name, g)
	return g, nil
}

// kept returns a cached graph; nil: it is not cached.
func (c *Graphs) kept(name string) *Graph {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byName[name]
}

// Keep caches a graph. Few are in use at a time, so the cache is simply emptied when it is full.
// Only the base of a graph that is an edit is kept.
func (c *Graphs) Keep(name string, g *Graph) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byName) >= maxGraphs {
		base := GraphFiles(name)[0]
		was := c.byName[base]
		clear(c.byName)
		if was != nil {
			c.byName[base] = was
		}
	}
	c.byName[name] = g
}
