package deploy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// vault is a service that gives each of its boxes a number and a password, which it tells once. A
// box can grow, and cannot shrink.
type vault struct {
	boxes map[string]int // sizes by password
	made  int
}

// boxHandler is an example of a handler that needs everything of a run: it keeps what the vault
// tells once, carries what it has read, and decides what has to be replaced.
type boxHandler struct{ *vault }

// boxState is what it keeps of a box.
type boxState struct {
	Number   int    `json:"number"`
	Password string `json:"password"`
}

// box is what it carries.
type box struct {
	boxState
	size   int
	shrink bool // Diff adds the way of the change
}

// Keeps implements provider.Keeper.
func (boxHandler) Keeps(provider.Resource) bool { return true }

// read finds a box by the password that was kept. Calls that got nothing carried use it as well.
func (h boxHandler) read(c *provider.Context) (*box, error) {
	if len(c.Kept()) == 0 {
		return nil, nil
	}
	var b box
	if err := json.Unmarshal(c.Kept(), &b.boxState); err != nil {
		return nil, provider.Errorf(provider.Terminal, "the kept state does not decode: %w", err)
	}
	c.Secret(b.Password)
	size, exists := h.boxes[b.Password]
	if !exists {
		return nil, nil
	}
	b.size = size
	return &b, nil
}

// Read implements provider.Handler.
func (h boxHandler) Read(
	c *provider.Context, _ provider.ReadRequest,
) (provider.Observation, error) {
	b, err := h.read(c)
	if err != nil || b == nil {
		return provider.Observation{}, err
	}
	return provider.Observation{Exists: true, Carried: b,
		Attributes: map[string]any{"size": int64(b.size), "number": int64(b.Number)}}, nil
}

// Diff implements provider.Differ.
func (boxHandler) Diff(
	_ *provider.Context, want provider.Resource, seen provider.Observation,
) (map[string]diff.Diff, error) {
	have, need := seen.Attributes["size"].(int64), want.Attributes["size"].(int64)
	if have == need {
		return nil, nil
	}
	if b, carried := seen.Carried.(*box); carried {
		b.shrink = need < have
	}
	return map[string]diff.Diff{"size": {Current: have, Desired: need, Replace: need < have}}, nil
}

// Create implements provider.Handler. The password is kept before anything else can fail.
func (h boxHandler) Create(
	c *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	h.made++
	is := boxState{h.made, fmt.Sprintf("s3cret-%d", h.made)}
	size, _ := req.Resource.Attributes["size"].(int64)
	h.boxes[is.Password] = int(size)
	c.Secret(is.Password)
	text, err := json.Marshal(is)
	if err == nil {
		err = c.Keep(text)
	}
	c.Info("made a box", "password", is.Password) // the log does not show it
	return provider.Result{}, err
}

// Update implements provider.Handler.
func (h boxHandler) Update(
	c *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	b, carried := req.Observed.Carried.(*box)
	if !carried {
		var err error
		if b, err = h.read(c); err != nil || b == nil {
			return provider.Result{}, err
		}
	}
	if b.shrink {
		return provider.Result{}, provider.Errorf(provider.Terminal, "a box does not shrink")
	}
	size, _ := req.Resource.Attributes["size"].(int64)
	h.boxes[b.Password] = int(size)
	return provider.Result{}, nil
}

// Delete implements provider.Handler. The engine removes the kept state of a purged resource; that
// of a replaced box is replaced by Create.
func (h boxHandler) Delete(
	c *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	b, err := h.read(c)
	if b != nil {
		delete(h.boxes, b.Password)
	}
	return provider.Result{}, err
}

// TestExampleHandler runs the example through its life: made, grown, replaced, moved, purged.
func TestExampleHandler(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	types, err := schema.NewRegistry(schema.Type{Name: "t::Box", Thing: schema.ByIdentity("name"),
		Attributes: []schema.Attribute{
			{Name: "label", Type: "String[1]", Behaviour: schema.Namevar},
			{Name: "name", Type: "String[1]", Behaviour: schema.Parameter},
			{Name: "size", Type: "Integer"}, {Name: "number", Type: "Integer", Behaviour: schema.ReadOnly},
		}})
	if err != nil {
		t.Fatal(err)
	}
	v := &vault{boxes: map[string]int{}}
	r.e.Types, r.e.Handlers = types, map[string]provider.Handler{"t::Box": boxHandler{v}}
	r.e.Sealer = r.home.Sealer(r.home.Secrets(), "")
	for _, c := range []struct {
		why, label string
		size       int64
		purged     bool
		boxes      map[string]int
		replaced   bool
	}{
		{"made", "one", 2, false, map[string]int{"s3cret-1": 2}, false},
		{"grown", "one", 3, false, map[string]int{"s3cret-1": 3}, false},
		{"shrunk: another one", "one", 1, false, map[string]int{"s3cret-2": 1}, true},
		{"moved", "two", 1, false, map[string]int{"s3cret-2": 1}, false},
		{"grown under its new label", "two", 4, false, map[string]int{"s3cret-2": 4}, false},
		{"purged", "two", 4, true, map[string]int{}, false},
	} {
		res := resource.Resource{Type: "t::Box", Agent: "a", Flags: resource.Flags{Purged: c.purged},
			ID:         resource.NewID("t::Box", "a", resource.Key{Name: "label", Value: c.label}),
			Attributes: map[string]any{"label": c.label, "name": "x", "size": c.size}}
		r.export(deploy.Export{Model: modelOf(res)})
		r.drain()
		row := must(r.e.Row(t.Context(), "e", res.ID))(t)
		if row.Status() != state.StatusDeployed || !maps.Equal(v.boxes, c.boxes) {
			t.Fatalf("%s: %s (%s), %v", c.why, row.Status(), row.Reason, v.boxes)
		}
		if a := r.lastOf(res.ID); a.Replaced != c.replaced || strings.Contains(fmt.Sprint(a), "s3cret") {
			t.Errorf("%s: the record says replaced %v, and %v", c.why, a.Replaced, a.Messages)
		}
	}
	if left := must(r.home.KeptIDs(t.Context(), "e"))(t); len(left) != 0 {
		t.Errorf("kept after the purge: %v", left)
	}
}
