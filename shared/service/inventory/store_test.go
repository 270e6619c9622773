package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// TestReferences finds what sets lead to, in members too.
func TestReferences(t *testing.T) {
	t.Parallel()
	s := site(true)
	below := &s.Embedded[0]
	below.Relations = append(below.Relations, definition.Relation{
		Name: "backup", Service: "site", Limits: definition.Limits{Upper: ptr(1)},
	})
	s.Embedded[1].Relations = below.Relations
	got := inventory.References(s,
		object(t, `{"owner": "o", "peers": ["p", "q"], "name": "n", "cache": {"backup": "c"},
 "databases": [{"backup": "d"}, {"backup": null}]}`),
		nil, object(t, `{"owner": "o2", "peers": ["q"], "cache": null}`))
	if d := cmp.Diff([]string{"o", "p", "q", "d", "c", "o2"}, got); d != "" {
		t.Error(d)
	}
}
