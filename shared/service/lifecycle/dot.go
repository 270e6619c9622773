package lifecycle

import (
	"fmt"
	"strings"
)

// Dot returns the machine as a graph in the language of Graphviz.
func (m *Machine) Dot() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n  node [shape=box, style=rounded];\n", m.Name)
	colours := map[string]string{"success": "green", "warning": "orange", "danger": "red"}
	for i := range m.States {
		s := &m.States[i]
		fmt.Fprintf(&b, "  %q [", s.Name)
		if colour := colours[s.Label]; colour != "" {
			fmt.Fprintf(&b, "color=%s, ", colour)
		}
		shape := "box"
		if s.Deleted {
			shape = "doublecircle"
		}
		fmt.Fprintf(&b, "shape=%s];\n", shape)
	}
	fmt.Fprintf(&b, "  \"\" [shape=point];\n  \"\" -> %q;\n", m.Initial)
	for i := range m.Transfers {
		t := &m.Transfers[i]
		fmt.Fprintf(&b, "  %q -> %q [label=%q];\n", t.Source, t.Target, t.label())
		if t.Error != "" && t.Error != t.Source {
			fmt.Fprintf(&b, "  %q -> %q [style=dashed, color=red];\n", t.Source, t.Error)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// label returns the triggers of a transfer.
func (t *Transfer) label() string {
	var out []string
	for _, g := range triggers() {
		if g.is(t) {
			out = append(out, g.name)
		}
	}
	if t.APISetState {
		out = append(out, "api_set_state")
	}
	if t.Validate {
		out = append(out, "validate")
	}
	return strings.Join(out, ", ")
}
