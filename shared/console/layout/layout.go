// Package layout draws directed graphs in layers, as SVG and as rows of a table. It draws folded
// graphs of resources and lifecycles, which have cycles. It is pure: the same graph gives the same
// drawing.
//
//	layout.go  graphs, drawings, and Draw
//	reduce.go  the boxes that are drawn if there are too many
//	layers.go  back edges and layers
//	order.go   the order of each layer, by barycentres
//	place.go   coordinates
//	svg.go     a drawing as SVG
//	rows.go    a drawing as rows of a table
//	text.go    texts: control characters, width, cuts
//
// The method is that of Sugiyama: edges that close a cycle are reversed, each node is put below
// the longest path that leads to it, four sweeps sort each layer by the mean position of the
// neighbours, and straight lines connect the boxes.
package layout

// Status is a status in words, as a box shows it. Class is a name for the style sheet, Icon the id
// of a symbol of the page.
type Status struct{ Class, Icon, Word string }

// Node is a node of a graph.
type Node struct {
	ID     string
	Title  string
	Count  int // of resources in a folded node; 0 if the node is not folded
	Status Status
	URL    string // a path, or an http(s) URL; other URLs give a box without a link
	Hint   string // what the link does, for its title
	// Wrong nodes remain in a drawing that has too many boxes, with their neighbours.
	Wrong bool
	// Current marks the node that a page is about. It remains in every drawing.
	Current bool
}

// Edge is an edge of a graph. It points down, unless it closes a cycle.
type Edge struct {
	From, To string
	Count    int    // of edges in a folded edge
	Label    string // stands at the line; "" for none
	Title    string // "" for "FROM → TO"
	Class    string // a name for the style sheet; "" for none
}

// Graph is the input of Draw. Draw ignores nodes whose ID an earlier node has, and edges whose
// ends are not nodes.
type Graph struct {
	Title string
	Nodes []Node
	Edges []Edge
	Start string // the node that a search for cycles begins with; "" for none
}

// Options are the bounds of a drawing; 0 means the default.
type Options struct {
	Boxes   int // at most so many boxes; 200
	Lines   int // at most so many lines; 400
	Columns int // boxes side by side; 6
}

const (
	defaultBoxes   = 200
	defaultLines   = 400
	defaultColumns = 6
	maxBends       = 2000 // points at which lines bend; further lines have none
)

// Drawing is a graph with coordinates, in pixels.
type Drawing struct {
	Title         string
	Width, Height int
	Boxes         []Box
	Lines         []Line
	// AllBoxes and AllLines count the nodes and edges of the graph. Notice states in a sentence
	// what is not drawn; it is "" if all is drawn.
	AllBoxes, AllLines int
	Notice             string
}

// Box is the rectangle of a node.
type Box struct {
	Node
	X, Y, W, H int // the corner at the top left, width and height
	Layer      int
}

// Point is a point of a drawing.
type Point struct{ X, Y int }

// Line is an edge with its points, from the box From to the box To.
type Line struct {
	Edge
	From, To int // indexes of boxes
	Points   []Point
	// Back marks an edge that closes a cycle. It points up, or to its own box.
	Back  bool
	Label Label // W is 0 if the edge has no label
}

// Label is the rectangle of a text at a line.
type Label struct {
	Text       string
	X, Y, W, H int
}

// Draw returns the drawing of a graph.
func Draw(g Graph, o Options) *Drawing {
	o.Boxes, o.Lines = or(o.Boxes, defaultBoxes), or(o.Lines, defaultLines)
	o.Columns = or(o.Columns, defaultColumns)
	d := &Drawing{Title: g.Title}
	s := newSketch(&g)
	d.AllBoxes, d.AllLines = len(s.nodes), len(s.edges)
	s.reduce(o)
	s.layer(g.Start)
	s.split(o.Columns)
	s.connect()
	s.sweep()
	s.place()
	s.draw(d)
	d.Notice = notice(d)
	return d
}

func or(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

// link is an edge between two nodes of a sketch.
type link struct {
	Edge
	from, to int
	back     bool  // points up in the drawing
	chain    []int // vertices, from the top to the bottom
}

// top and bottom return the nodes at the ends of a link that the drawing shows above and below.
func (l *link) top() int {
	if l.back {
		return l.to
	}
	return l.from
}

func (l *link) bottom() int {
	if l.back {
		return l.from
	}
	return l.to
}

// vertex is a point of a layer: a box, a label, or a bend of a line.
type vertex struct {
	node     int // -1 for none
	width    int
	layer    int
	x        float64 // of its middle
	up, down []int
}

// sketch is a graph while it is drawn.
//
// Large: it is the state of one algorithm, whose steps are its methods; each file has one step.
type sketch struct {
	nodes    []Node
	edges    []link
	vertices []vertex // the first are those of the nodes
	layers   [][]int  // vertices of each layer, from the left to the right
	spread   int      // layers of the drawing for each layer of the graph: 2 if lines have labels
}

func newSketch(g *Graph) *sketch {
	s := &sketch{spread: 1}
	index := make(map[string]int, len(g.Nodes))
	for _, n := range g.Nodes {
		if _, there := index[n.ID]; !there {
			index[n.ID] = len(s.nodes)
			s.nodes = append(s.nodes, n)
		}
	}
	for _, e := range g.Edges {
		from, ok := index[e.From]
		to, also := index[e.To]
		if ok && also {
			s.edges = append(s.edges, link{Edge: e, from: from, to: to})
		}
	}
	s.mergeLoops()
	return s
}

// mergeLoops makes one edge of all those from a node to itself.
func (s *sketch) mergeLoops() {
	loops := map[int]int{} // indexes of edges by node
	edges := s.edges[:0]
	for _, e := range s.edges {
		first, there := loops[e.from]
		switch {
		case e.from != e.to:
		case there:
			if edges[first].Label != "" && e.Label != "" {
				edges[first].Label += ", "
			}
			edges[first].Label += e.Label
			edges[first].Count += e.Count
			continue
		default:
			loops[e.from] = len(edges)
		}
		edges = append(edges, e)
	}
	s.edges = edges
}
