package console

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/console/layout"
	"southbound/shared/resource"
)

// Bounds of the page of a graph: steps from a resource, and boxes that a URL unfolds.
const (
	graphSteps = 2
	maxOpen    = 30
)

func (s *site) graphPages() []route {
	return []route{{pattern: "GET /console/{env}/graph", page: graphPage}}
}

// graphView is the page of a graph.
type graphView struct {
	Drawing  drawingView
	Text     string // what it shows
	Left     string // how many boxes the API left out
	Open     []chip // boxes that are unfolded
	Resource string // the page of the resource; "": the graph is of the environment
	Whole    string // the graph of the environment
	Empty    bool
}

// graphPage shows the graph of an environment, folded by agent and type, or with "id" the neighbours
// of a resource. Each "open" unfolds a box, "set" restricts the graph to a resource set.
func graphPage(ctx context.Context, r *request) (view, error) {
	query := r.URL.Query()
	if id := resource.ID(query.Get("id")); id != "" {
		d, left, err := r.site.neighbours(ctx, r, id)
		if err != nil {
			return view{}, err
		}
		v := graphView{Drawing: d, Left: left, Whole: r.url("graph"),
			Text: "Boxes above are required by the boxes below them. Root causes are always shown."}
		if r.hasPage("GET /console/{env}/resource") {
			v.Resource = r.url("resource", "id", string(id))
		}
		return view{Template: "graph.html", Title: "Graph of " + cut(string(id), 80).Text,
			Section: "Resources", Data: v}, nil
	}
	open := query["open"]
	open = open[:min(len(open), maxOpen)]
	q := api.GraphQuery{Fold: []string{api.FoldAgent, api.FoldType}, Open: open}
	pairs := []string{}
	if set := query.Get("set"); set != "" {
		q.Filter, q.Outside = []string{"set=" + set}, true
		pairs = append(pairs, "set", set)
	}
	g, err := r.home(ctx).Graph(ctx, r.Env, q)
	if err != nil {
		return view{}, err
	}
	urlOf := func(open []string) string {
		all := slices.Clone(pairs)
		for _, key := range open {
			all = append(all, "open", key)
		}
		return r.url("graph", all...)
	}
	drawing := r.site.graphDrawing(r, g, "", func(n *api.GraphNode) string {
		return urlOf(append(slices.Clone(open), n.Key))
	})
	v := graphView{Drawing: drawing, Left: leftOut(g.Left), Empty: len(g.Nodes) == 0,
		Text: plural(g.Total, "resource") + ", one box for each agent and type. Boxes above are " +
			"required by the boxes below them. Follow a box to see its resources."}
	for i, key := range open {
		v.Open = append(v.Open, chip{Text: "unfolded: " + cut(key, 60).Text,
			Remove: urlOf(slices.Delete(slices.Clone(open), i, i+1))})
	}
	return view{Template: "graph.html", Title: "Graph", Section: "Resources", Data: v}, nil
}

func leftOut(n int) string {
	if n == 0 {
		return ""
	}
	return plural(n, "more resource") + " or boxes are not shown."
}

// neighbours returns a resource with two steps up, two down and its root causes as a drawing, and a
// sentence about what the API left out.
func (s *site) neighbours(
	ctx context.Context, r *request, id resource.ID,
) (d drawingView, left string, err error) {
	g, err := r.home(ctx).Graph(ctx, r.Env, api.GraphQuery{ID: id, Up: graphSteps, Down: graphSteps,
		Limit: 200})
	if err != nil {
		return drawingView{}, "", err
	}
	return s.graphDrawing(r, g, id, nil), leftOut(g.Left), nil
}

// graphDrawing returns the drawing of a graph of the API. The requirements of a box stand above it.
// unfold returns the URL that unfolds a box.
func (s *site) graphDrawing(
	r *request, g api.Graph, current resource.ID, unfold func(*api.GraphNode) string,
) drawingView {
	in := layout.Graph{Title: "Graph of resources"}
	titles := map[string]string{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		st := statusOf(n.Status)
		node := layout.Node{ID: n.Key, Title: n.Agent + " · " + n.Type, Count: n.Count,
			Status:  layout.Status{Class: st.Tone, Icon: "i-" + st.Icon, Word: st.Word},
			Wrong:   st.Tone == "bad" || st.Tone == "warn",
			Current: n.ID != "" && n.ID == current}
		switch {
		case n.ID != "":
			node.Title, node.Count = keyOf(n.ID), 0
			node.Hint = strings.TrimSpace(string(n.ID) + " " + n.Reason)
			node.Wrong = node.Wrong || n.Cause
			if r.hasPage("GET /console/{env}/resource") {
				node.URL = r.url("resource", "id", string(n.ID))
			}
		case unfold != nil:
			node.Hint, node.URL = "show its resources", unfold(n)
		}
		titles[n.Key] = cmp.Or(string(n.ID), node.Title)
		in.Nodes = append(in.Nodes, node)
	}
	for _, e := range g.Edges {
		in.Edges = append(in.Edges, layout.Edge{From: e.To, To: e.From, Count: e.Count,
			Title: titles[e.From] + " requires " + titles[e.To] + times(e.Count)})
	}
	return s.draw(r, in, "requires", "required by")
}

// times returns how many edges a line stands for; "" for one.
func times(n int) string {
	if n <= 1 {
		return ""
	}
	return " (" + number(n) + ")"
}

// keyOf returns the part of an id that distinguishes resources of a type: the values of its keys.
func keyOf(id resource.ID) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(string(id), id.Type()+"["), "]")
	_, keys, has := strings.Cut(inner, ",")
	if _, value, is := strings.Cut(keys, "="); has && is && value != "" {
		return value
	}
	return string(id)
}
