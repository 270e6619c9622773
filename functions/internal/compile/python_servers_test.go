//go:build servers

package compile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/compile"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/service/bundle"
	"southbound/shared/service/catalog"
	"southbound/shared/service/orders"
)

// TestPython refuses what needs Python, with the cure, and changes nothing: orders wait, and their
// previews and those of a model are unsupported.
func TestPython(t *testing.T) {
	s := newStand(t)
	h := s.f.Home
	main := filepath.Join(t.TempDir(), "main.cf")
	s.must(os.WriteFile(main, []byte(sites), 0o600))
	c, err := compile.Model(t.Context(), compile.Options{Path: main, Types: h.Types})
	s.must(err)
	services, err := catalog.Of(c.Result)
	s.must(err)
	p, err := bundle.Pack(bundle.Model{Main: main, Modules: c.Project.Modules, Env: t.TempDir()})
	s.must(err)
	packed := state.Blob{Hash: p.Digest, Size: int64(len(p.Data)), Data: p.Data}
	one := s.order("one")
	for e := s.receive(); len(e.Records) > 0; e = s.receive() {
		s.serve(e)
	}
	s.up(one)
	before, err := h.Instances.Instance(t.Context(), "prod", one)
	s.must(err)
	refused := func(what string, err error) {
		t.Helper()
		if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "Python") ||
			!strings.Contains(fault.HintOf(err), "southbound run") {
			t.Errorf("%s: %v\n%s", what, err, fault.HintOf(err))
		}
	}
	served := s.f.Service(true)
	_, err = served.PreviewModel(t.Context(), "prod", packed, services, []string{one})
	refused("a model", err)

	s.must(h.Definitions.Put(t.Context(), "prod", p.Digest, services))
	draft := orders.Creation{Service: "site", Attributes: map[string]any{"name": "two"}}
	_, err = served.PreviewOrder(t.Context(), "prod", orders.Draft{Create: &draft})
	refused("an order", err)
	_, err = served.PreviewOrder(t.Context(), "prod", orders.Draft{
		Update: orders.Wish{Ref: orders.Ref{ID: one}}, Attributes: map[string]any{"name": "one"},
	})
	refused("an update", err)
	all, err := h.Orders().List(t.Context(), "prod", orders.Query{})
	s.must(err)
	after, err := h.Instances.Instance(t.Context(), "prod", one)
	s.must(err)
	if len(all.Items) != 1 || after.Rev != before.Rev {
		t.Errorf("previews have left %d instances, and revision %d of %d", len(all.Items), after.Rev,
			before.Rev)
	}

	two := s.order("two")
	for e := s.receive(); len(e.Records) > 0; e = s.receive() {
		s.serve(e)
	}
	r, err := h.Instances.Instance(t.Context(), "prod", two)
	s.must(err)
	if len(r.Tasks) == 0 || !strings.Contains(string(r.Problems), "Python") ||
		!strings.Contains(string(r.Problems), "southbound run") {
		t.Errorf("the order is %s with %v: %s", r.State, r.Tasks, r.Problems)
	}
}
