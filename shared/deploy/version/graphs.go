package version

import (
	"context"
	"sync"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// maxGraphs is how many graphs a cache keeps.
const maxGraphs = 4

// Graphs reads graphs from files, and keeps a few. They are immutable, so a cache never lies.
type Graphs struct {
	files  state.Files
	mu     sync.Mutex
	byHash map[string]*Graph
}

// NewGraphs returns a cache of the graphs in files.
func NewGraphs(files state.Files) *Graphs {
	return &Graphs{files: files, byHash: map[string]*Graph{}}
}

// Get returns the graph with that hash; "" stands for the empty graph. Its errors are those of
// Files.Get, and Damaged.
func (c *Graphs) Get(ctx context.Context, hash string) (*Graph, error) {
	if hash == "" {
		return EmptyGraph(), nil
	}
	c.mu.Lock()
	g := c.byHash[hash]
	c.mu.Unlock()
	if g != nil {
		return g, nil
	}
	blobs, err := c.files.Get(ctx, []string{hash})
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read graph", err)
	}
	g, err = decodeGraph(blobs[0])
	if err != nil {
		return nil, err
	}
	c.Keep(hash, g)
	return g, nil
}

// Keep caches a graph. Few are in use at a time, so the cache is simply emptied when it is full.
func (c *Graphs) Keep(hash string, g *Graph) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.byHash) >= maxGraphs {
		clear(c.byHash)
	}
	c.byHash[hash] = g
}
