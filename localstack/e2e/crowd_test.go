//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// crowd: a first export to more agents than the export function prepares before it answers. The
// rest is prepared by an invocation of its own.
func crowd(t *testing.T, w *world) {
	const agents = 40
	u := w.user(t, "crowd")
	var b strings.Builder
	b.WriteString("southbound: 1\nagents:\n")
	for i := range agents {
		fmt.Fprintf(&b, "  a%02d: {transport: aws, region: us-east-1, role: %q}\n", i, w.role)
	}
	b.WriteString("resources:\n")
	for i := range agents {
		fmt.Fprintf(&b, "  - {type: std::Null, agent: a%02d, attributes: {name: x}}\n", i)
	}
	u.write(t, "crowd.yaml", b.String())
	if s := u.export(t); s.Counts["deployed"] != agents {
		t.Errorf("%d agents: %+v", agents, s)
	}
}
