package layout

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func nodes(ids string) []Node {
	var out []Node
	for id := range strings.FieldsSeq(ids) {
		out = append(out, Node{ID: id, Title: id})
	}
	return out
}

// edges reads "a>b", and "a>b:label".
func edges(text string) []Edge {
	var out []Edge
	for field := range strings.FieldsSeq(text) {
		ends, label, _ := strings.Cut(field, ":")
		from, to, _ := strings.Cut(ends, ">")
		out = append(out, Edge{From: from, To: to, Label: label})
	}
	return out
}

// TestLayers pins the layer of each node, and the edges that are drawn as back edges.
func TestLayers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, nodes, edges, start, layers, back string }{
		{"nothing", "", "", "", "", ""},
		{"one", "a", "", "", "a", ""},
		{"a chain", "a b c", "a>b b>c", "", "a|b|c", ""},
		{"the order of the input does not matter", "c b a", "b>c a>b", "", "a|b|c", ""},
		{"the longest path counts", "a b c", "a>b b>c a>c", "", "a|b|c", ""},
		{"a source stands above the first node that it leads to", "a b c d", "a>b b>c d>c", "",
			"a|b d|c", ""},
		{"nodes without edges come last", "z a b", "a>b", "", "a|b|z", ""},
		{"two that lead to each other", "a b", "a>b b>a", "", "a|b", "b>a"},
		{"the search for cycles begins at the start", "a b c", "a>b b>c c>a", "b", "b|c|a", "a>b"},
		{"an edge to its own node", "a b", "a>a a>b", "", "a|b", "a>a"},
		{"edges to nodes that do not exist are ignored", "a", "a>x y>a", "", "a", ""},
		{"the first of two nodes with an ID counts", "a a b", "a>b", "", "a|b", ""},
		{"edges that are there twice", "a b", "a>b a>b", "", "a|b", ""},
		{"a lifecycle: failures lead back to a state that is tried again", "start up failed",
			"start>up:auto start>failed:error failed>start:retry up>up:update", "start",
			"start|failed up", "failed>start up>up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := Draw(Graph{Nodes: nodes(c.nodes), Edges: edges(c.edges), Start: c.start}, Options{})
			var layers [][]string
			for _, b := range d.Boxes {
				for len(layers) <= b.Layer {
					layers = append(layers, nil)
				}
				layers[b.Layer] = append(layers[b.Layer], b.ID)
			}
			var got []string
			for _, l := range layers {
				slices.Sort(l)
				got = append(got, strings.Join(l, " "))
			}
			if text := strings.Join(got, "|"); text != c.layers {
				t.Errorf("layers are %q, not %q", text, c.layers)
			}
			var back []string
			for _, l := range d.Lines {
				if l.Back {
					back = append(back, l.Edge.From+">"+l.Edge.To)
				}
			}
			if text := strings.Join(back, " "); text != c.back {
				t.Errorf("back edges are %q, not %q", text, c.back)
			}
			holds(t, d)
		})
	}
}

// TestOrder pins that lines which need not cross do not cross.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, nodes, edges, first, second string }{
		{"children stand below their parents", "a b x y", "a>y b>x", "a b", "y x"},
		{"in the middle of many", "a b c x y z", "a>z b>y c>x", "a b c", "z y x"},
	} {
		d := Draw(Graph{Nodes: nodes(c.nodes), Edges: edges(c.edges)}, Options{})
		var rows [2][]string
		for _, r := range d.Rows() {
			n := min(len(r.Above), 1)
			rows[n] = append(rows[n], r.Title)
		}
		if a, b := strings.Join(rows[0], " "), strings.Join(rows[1], " "); a != c.first ||
			b != c.second {
			t.Errorf("%s: %s above %s, not %s above %s", c.name, a, b, c.first, c.second)
		}
	}
}

