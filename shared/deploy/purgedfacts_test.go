package deploy_test

import (
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestPurgedReferences pins that a resource that is to be purged does not wait for facts that its
// handler does not need: those of a purged resource are gone, so an interrupted removal could not be
// continued.
func TestPurgedReferences(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	types, err := schema.NewRegistry(schema.Type{Name: "t::T", Attributes: []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "note", Type: "Optional[String]"}, {Name: "text", Type: "Optional[String]"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.types = types
	r.use(r.home, "test")
	s := &rack{things: map[resource.ID]map[string]any{}, facts: map[string]any{"host": "h1"}}
	r.e.Handlers["t::T"] = s
	host := resource.Fact{Name: "host", Of: id("source")}
	export := func(purged bool, note string) {
		source, user := res("source"), res("user<source")
		user.Attributes["text"], user.Attributes["note"] = host, note
		m := modelOf(source, user)
		for i := range m.Resources {
			m.Resources[i].Purged = purged
		}
		r.export(deploy.Export{Model: m})
		r.drain()
	}
	export(false, "")
	if s.things[id("user")]["text"] != "h1" || len(s.things) != 2 {
		t.Fatalf("made %v", s.things)
	}
	export(true, "")
	if len(s.things) > 0 {
		t.Errorf("left %v", s.things)
	}
	before := r.row("user")
	export(true, "")
	if after := r.row("user"); after.Hash != before.Hash || after.Status() != state.StatusDeployed {
		t.Errorf("an export without changes makes the row %s: %s", after.Status(), after.Body)
	}
	s.things[id("user")] = map[string]any{"name": "user"} // an interrupted removal
	for _, note := range []string{"again", "and again"} {
		export(true, note)
		r.want("source", state.StatusDeployed)
		r.want("user", state.StatusDeployed)
		if len(s.things) > 0 {
			t.Errorf("left %v", s.things)
		}
	}
	export(false, "")
	if s.things[id("user")]["text"] != "h1" {
		t.Errorf("made again %v", s.things)
	}
}

// TestPurgedWithoutParameter pins that a handler that needs a value to find the object waits for it.
func TestPurgedWithoutParameter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	types, err := schema.NewRegistry(schema.Type{Name: "t::T", Attributes: []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "at", Type: "Optional[String]", Behaviour: schema.Parameter}}})
	if err != nil {
		t.Fatal(err)
	}
	r.types = types
	r.use(r.home, "test")
	r.e.Handlers["t::T"] = &rack{things: map[resource.ID]map[string]any{}}
	source, needs := res("source"), res("needs<source")
	needs.Attributes["at"], needs.Purged = resource.Fact{Name: "host", Of: id("source")}, true
	r.export(deploy.Export{Model: modelOf(source, needs)})
	r.drain()
	r.want("needs", state.StatusUndefined)
}
