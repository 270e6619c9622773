package lane

import (
	"slices"
	"sync"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
)

// view is what a process knows of one schedule, for all lanes that it serves. As long as a schedule
// stands, that is until PlanSeq grows, a resource can only finish. So what was learned stays true,
// and what is outdated is so in one direction only: something may have finished. Who relies on a
// view of an outdated schedule is refused when it claims.
type view struct {
	plan  int64
	graph *version.Graph

	mu      sync.Mutex
	read    []bool          // by agent: the rest says what is scheduled of it
	needs   []bool          // by node: scheduled, when it was last read
	assumed []bool          // by node: taken to be scheduled, perhaps wrongly
	tickets map[int32]int64 // by node; none: 0
	listed  [][]int32       // by agent: what was scheduled when it was first read
	// clear is by node: it is known that neither it nor anything that it requires, directly or not,
	// is scheduled. That is so of what was claimed in this schedule and has finished.
	clear []bool
}

// Views are what a process knows of the newest schedules of its environments. It is a cache: a new
// one knows nothing, and all the same is right.
type Views struct {
	mu    sync.Mutex
	byEnv map[string]*view
}

// NewViews returns a cache that knows nothing.
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
		needs: make([]bool, n), assumed: make([]bool, n), tickets: map[int32]int64{},
		clear: make([]bool, n), listed: make([][]int32, len(g.Agents().Names))}
	if len(c.byEnv) >= maxViews {
		clear(c.byEnv)
	}
	if old := c.byEnv[env]; old == nil || old.plan <= plan {
		c.byEnv[env] = v
	}
	return v
}

// maxViews bounds how many environments a process remembers something of.
const maxViews = 100

// learn takes over what is scheduled of agents. It returns false if that is of another schedule.
func (v *view) learn(s state.Schedule, agents []string, releasing bool) bool {
	if s.PlanSeq != v.plan {
		return false
	}
	x, waves := v.graph.Agents(), wavesOf(s, releasing)
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
			asks, assumed := waves.ask(v.graph, n)
			needs := ticket != 0 || asks
			if !v.read[a] || !needs {
				v.needs[n], v.assumed[n] = needs, ticket == 0 && assumed
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

// finished notes that nodes are not scheduled.
func (v *view) finished(nodes []int32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range nodes {
		v.needs[n] = false
	}
}

// cleared notes that nodes were claimed in this schedule and have finished.
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

// agree applies to the frontier of a part of the graph what is known to be clear, and learns from
// it what else is: of the nodes that were expanded, all that they require is in the part.
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
