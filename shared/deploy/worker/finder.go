package worker

import (
	"context"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// An agent needs these parts of the graph:
//
//   - the resources that are scheduled at the agent
//   - their requirements, through unscheduled resources up to the first scheduled ones
//   - their dependants, in the same way
//
// A scheduled resource waits for its own requirements, so resources beyond it do not matter here.
// If a wave may ask for any resource of the agent, the agent also needs all resources of the agent.
//
// A search goes through the graph once, with the data at hand. The finder reads the data that the
// search lacked; then the search runs again.

// finder reads the data that the searches of an agent lack.
type finder struct {
	*Config
	env    string
	epoch  int64 // of the wave
	search search
}

// search goes through the graph from the resources that an agent works on. It reads no store.
type search struct {
	from  scope
	v     *view
	fresh fresh
	past  int // how many unknown agents the search may pass over

	seen []byte // by node
	found
}

// scope is the start of a search: an agent, and the data about its agent.
type scope struct {
	name   string         // of the agent
	agent  int32          // its number; -1, if all its resources have left
	all    bool           // all its resources matter
	own    map[int32]bool // the scheduled resources of the agent
	starts []int32        // scheduled at this agent
	ends   []int32        // finished resources of this agent that other agents have to be notified of
}

// fresh is the data that was read after the agent was read. A view may be older.
type fresh struct {
	agents map[int32]bool // agents whose whole schedule was read
	nodes  map[int32]bool // nodes that were looked up individually
}

// found is the result of one search.
type found struct {
	nodes    []int32
	expanded []int32        // nodes whose requirements are all among nodes
	unknown  map[int32]bool // agents whose schedule is unknown
	ask      []int32        // nodes that were scheduled and may have finished since
}

const (
	seenAtAll byte = 1 << iota
	seenBefore
	seenBehind
	start
)

// run searches once. If data is missing, run fills unknown or ask and has to be run again.
func (s *search) run() {
	s.v.mu.Lock()
	defer s.v.mu.Unlock()
	g := s.v.graph
	s.seen, s.unknown = make([]byte, len(g.IDs)), map[int32]bool{}
	s.nodes, s.ask, s.expanded = s.nodes[:0], s.ask[:0], s.expanded[:0]
	if s.from.all {
		for _, n := range g.NodesOf(s.from.name) {
			s.find(n, seenAtAll)
		}
	}
	starts := s.from.starts
	for _, n := range slices.Concat(starts, s.from.ends) {
		s.find(n, seenBehind)
	}
	for _, n := range starts {
		s.find(n, seenBefore|start)
	}
	var first, later []int32
	for _, n := range starts {
		if s.waitsHere(n) {
			later = append(later, n)
		} else {
			first = append(first, n)
		}
	}
	s.before(first, true)
	s.before(later, false)
	s.behind(slices.Concat(starts, s.from.ends))
}

// find adds a node, and reports whether the search had not yet reached it in that direction.
func (s *search) find(n int32, direction byte) bool {
	if s.seen[n]&seenAtAll == 0 {
		s.seen[n] |= seenAtAll
		s.nodes = append(s.nodes, n)
	}
	isNew := s.seen[n]&direction == 0
	s.seen[n] |= direction
	return isNew
}

// waitsHere reports whether a node requires a resource that is scheduled at this agent. If so, its
// other requirements need not be known exactly yet.
func (s *search) waitsHere(n int32) bool {
	starts := func(q int32) bool { return s.seen[q]&start != 0 }
	return slices.ContainsFunc(s.v.graph.Requires(n), starts)
}

// before finds the resources that the nodes on a stack wait for.
func (s *search) before(stack []int32, exactly bool) {
	g := s.v.graph
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		s.expanded = append(s.expanded, n)
		for _, q := range g.Requires(n) {
			if !s.find(q, seenBefore) || s.v.clear[q] || s.stops(q, exactly) {
				continue
			}
			stack = append(stack, q)
		}
	}
}

