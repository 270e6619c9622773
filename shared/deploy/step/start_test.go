package step

import (
	"slices"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestStart: a run is skipped for requirements that are not as wanted, and reloads for changes that
// it has not seen.
func TestStart(t *testing.T) {
	t.Parallel()
	required := func(change func(r *state.Row)) *state.Row {
		r := wanted()
		r.ID = "t::T[a,n=2]"
		r.Body = []byte(`{"attributes":{"n":"2"},"id":"t::T[a,n=2]","send_event":true}`)
		change(&r)
		return &r
	}
	as := required(func(*state.Row) {})
	changed := required(func(r *state.Row) { r.ChangedAt = time.Unix(5, 0) })
	hears := resource.Flags{ReceiveEvents: true}
	leave := func(r *state.Row) { r.AddPurges("t::T[a,n=3]") }
	for name, c := range map[string]struct {
		reason   string
		was      func(r *state.Row)
		flags    resource.Flags
		requires []*state.Row
		causes   []resource.ID
		reload   []resource.ID
	}{
		"AsWanted": {reason: "it runs", flags: hears, requires: []*state.Row{as}},
		"Forgotten": {reason: "a requirement without a row is waited for no longer", flags: hears,
			requires: []*state.Row{nil}},
		"Failed": {reason: "a failed requirement is the root cause",
			requires: []*state.Row{as, required(failed)}, causes: []resource.ID{as.ID}},
		"Skipped": {reason: "a skipped requirement passes on its root causes, each once (D6)",
			requires: []*state.Row{required(skipped), required(skipped)},
			causes:   []resource.ID{cause}},
		"Removed": {reason: "a requirement that is purged is gone",
			requires: []*state.Row{required(func(r *state.Row) { failed(r); r.Gone = true })}},
		"Changed": {reason: "of two equal times the change counts as the later", flags: hears,
			requires: []*state.Row{changed}, reload: []resource.ID{as.ID}},
		"ChangedBefore": {reason: "the last success was claimed after the change", flags: hears,
			was:      func(r *state.Row) { r.SucceededAt = time.Unix(6, 0) },
			requires: []*state.Row{changed}},
		"NeverSucceeded": {reason: "it has missed every change", flags: hears,
			was:      func(r *state.Row) { r.SucceededAt = time.Time{} },
			requires: []*state.Row{changed}, reload: []resource.ID{as.ID}},
		"Deaf": {reason: "it receives no events", was: leave, requires: []*state.Row{changed}},
		"Purged": {reason: "no row tells of the purge of a requirement that left", was: leave,
			flags: hears, reload: []resource.ID{"t::T[a,n=3]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := wanted()
			if c.was != nil {
				c.was(&r)
			}
			causes, reload := Start(&r, &resource.Resource{ID: r.ID, Flags: c.flags}, c.requires)
			if !slices.Equal(causes, c.causes) || !slices.Equal(reload, c.reload) {
				t.Errorf("%s: skipped for %v, reloads for %v", c.reason, causes, reload)
			}
		})
	}
}
