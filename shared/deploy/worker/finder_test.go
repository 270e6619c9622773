package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// fixedState is a State in which only what is scheduled can be read.
type fixedState struct {
	state.State
	g     *version.Graph
	needs []bool
}

// Schedule implements State.
func (s *fixedState) Schedule(
	_ context.Context,
	_ string,
	agents ...string,
) (state.Schedule, error) {
	var out state.Schedule
	for n, id := range s.g.IDs {
		agent := s.g.Agent(int32(n)) // small
		if s.needs[n] && slices.Contains(agents, agent) {
			out.Tickets = append(out.Tickets, state.Ticket{ID: id, Agent: agent, N: 1})
		}
	}
	return out, nil
}

// Finished implements State.
func (s *fixedState) Finished(
	_ context.Context, _ string, ids []resource.ID, _ int64,
) ([]resource.ID, error) {
	scheduled := func(id resource.ID) bool { return s.needs[s.g.Node(id)] }
	return slices.DeleteFunc(slices.Clone(ids), scheduled), nil
}

// TestFind finishes random schedules on random graphs of several agents. At every step an agent that
// looks around, in a process that has seen some of it earlier, finds ready in its agent exactly what
// is ready in the whole graph, and sees all who directly wait for it.
func TestFind(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		g := graphOfAgents(rnd)
		s := &fixedState{g: g, needs: make([]bool, len(g.IDs))}
		for i := range s.needs {
			s.needs[i] = rnd.IntN(3) > 0
		}
		whole := newFrontier(g, slices.Clone(s.needs))
		v := NewViews().of("e", 0, g)
		for {
			agent := g.Agent(int32(rnd.IntN(len(g.IDs))))
			w := workerOf(s, agent, v)
			if err := checkPart(w, s, whole); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, agent, err)
			}
			var ready []int32
			for n := range int32(len(g.IDs)) { // small
				if whole.ready(n) {
					ready = append(ready, n)
				}
			}
			if len(ready) == 0 {
				break
			}
			next := ready[rnd.IntN(len(ready))]
			whole.finish(next, func(int32, bool) {})
			if s.needs[next] = false; rnd.IntN(2) == 0 { // else another process has run it
				v.cleared([]int32{next})
			}
		}
	}
}

// workerOf returns a worker that can look around.
func workerOf(s state.State, agent string, v *view) *worker {
	w := &worker{}
	w.Config = Config{Client: &state.Client{State: s}, Asked: 1000}
	w.env, w.key, w.agentName, w.view = "e", agent, agent, v
	return w
}

// checkPart lets an agent look around, and compares what it sees with the whole.
func checkPart(w *worker, s *fixedState, whole *frontier) error {
	g, agent := s.g, w.agentName
	w.sched, _ = s.Schedule(context.Background(), "e", agent)
	if !w.view.learn(w.sched, []string{agent}) {
		return fmt.Errorf("the schedule has changed")
	}
	own := map[int32]bool{}
	var starts []int32
	for n := range int32(len(g.IDs)) { // small
		if g.Agent(n) == w.agentName && s.needs[n] {
			own[n], starts = true, append(starts, n)
		}
	}
	if same, err := w.findPart(context.Background(), own, starts, nil); !same || err != nil {
		return fmt.Errorf("%v, %w", same, err)
	}
	for _, n := range starts {
		at := w.graph.Node(g.IDs[n])
		if at < 0 || w.full[at] != n || w.frontier.ready(at) != whole.ready(n) {
			return fmt.Errorf("%s is ready: %v, and not so here", g.IDs[n], whole.ready(n))
		}
		for _, d := range g.Dependants(n) {
			if at := w.graph.Node(g.IDs[d]); at < 0 || w.frontier.needs[at] != s.needs[d] {
				return fmt.Errorf("%s is not seen as it is by what it requires", g.IDs[d])
			}
		}
	}
	return nil
}

// TestFindNeighbours pins that an agent sees no more than its neighbours where all is scheduled, and
// asks nobody else.
func TestFindNeighbours(t *testing.T) {
	t.Parallel()
	var nodes []version.Node
	for i := range 100 {
		agent := fmt.Sprintf("a%02d", i)
		n := version.Node{ID: resource.ID("t::T[" + agent + ",n=1]")}
		if i > 0 {
			n.Requires = []resource.ID{nodes[i-1].ID}
		}
		nodes = append(nodes, n)
	}
	g := version.NewGraph(nodes)
	s := &fixedState{g: g, needs: slices.Repeat([]bool{true}, 100)}
	w := workerOf(s, "a50", NewViews().of("e", 0, g))
	if err := checkPart(w, s, newFrontier(g, slices.Clone(s.needs))); err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, is := range w.view.read {
		if is {
			read++
		}
	}
	if len(w.graph.IDs) != 3 || read != 3 {
		t.Errorf("it sees %v and has read %d agents, want its two neighbours", w.graph.IDs, read)
	}
}

var agentNames = []string{"a", "a/1", "b", "c", "d"} // one is named like an agent of another

func graphOfAgents(rnd *rand.Rand) *version.Graph {
	nodes := make([]version.Node, 1+rnd.IntN(14))
	for i := range nodes {
		a := agentNames[rnd.IntN(len(agentNames))]
		nodes[i] = version.Node{ID: resource.ID(fmt.Sprintf("t::T[%s,n=%02d]", a, i)),
			Removing: rnd.IntN(4) == 0}
		for j := range i {
			if rnd.IntN(5) == 0 {
				nodes[i].Requires = append(nodes[i].Requires, nodes[j].ID)
			}
		}
	}
	return version.NewGraph(nodes)
}