// stops reports whether the search need not go beyond a node. If exactly is set, the search looks
// for the resources that this agent waits for, and has to know exactly whether the node is
// scheduled.
func (s *search) stops(n int32, exactly bool) bool {
	v, a := s.v, s.v.graph.AgentOf(n)
	if a != s.from.agent && !v.read[a] {
		stop := len(s.unknown) >= s.past
		s.unknown[a] = true
		return stop
	}
	needs := v.needs[n]
	if a == s.from.agent {
		needs = s.from.own[n]
	}
	if exactly && needs && !s.fresh.nodes[n] {
		if a == s.from.agent || s.fresh.agents[a] {
			s.fresh.nodes[n] = true
		} else {
			s.ask = append(s.ask, n)
		}
	}
	return needs
}

// behind finds the resources that wait for the nodes on a stack.
func (s *search) behind(stack []int32) {
	g := s.v.graph
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, d := range g.Dependants(n) {
			if s.find(d, seenBehind) && !s.stops(d, false) {
				stack = append(stack, d)
			}
		}
	}
}

// findPart finds the part of the graph that this agent needs, and reads the missing data. It returns
// false if the schedule has changed since it was read.
func (w *worker) findPart(
	ctx context.Context, own map[int32]bool, starts, ends []int32,
) (bool, error) {
	from := scope{name: w.agentName, agent: w.view.graph.Agents().NumberOf(w.agentName),
		all: len(w.sched.Unfinished) > 0,
		own: own, starts: starts, ends: ends}
	f := &finder{Config: &w.Config, env: w.env, epoch: w.sched.Wave.Epoch,
		search: search{from: from, v: w.view,
			fresh: fresh{agents: map[int32]bool{}, nodes: map[int32]bool{}}}}
	if same, err := f.find(ctx); !same || err != nil {
		return false, err
	}
	w.narrow(&f.search)
	w.asked = f.search.fresh.nodes
	return true, nil
}

// find searches until no data is missing. It returns false if the schedule has changed since it was
// read.
func (f *finder) find(ctx context.Context) (bool, error) {
	for s := &f.search; ; {
		s.run()
		switch {
		case len(s.unknown) > 0:
			if same, err := f.learn(ctx); !same || err != nil {
				return false, err
			}
			s.past = max(8*s.past, 8) // otherwise idle agents would be read one by one
		case len(s.ask) > 0:
			if err := f.askFinished(ctx); err != nil {
				return false, err
			}
		default:
			return true, nil
		}
	}
}

// learn reads the schedule of agents whose schedule is unknown.
func (f *finder) learn(ctx context.Context) (bool, error) {
	search := &f.search
	names := make([]string, 0, len(search.unknown))
	for a := range search.unknown {
		search.fresh.agents[a] = true
		names = append(names, search.v.graph.Agents().Names[a])
	}
	slices.Sort(names)
	s, err := f.State.Schedule(ctx, f.env, names...)
	if err != nil {
		return false, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	return search.v.learn(s, names), nil
}

// askFinished looks up which nodes have finished.
func (f *finder) askFinished(ctx context.Context) error {
	s := &f.search
	g := s.v.graph
	for part := range slices.Chunk(s.ask, f.Asked) {
		ids := make([]resource.ID, len(part))
		for i, n := range part {
			s.fresh.nodes[n], ids[i] = true, g.IDs[n]
		}
		done, err := f.State.Finished(ctx, f.env, ids, f.epoch)
		if err != nil {
			return fault.Wrap(fault.Unknown, "read schedule", err)
		}
		for _, n := range g.Nodes(done) {
			delete(s.from.own, n)
		}
		s.v.finished(g.Nodes(done))
	}
	return nil
}

// narrow reduces the graph to the nodes of a search, and builds the frontier of that part.
func (p *part) narrow(s *search) {
	v := p.view
	slices.Sort(s.nodes)
	p.graph, p.full = v.graph, s.nodes
	if len(s.nodes) < len(v.graph.IDs) {
		p.graph = v.graph.Part(s.nodes)
	}
	scheduled := make([]bool, len(s.nodes))
	p.tickets = make([]int64, len(s.nodes))
	v.mu.Lock()
	for i, n := range s.nodes {
		needs, ticket := v.needs[n] && !v.clear[n], v.tickets[n]
		if a := v.graph.AgentOf(n); a == s.from.agent {
			needs, ticket = s.from.own[n], 0
		}
		scheduled[i], p.tickets[i] = needs, ticket
	}
	v.mu.Unlock()
	p.frontier = newFrontier(p.graph, scheduled)
	v.agree(p.frontier, s.nodes, s.expanded)
}
