package worker

import (
	"slices"
	"sync"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
)

// view is the data of a process about one schedule, shared by all agents that it serves. Until
// PlanSeq grows, a resource can only finish. So the data is outdated in one direction only: a
// resource may have finished. A worker that relies on a view of an outdated schedule is refused
// when it claims.
type view struct {
	plan  int64
	graph *version.Graph

	mu      sync.Mutex
	read    []bool          // by agent: its schedule was read into the fields below
	needs   []bool          // by node: scheduled, when it was last read
	tickets map[int32]int64 // by node; none: 0
	listed  [][]int32       // by agent: the nodes that were scheduled at the first read
	// clear, by node, means that neither the node nor any of its requirements, direct or indirect,
	// is scheduled. It holds for nodes that were claimed in this schedule and have finished.
	clear []bool
}

// Views caches the newest schedule of each environment that a process serves. A new cache is empty,
// which costs reads and changes no result.
type Views struct {
	mu    sync.Mutex
	byEnv map[string]*view
}

// NewViews returns an empty cache.
func NewViews() *Views { return &Views{byEnv: map[string]*view{}} }

// of returns the view of a schedule.
func (c *Views) of(env string, plan int64, g *version.Graph) *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.byEnv[env]; v != nil && v.plan == plan && v.graph == g {
		return v
	}
	n := len(g.IDs)
	v := &view{plan: plan, graph: g, read: make([]bool, len(g.Agents().Names)),
		needs: make([]bool, n), tickets: map[int32]int64{},
		clear: make([]bool, n), listed: make([][]int32, len(g.Agents().Names))}
	if len(c.byEnv) >= maxViews {
		clear(c.byEnv)
	}
	if old := c.byEnv[env]; old == nil || old.plan <= plan {
		c.byEnv[env] = v
	}
	return v
}

// maxViews bounds the number of cached environments.
const maxViews = 100

// learn stores the schedule of agents in the view. It returns false if it belongs to another
// PlanSeq.
func (v *view) learn(s state.Schedule, agents []string) bool {
	if s.PlanSeq != v.plan {
		return false
	}
	x, waves := v.graph.Agents(), wavesOf(s)
	tickets, byAgent := make(map[int32]int64, len(s.Tickets)), map[int32][]int32{}
	for _, t := range s.Tickets {
		if n := v.graph.Node(t.ID); n >= 0 {
			a := v.graph.AgentOf(n)
			tickets[n], byAgent[a] = t.N, append(byAgent[a], n)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, name := range agents {
		a := x.NumberOf(name)
		if a < 0 {
			continue
		}
		nodes := v.listed[a]
		if !v.read[a] {
			nodes = byAgent[a]
			if len(s.Unfinished) > 0 {
				nodes = v.graph.NodesOf(name) // a wave may ask for any of them
			}
		}
		for _, n := range nodes {
			ticket := tickets[n]
			needs := ticket != 0 || waves.ask(v.graph, n)
			if !v.read[a] || !needs {
				v.needs[n] = needs
				if ticket == 0 {
					delete(v.tickets, n)
				} else {
					v.tickets[n] = ticket
				}
			}
			if !v.read[a] && needs {
				v.listed[a] = append(v.listed[a], n)
			}
		}
		v.read[a] = true
	}
	return true
}

// finished records that nodes are not scheduled.
func (v *view) finished(nodes []int32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range nodes {
		v.needs[n] = false
	}
}

// cleared records that nodes were claimed in this schedule and have finished.
func (v *view) cleared(nodes []int32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range nodes {
		v.needs[n], v.clear[n] = false, true
	}
}

// isClear reports whether a node is known to be clear.
func (v *view) isClear(n int32) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.clear[n]
}

// agree marks nodes that the view reports as clear in the frontier of a part of the graph. It also
// marks expanded nodes in the view that the frontier reports as clear: all requirements of expanded
// nodes are in the part.
func (v *view) agree(f *frontier, nodes, expanded []int32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, n := range nodes {
		if v.clear[n] && !f.clear[i] {
			f.finishAll(int32(i), func(int32, bool) {}) // see Node
		}
	}
	for _, n := range expanded {
		if i, in := slices.BinarySearch(nodes, n); in && f.clear[i] {
			v.clear[n] = true
		}
	}
}
