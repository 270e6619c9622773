package version_test

import (
	"testing"

	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// TestMaySendEvents pins that whatever has to tell others of its changes is known without being
// decoded, and that what only looks like it does no harm.
func TestMaySendEvents(t *testing.T) {
	t.Parallel()
	tells := func(change func(r *resource.Resource)) version.Entry {
		id := resource.NewID("std::Null", "a", resource.Key{Name: "name", Value: "x"})
		r := resource.Resource{ID: id, Type: "std::Null", Agent: "a",
			Attributes: map[string]any{"name": "x"}, Flags: resource.Flags{ReceiveEvents: true}}
		change(&r)
		en, err := version.NewEntry(&r, resource.Agent{Name: "a", Transport: "local"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := resource.Decode(en.Body); err != nil ||
			got.SendsEvents() && !en.MaySendEvents() {
			t.Errorf("%s tells others, and the entry does not say so (%v)", en.Body, err)
		}
		return en
	}
	for name, c := range map[string]struct {
		change func(r *resource.Resource)
		want   bool
	}{
		"SendsEvent": {func(r *resource.Resource) { r.SendEvent = true }, true},
		"Heard":      {func(r *resource.Resource) { r.Subscribed = true }, true},
		"Plain":      {func(*resource.Resource) {}, false},
		"Text": {func(r *resource.Resource) {
			r.Attributes["content"] = `{"send_event":true,"heard":true}`
		}, false},
		"Member": {func(r *resource.Resource) {
			r.Attributes["content"] = map[string]any{"heard": true}
		}, true},
	} {
		if en := tells(c.change); en.MaySendEvents() != c.want {
			t.Errorf("%s: %v, want %v: %s", name, !c.want, c.want, en.Body)
		}
	}
}
