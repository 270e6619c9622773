package console

import (
	"html/template"
	"slices"
	"strings"

	"southbound/shared/console/layout"
	"southbound/shared/service/lifecycle"
)

// maxEnds is the number of neighbours that a row of the table beside a drawing names.
const maxEnds = 8

// drawingView is a drawing and the same as a table, for the template "drawing".
type drawingView struct {
	Title  string
	SVG    template.HTML
	Notice string
	Rows   []drawingRow
	Script string
	// The headings of the columns with the neighbours of a row; Counted: the rows have counts.
	Above, Below string
	Counted      bool
}

// drawingRow is a box as a row.
type drawingRow struct {
	Title        cutText
	URL          string
	Hint         string
	Status       statusView
	Count        string
	Current      bool
	Above, Below []drawingEnd
	MoreAbove    string // how many more there are
	MoreBelow    string
}

type drawingEnd struct {
	Title cutText
	Label string
}

// draw returns the view of a graph.
func (s *site) draw(r *request, g layout.Graph, above, below string) drawingView {
	d := layout.Draw(g, layout.Options{})
	v := drawingView{Title: g.Title, Notice: d.Notice, Above: above, Below: below,
		Script: r.root(s.files.url("drawing.js")),
		SVG:    template.HTML(d.SVG()), //nolint:gosec // layout escapes all texts
	}
	for _, row := range d.Rows() {
		line := drawingRow{Title: cut(row.Title, 60), URL: row.URL, Hint: row.Hint,
			Current: row.Current, Status: statusView{Word: row.Status.Word,
				Icon: strings.TrimPrefix(row.Status.Icon, "i-"), Tone: row.Status.Class}}
		if row.Count > 0 {
			line.Count, v.Counted = number(row.Count), true
		}
		line.Above, line.MoreAbove = ends(row.Above)
		line.Below, line.MoreBelow = ends(row.Below)
		v.Rows = append(v.Rows, line)
	}
	return v
}

func ends(all []layout.End) (out []drawingEnd, more string) {
	if n := len(all) - maxEnds; n > 0 {
		all, more = all[:maxEnds], number(n)+" more"
	}
	for _, e := range all {
		out = append(out, drawingEnd{cut(e.Title, 60), e.Label})
	}
	return out, more
}

// lifecycleDrawing returns a lifecycle as a drawing. The state current is marked; "": none. link
// returns the URL of a state; nil: states are no links.
func (s *site) lifecycleDrawing(
	r *request, m *lifecycle.Machine, current string, link func(state string) string,
) drawingView {
	g := layout.Graph{Title: "Lifecycle", Start: m.Initial}
	for _, x := range m.States {
		n := layout.Node{ID: x.Name, Title: x.Name, Current: x.Name == current,
			Status: labelOf(x.Label)}
		if link != nil {
			n.URL = link(x.Name)
		}
		g.Nodes = append(g.Nodes, n)
	}
	for i := range m.Transfers {
		t := &m.Transfers[i]
		g.Edges = append(g.Edges, layout.Edge{From: t.Source, To: t.Target, Label: kindsOf(t),
			Title: t.Source + " → " + t.Target + ": " + kindsOf(t)})
		if t.Error != "" {
			g.Edges = append(g.Edges, layout.Edge{From: t.Source, To: t.Error, Label: "on error",
				Class: "error", Title: t.Source + " → " + t.Error + ": if it fails (" + kindsOf(t) + ")"})
		}
	}
	return s.draw(r, g, "from", "to")
}

// labelOf returns the label of a state as a status of a box.
func labelOf(label string) layout.Status {
	st := layout.Status{Class: "quiet", Icon: "i-dot", Word: label}
	switch label {
	case "success":
		st.Class, st.Icon = "good", "i-check"
	case "warning":
		st.Class, st.Icon = "warn", "i-bar"
	case "danger":
		st.Class, st.Icon = "bad", "i-cross"
	}
	return st
}

// kindsOf returns the triggers of a transfer in words.
func kindsOf(t *lifecycle.Transfer) string {
	var kinds []string
	for _, k := range []struct {
		is   bool
		word string
	}{{t.Auto, "auto"}, {t.OnUpdate, "on update"}, {t.OnDelete, "on delete"},
		{t.APISetState, "set state"}, {t.ResourceBased, "resources"}, {t.Validate, "validate"}} {
		if k.is {
			kinds = append(kinds, k.word)
		}
	}
	return strings.Join(slices.Compact(kinds), ", ")
}