// TestReduce pins what remains of a graph with too many boxes or lines, and the sentence about it.
func TestReduce(t *testing.T) {
	t.Parallel()
	wrong := func(ids string) func(*Node) {
		return func(n *Node) { n.Wrong = slices.Contains(strings.Fields(ids), n.ID) }
	}
	for _, c := range []struct {
		name, nodes, edges string
		mark               func(*Node)
		o                  Options
		left, notice       string
	}{
		{"few enough", "a b", "a>b", wrong(""), Options{Boxes: 2}, "a b", ""},
		{"only what is wrong, and neighbours", "a b c d e", "a>b b>c d>e", wrong("b"),
			Options{Boxes: 4}, "a b c", "3 of 5 boxes are drawn: those with problems, and their neighbours."},
		{"neighbours as far as there is room", "a b c d e", "a>b b>c", wrong("b"),
			Options{Boxes: 2}, "a b", "2 of 5 boxes are drawn: those with problems, and their neighbours."},
		{"nothing wrong: the first", "a b c", "", wrong(""), Options{Boxes: 2}, "a b",
			"The first 2 of 3 boxes are drawn; none has a problem."},
		{"more wrong ones than boxes", "a b c", "", wrong("a b c"), Options{Boxes: 2}, "a b",
			"2 of 3 boxes are drawn: those with problems, and their neighbours."},
		{"the current one remains", "a b c", "", func(n *Node) { n.Current = n.ID == "c" },
			Options{Boxes: 2}, "c", "1 of 3 boxes are drawn: those with problems, and their neighbours."},
		{"lines of wrong ones remain", "a b c", "a>b a>b b>c", wrong("c"), Options{Lines: 1}, "a b c",
			"1 of 3 lines are drawn: those of boxes with problems first."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := Graph{Nodes: nodes(c.nodes), Edges: edges(c.edges)}
			for i := range g.Nodes {
				c.mark(&g.Nodes[i])
			}
			d := Draw(g, c.o)
			var left []string
			for _, b := range d.Boxes {
				left = append(left, b.ID)
			}
			slices.Sort(left)
			if text := strings.Join(left, " "); text != c.left || d.Notice != c.notice {
				t.Errorf("%q remain, with the notice %q", text, d.Notice)
			}
			holds(t, d)
		})
	}
}

// holds checks the rules of every drawing: boxes and labels do not overlap and stand inside, edges
// go down unless they close a cycle, and lines end at their boxes and cross none.
func holds(t *testing.T, d *Drawing) {
	t.Helper()
	type rect struct{ x, y, w, h int }
	var all []rect
	for _, b := range d.Boxes {
		all = append(all, rect{b.X, b.Y, b.W, b.H})
	}
	for _, l := range d.Lines {
		if l.Label.W > 0 {
			all = append(all, rect{l.Label.X, l.Label.Y, l.Label.W, l.Label.H})
		}
	}
	for i, a := range all {
		if a.x < 0 || a.y < 0 || a.x+a.w > d.Width || a.y+a.h > d.Height {
			t.Fatalf("%v stands outside of %d × %d", a, d.Width, d.Height)
		}
		for _, b := range all[:i] {
			if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
				t.Fatalf("%v and %v overlap", a, b)
			}
		}
	}
	for _, l := range d.Lines {
		from, to := &d.Boxes[l.From], &d.Boxes[l.To]
		if down := to.Y >= from.Y+from.H; down == l.Back {
			t.Fatalf("%s → %s: down %v, back %v", from.ID, to.ID, down, l.Back)
		}
		for _, end := range []struct {
			p Point
			b *Box
		}{{l.Points[0], from}, {l.Points[len(l.Points)-1], to}} {
			if end.p.X < end.b.X || end.p.X > end.b.X+end.b.W || end.p.Y < end.b.Y ||
				end.p.Y > end.b.Y+end.b.H {
				t.Fatalf("%s → %s: %v is not at %s", from.ID, to.ID, end.p, end.b.ID)
			}
		}
	}
}

// crossed returns a box that a line crosses; "" if there is none.
func crossed(d *Drawing) string {
	for _, l := range d.Lines {
		for n := 1; n < len(l.Points); n++ {
			p, q := l.Points[n-1], l.Points[n]
			for i, b := range d.Boxes {
				top, bottom := min(p.Y, q.Y), max(p.Y, q.Y)
				inside := min(p.X, q.X) > b.X && max(p.X, q.X) < b.X+b.W
				if i != l.From && i != l.To && top < b.Y+b.H && bottom > b.Y &&
					(inside || p.X == q.X && p.X > b.X && p.X < b.X+b.W) {
					return fmt.Sprintf("%s → %s crosses %s", l.Edge.From, l.Edge.To, b.ID)
				}
			}
		}
	}
	return ""
}

