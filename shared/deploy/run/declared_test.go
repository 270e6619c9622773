package run_test

import (
	"strings"
	"testing"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// TestDeclared pins which rows are of declared types: those that name a declaration, unless the
// program has a handler for the type. Data of such a type may have members of any name.
func TestDeclared(t *testing.T) {
	t.Parallel()
	file := resource.File{Hash: strings.Repeat("0", 64), Size: 1}
	n := run.New(run.Config{Handlers: map[string]provider.Handler{
		"own::Known": struct{ provider.Handler }{}}}, nil)
	for _, c := range []struct {
		reason, typ string
		attributes  map[string]any
		want        bool
	}{
		{"it names a declaration", "br::Thing", map[string]any{model.TypeAttribute: file}, true},
		{"it names none", "br::Thing", map[string]any{"name": "x"}, false},
		{"a member of its data has that name", "own::Known",
			map[string]any{"body": map[string]any{model.TypeAttribute: file}}, false},
	} {
		id := resource.NewID(c.typ, "a", resource.Key{Name: "name", Value: "x"})
		body, err := (&resource.Resource{ID: id, Type: c.typ, Agent: "a", Attributes: c.attributes}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got := run.Declared(n, &state.Row{ID: id, Intent: state.Intent{Body: body}}); got != c.want {
			t.Errorf("%s: got %t", c.reason, got)
		}
	}
}
