package dag

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// graph makes a graph of lists of requirements.
func graph(reqs ...[]int32) *Graph {
	return New(len(reqs), func(i int) []int32 { return reqs[i] })
}

func TestGraph(t *testing.T) {
	reqs := [][]int32{{2, 1, 2}, {}, {1}, {0}}
	g := graph(reqs...)
	if g.Len() != 4 || !slices.Equal(g.Requires(0), []int32{1, 2}) ||
		!slices.Equal(g.Dependants(1), []int32{0, 2}) || len(g.Requires(1)) != 0 ||
		len(g.Dependants(3)) != 0 {
		t.Errorf("%d nodes, 0 requires %v, 1 is required by %v", g.Len(), g.Requires(0),
			g.Dependants(1))
	}
	if !slices.Equal(reqs[0], []int32{2, 1, 2}) {
		t.Error("what was passed in was changed")
	}
	if empty := graph(); empty.Len() != 0 || len(empty.Order()) != 0 || len(empty.Cycles()) != 0 {
		t.Error("the empty graph has something")
	}
}

func TestOrder(t *testing.T) {
	tests := map[string]struct {
		reason string
		reqs   [][]int32
		want   []int32
	}{
		"NoEdges": {"as they come", [][]int32{{}, {}, {}}, []int32{0, 1, 2}},
		"InOrder": {"what is in order stays so", [][]int32{{}, {0}, {}, {1, 2}},
			[]int32{0, 1, 2, 3}},
		"Reversed": {"requirements first", [][]int32{{1}, {2}, {}}, []int32{2, 1, 0}},
		"Smallest": {"always the smallest that is free", [][]int32{{3}, {}, {}, {}},
			[]int32{1, 2, 3, 0}},
		"BehindCycle": {"a cycle and what needs it are left out", [][]int32{{1}, {0}, {0}, {}},
			[]int32{3}},
		"Self": {"what requires itself too", [][]int32{{0}, {}}, []int32{1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := graph(tc.reqs...).Order(); !slices.Equal(got, tc.want) {
				t.Errorf("%s: Order = %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestOrderTakesLeast pins that the smallest node that is free always comes next.
func TestOrderTakesLeast(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		n := 1 + rnd.IntN(300)
		rank, reqs := rnd.Perm(n), make([][]int32, n)
		for range rnd.IntN(2 * n) {
			// what is required mostly has the smaller rank, so that there are few cycles
			if i, q := rnd.IntN(n), rnd.IntN(n); rank[q] < rank[i] || rnd.IntN(20*n) == 0 {
				reqs[i] = append(reqs[i], int32(q))
			}
		}
		if got, want := graph(reqs...).Order(), leastFirst(reqs); !slices.Equal(got, want) {
			t.Fatalf("seed %d: Order = %v, want %v", seed, got, want)
		}
	}
}

// leastFirst orders nodes as Order does, by looking at all of them for each.
func leastFirst(reqs [][]int32) []int32 {
	var order []int32
	done := make([]bool, len(reqs))
	waits := func(q int32) bool { return !done[q] }
	for {
		next := -1
		for i, of := range reqs {
			if !done[i] && !slices.ContainsFunc(of, waits) {
				next = i
				break
			}
		}
		if next < 0 {
			return order
		}
		order = append(order, int32(next))
		done[next] = true
	}
}

func TestCycles(t *testing.T) {
	tests := map[string]struct {
		reason string
		reqs   [][]int32
		want   [][]int32
	}{
		"None":      {"acyclic", [][]int32{{1}, {2}, {}}, nil},
		"Self":      {"a node that requires itself", [][]int32{{}, {1}}, [][]int32{{1}}},
		"Two":       {"starts at the smallest", [][]int32{{}, {2}, {1}}, [][]int32{{1, 2}}},
		"Direction": {"each requires the next", [][]int32{{2}, {0}, {1}}, [][]int32{{0, 2, 1}}},
		"TwoParts": {"one each, in order", [][]int32{{3}, {2}, {1}, {0}},
			[][]int32{{0, 3}, {1, 2}}},
		"Bridge": {"the edge between two parts is on no cycle",
			[][]int32{{1}, {0, 2}, {3}, {2}}, [][]int32{{0, 1}, {2, 3}}},
		"Shortest": {"the short one of two that share nodes", [][]int32{{1}, {2}, {3, 1}, {0}},
			[][]int32{{1, 2}}},
		"SelfInLoop": {"a loop within a longer one", [][]int32{{1}, {2}, {0, 2}}, [][]int32{{2}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := graph(tc.reqs...).Cycles()
			if !slices.EqualFunc(got, tc.want, slices.Equal[[]int32]) {
				t.Errorf("%s: Cycles = %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// Random graphs against an implementation that is too simple to be wrong: a matrix of distances.
func TestAgainstNaive(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		n := 1 + rng.IntN(9)
		reqs := make([][]int32, n)
		for range rng.IntN(2*n + 1) {
			i := rng.IntN(n)
			reqs[i] = append(reqs[i], int32(rng.IntN(n)))
		}
		g := graph(reqs...)
		dist := distances(reqs)
		checkOrder(t, g, dist)
		checkCycles(t, g, dist)
		if t.Failed() {
			t.Fatalf("the graph is %v", reqs)
		}
	}
}

const far = 1 << 20

// distances are the lengths of shortest ways, at least one edge, from each node to each.
func distances(reqs [][]int32) [][]int {
	n := len(reqs)
	d := make([][]int, n)
	for i := range d {
		d[i] = slices.Repeat([]int{far}, n)
		for _, r := range reqs[i] {
			d[i][r] = 1
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	return d
}

func checkOrder(t *testing.T, g *Graph, dist [][]int) {
	t.Helper()
	order := g.Order()
	done := map[int32]bool{}
	ready := func(i int32) bool {
		for _, r := range g.Requires(int(i)) {
			if !done[r] {
				return false
			}
		}
		return !done[i]
	}
	for _, v := range order {
		for i := range int32(g.Len()) {
			if ready(i) {
				if i != v {
					t.Errorf("order %v has %d where %d is the smallest that is free", order, v, i)
				}
				break
			}
		}
		done[v] = true
	}
	for i := range dist {
		blocked := false
		for j := range dist {
			blocked = blocked || dist[j][j] < far && (i == j || dist[i][j] < far)
		}
		if blocked == done[int32(i)] {
			t.Errorf("order %v: node %d behind a cycle: %t", order, i, blocked)
		}
	}
}

func checkCycles(t *testing.T, g *Graph, dist [][]int) {
	t.Helper()
	want := map[int32]int{} // smallest node of a part: length of its shortest cycle
	for i := range dist {
		least, smallest := dist[i][i], i
		for j := range dist {
			if dist[i][j] < far && dist[j][i] < far {
				least, smallest = min(least, dist[j][j]), min(smallest, j)
			}
		}
		if least < far {
			want[int32(smallest)] = least
		}
	}
	cycles := g.Cycles()
	if len(cycles) != len(want) {
		t.Errorf("cycles %v, want %d", cycles, len(want))
	}
	for i, c := range cycles {
		if c[0] != slices.Min(c) || i > 0 && cycles[i-1][0] >= c[0] {
			t.Errorf("cycles %v are not in order", cycles)
		}
		smallest := c[0]
		for j := range dist {
			if dist[c[0]][j] < far && dist[j][c[0]] < far {
				smallest = min(smallest, int32(j))
			}
		}
		if len(c) != want[smallest] {
			t.Errorf("cycle %v, the shortest of its part has %d nodes", c, want[smallest])
		}
		for k, v := range c {
			if !slices.Contains(g.Requires(int(v)), c[(k+1)%len(c)]) {
				t.Errorf("cycle %v has a step that is not an edge", c)
			}
		}
	}
}

func chain(n int) *Graph {
	return New(n, func(i int) []int32 {
		if i+1 == n {
			return nil
		}
		return []int32{int32(i + 1)}
	})
}

func layers(depth, width int) *Graph {
	return New(depth*width, func(i int) []int32 {
		if i < width {
			return nil
		}
		below := i - width - i%width
		return []int32{int32(below + i%width), int32(below + (i+1)%width)}
	})
}

func TestLargeGraphs(t *testing.T) {
	const n = 100_000
	order := chain(n).Order()
	for i, v := range order {
		if int(v) != n-1-i {
			t.Fatalf("place %d of a chain has node %d", i, v)
		}
	}
	if len(order) != n || len(chain(n).Cycles()) != 0 {
		t.Errorf("a chain of %d has %d nodes in order", n, len(order))
	}
	wide := layers(100, 1000)
	if order := wide.Order(); len(order) != n || !slices.IsSorted(order) {
		t.Error("layers in order are not left in order")
	}
	ring := New(n, func(i int) []int32 { return []int32{int32((i + 1) % n)} })
	if c := ring.Cycles(); len(c) != 1 || len(c[0]) != n || c[0][0] != 0 || c[0][1] != 1 {
		t.Errorf("a ring has %d cycles", len(c))
	}
	// A ring in which every node can also go back by one: the search ends early at a cycle of two.
	pairs := New(n, func(i int) []int32 {
		return []int32{int32((i + 1) % n), int32((i + n - 1) % n)}
	})
	if c := pairs.Cycles(); len(c) != 1 || len(c[0]) != 2 {
		t.Errorf("the shortest cycle has %d nodes, want 2", len(c[0]))
	}
	// A torus of one-way streets: no short cycle, very many long ones. The search is given up in
	// time.
	const side = 300
	torus := New(side*side, func(i int) []int32 {
		row, col := i/side, i%side
		return []int32{int32(row*side + (col+1)%side), int32((row+1)%side*side + col)}
	})
	if c := torus.Cycles(); len(c) != 1 || len(c[0]) != side {
		t.Errorf("the shortest cycle has %d nodes, want %d", len(c[0]), side)
	}
}

func BenchmarkNew100k(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		layers(100, 1000)
	}
}

func BenchmarkOrder100k(b *testing.B) {
	for name, g := range map[string]*Graph{"Chain": chain(100_000), "Layers": layers(100, 1000),
		"NoEdges": New(100_000, func(int) []int32 { return nil }), "Star": star(100_000)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.Order()
			}
		})
	}
}

// star makes a graph in which all but the last require that: a heap holds them all at once.
func star(n int) *Graph {
	return New(n, func(i int) []int32 {
		if i < n-1 {
			return []int32{int32(n - 1)}
		}
		return nil
	})
}

func BenchmarkCycles100k(b *testing.B) {
	g := layers(100, 1000)
	b.ReportAllocs()
	for b.Loop() {
		g.Cycles()
	}
}

// TestEdit pins that an edited graph is the one that is made of all its nodes.
func TestEdit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		random := func(n int) [][]int32 {
			edges := make([][]int32, n)
			for i := range n {
				for q := range n {
					if rnd.IntN(3) == 0 {
						edges[i] = append(edges[i], int32(q))
					}
				}
			}
			return edges
		}
		old := random(rnd.IntN(9))
		now, from := make([]int32, len(old)), []int32{}
		for i := range old {
			for rnd.IntN(4) == 0 { // another one before it
				from = append(from, -1)
			}
			now[i] = int32(len(from))
			switch rnd.IntN(4) {
			case 0:
				now[i] = -1
			case 1: // another one in its place
				from = append(from, -1)
			default:
				from = append(from, int32(i))
			}
		}
		edges := random(len(from))
		for i, was := range from {
			if was < 0 {
				continue
			}
			edges[i] = nil
			for _, q := range old[was] {
				if now[q] >= 0 {
					edges[i] = append(edges[i], now[q])
				}
			}
		}
		g := New(len(old), func(i int) []int32 { return old[i] })
		whole := New(len(from), func(i int) []int32 { return edges[i] })
		got := g.Edit(from, now, func(i int) []int32 {
			if from[i] >= 0 {
				t.Errorf("seed %d: node %d is asked for, which was there", seed, i)
			}
			return edges[i]
		})
		if !same(got, whole) {
			t.Fatalf("seed %d: %v becomes %v, and not %v", seed, g, got, whole)
		}
	}
}

// same reports whether two graphs have the same edges.
func same(a, b *Graph) bool {
	return slices.Equal(a.reqStart, b.reqStart) && slices.Equal(a.reqs, b.reqs) &&
		slices.Equal(a.depStart, b.depStart) && slices.Equal(a.deps, b.deps)
}