// random returns a graph of n nodes and up to e edges.
func random(r *rand.Rand, n, e int, cycles, labels bool) Graph {
	g := Graph{}
	for i := range n {
		g.Nodes = append(g.Nodes, Node{ID: strconv.Itoa(i), Title: strings.Repeat("t", r.IntN(60)),
			Count: r.IntN(3), Wrong: r.IntN(20) == 0, URL: "/console/e/graph?open=" +
				strconv.Itoa(i)})
	}
	for range e {
		a, b := r.IntN(n), r.IntN(n)
		if !cycles && a > b {
			a, b = b, a
		}
		if !cycles && a == b {
			continue
		}
		edge := Edge{From: strconv.Itoa(a), To: strconv.Itoa(b)}
		if labels {
			edge.Label = strings.Repeat("l", r.IntN(40))
		}
		g.Edges = append(g.Edges, edge)
	}
	return g
}

// TestRandom checks the rules of drawings on random graphs, and that a graph has one drawing.
func TestRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 42))
		cycles, labels := seed%2 == 1, seed%3 == 1
		n := 1 + r.IntN(40)
		g := random(r, n, r.IntN(2*n), cycles, labels)
		d := Draw(g, Options{})
		holds(t, d)
		if text := crossed(d); text != "" {
			t.Errorf("seed %d: %s", seed, text)
		}
		if d.SVG() != Draw(g, Options{}).SVG() {
			t.Errorf("seed %d: the second drawing is another one", seed)
		}
		for _, l := range d.Lines {
			if !cycles && l.Back {
				t.Errorf("seed %d: a back edge in a graph without cycles", seed)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestLarge pins that a graph of 5,000 nodes is reduced to what is wrong, and that a drawing of
// 200 boxes and 400 lines leaves room in what a page may have.
func TestLarge(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	d := Draw(random(r, 5000, 20000, false, false), Options{})
	if len(d.Boxes) != 200 || d.AllBoxes != 5000 || d.Notice == "" {
		t.Errorf("%d of %d boxes: %q", len(d.Boxes), d.AllBoxes, d.Notice)
	}
	holds(t, d)
	d = Draw(random(r, 200, 900, false, false), Options{})
	if len(d.Lines) > 400 {
		t.Errorf("%d lines", len(d.Lines))
	}
	holds(t, d)
	t.Logf("%d × %d, %d bytes", d.Width, d.Height, len(d.SVG()))
	if n := len(d.SVG()); n > 250_000 {
		t.Errorf("%d bytes", n)
	}
	holds(t, Draw(random(r, 5000, 6000, true, false), Options{Boxes: 5000}))
}

func BenchmarkLarge(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 5))
	g := random(r, 5000, 20000, false, false)
	for b.Loop() {
		_ = Draw(g, Options{}).SVG()
	}
}

// TestSVG pins the structure of a drawing, and that texts and URLs of models cannot leave it.
func TestSVG(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 30) + "-middle-" + strings.Repeat("z", 30)
	for _, c := range []struct {
		name    string
		g       Graph
		has, no []string
	}{
		{"a box has title, status and count", Graph{Nodes: []Node{{ID: "a", Title: "web", Count: 12,
			Status: Status{"bad", "i-cross", "failed"}, URL: "/console/e/graph?open=a"}}},
			[]string{`<a href="/console/e/graph?open=a" class="box bad">`,
				"<title>web · 12 · failed</title>", `<use href="#i-cross" `, ">failed</text>", ">12</text>"}, nil},
		{"no URL, no link", Graph{Nodes: nodes("a")}, []string{`<g class="box"><title>a</title>`},
			[]string{"<a "}},
		{"texts are escaped", Graph{Title: `"><script>`, Nodes: []Node{{ID: "a",
			Title: `</title><script>alert(1)</script>`}, {ID: "b", Title: "b"}},
			Edges: []Edge{{From: "a", To: "b", Label: "<b>", Title: `"'&`, Class: `x" onclick="y`}}},
			[]string{"&lt;/title&gt;&lt;script", `class="line xonclicky"`, "&#34;&#39;&amp;"},
			[]string{"<script", "<b>", ` onclick="`}},
		{"a long title is cut in its middle, and whole in the title", Graph{Nodes: []Node{{ID: "a",
			Title: long}}}, []string{"<title>" + long, ">aaaaaaaaa…zzzzzzzzzz<"}, nil},
		{"control characters are marks", Graph{Nodes: []Node{{ID: "a",
			Title: "a\x1b[31m\u202eb\u2066c\x00\nd\x7f\xff"}}},
			[]string{"a␛[31m\uFFFDb\uFFFDc␀␊d␡\uFFFD"}, []string{"\x1b", "\u202e", "\u2066"}},
		{"a script is no link", Graph{Nodes: []Node{{ID: "a", URL: "javascript:alert(1)"},
			{ID: "b", URL: "//elsewhere"}, {ID: "c", URL: "data:text/html,x"},
			{ID: "d", URL: "\\\\elsewhere"}, {ID: "e", URL: "java\nscript:alert(1)"},
			{ID: "f", URL: "JavaScript:x"}, {ID: "g", URL: " javascript:x"}}}, nil,
			[]string{"href"}},
		{"links elsewhere and here", Graph{Nodes: []Node{{ID: "a", URL: "https://example.org/?a=1&b"},
			{ID: "b", URL: "?open=x"}}},
			[]string{`href="https://example.org/?a=1&amp;b"`, `href="?open=x"`}, nil},
		{"a line names its ends", Graph{Nodes: nodes("a b"), Edges: edges("a>b:auto b>a")},
			[]string{"<title>a → b: auto</title>", `<g class="line back"><title>b → a</title>`}, nil},
		{"the current box", Graph{Nodes: []Node{{ID: "a", Current: true}}},
			[]string{`class="box current"`}, nil},
		{"wide characters are cut earlier", Graph{Nodes: []Node{{ID: "a",
			Title: strings.Repeat("字", 30)}}}, []string{">字字字字…字字字字字<"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			svg := Draw(c.g, Options{}).SVG()
			wellFormed(t, svg)
			for _, text := range c.has {
				if !strings.Contains(svg, text) {
					t.Errorf("%q is missing in\n%s", text, svg)
				}
			}
			for _, text := range append(c.no, "style", " id=") {
				if strings.Contains(svg, text) {
					t.Errorf("%q is in\n%s", text, svg)
				}
			}
		})
	}
}

// wellFormed checks that all elements are closed, and that only elements of drawings occur.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok && !slices.Contains([]string{"svg", "g", "a", "rect",
			"path", "text", "title", "use"}, e.Name.Local) {
			t.Fatalf("element %s in\n%s", e.Name.Local, svg)
		}
	}
}

// TestRows pins that the table says what the drawing says.
func TestRows(t *testing.T) {
	t.Parallel()
	g := Graph{Nodes: nodes("up start failed"), Start: "start",
		Edges: edges("start>up:auto start>failed:error failed>start:retry up>up:update up>up:auto")}
	var got []string
	for _, r := range Draw(g, Options{}).Rows() {
		line := r.Title + " <"
		for _, e := range r.Above {
			line += fmt.Sprintf(" %s(%s)", e.Title, e.Label)
		}
		line += " >"
		for _, e := range r.Below {
			line += fmt.Sprintf(" %s(%s)%v", e.Title, e.Label, e.Back)
		}
		got = append(got, line)
	}
	want := []string{"start < failed(retry) > up(auto)false failed(error)false",
		"up < start(auto) up(update, auto) > up(update, auto)true",
		"failed < start(error) > start(retry)true"}
	if !slices.Equal(got, want) {
		t.Errorf("rows are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// FuzzDraw draws any graph: each pair of bytes is an edge.
func FuzzDraw(f *testing.F) {
	f.Add([]byte("\x00\x01\x01\x02"), "title", "label", "/x", uint8(3), uint8(2))
	f.Add([]byte("\x00\x00\x01\x00\x00\x01"), "<b>\x00\u202e", "\xff\xfe", "javascript:1", uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, pairs []byte, title, label, link string, boxes, columns uint8) {
		g := Graph{Title: title, Start: "1"}
		for i := 0; i+1 < len(pairs) && i < 400; i += 2 {
			for _, id := range pairs[i : i+2] {
				g.Nodes = append(g.Nodes, Node{ID: strconv.Itoa(int(id)), Title: title, URL: link,
					Wrong: id%7 == 0, Count: int(id) % 3, Status: Status{label, title, label}})
			}
			g.Edges = append(g.Edges, Edge{From: strconv.Itoa(int(pairs[i])),
				To: strconv.Itoa(int(pairs[i+1])), Label: label, Class: title})
		}
		d := Draw(g, Options{Boxes: int(boxes), Columns: int(columns)})
		holds(t, d)
		wellFormed(t, d.SVG())
		if len(d.Rows()) != len(d.Boxes) {
			t.Errorf("%d rows of %d boxes", len(d.Rows()), len(d.Boxes))
		}
	})
}
