package engine

import (
	"math/rand/v2"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// preserves sets prevent_destroy on some resources in one plan in four, from some export on or
// until another. Occasionally this contradicts the other flags.
func (d *drawer) preserves(rng *rand.Rand) {
	if rng.IntN(4) != 0 && (d.focus == nil || !d.focus.preserves) {
		return
	}
	keeps := map[resource.ID]bool{}
	for _, s := range d.pool {
		keeps[s.id] = rng.IntN(2) == 0
	}
	for i := range d.p.Ops {
		o := &d.p.Ops[i]
		if o.kind != opExport {
			continue
		}
		s := d.pool[rng.IntN(len(d.pool))]
		keeps[s.id] = !keeps[s.id]
		o.model = slices.Clone(o.model)
		contradicts := o.At > 0 && rng.IntN(30) == 0
		for j := range o.model {
			f := &o.model[j].flags
			if f.PreventDestroy = keeps[o.model[j].id] &&
				(!f.Purged || contradicts); f.PreventDestroy && !contradicts {
				f.PurgeOnDelete = false
			}
		}
	}
}

// checkPreserved checks that no object is deleted whose claimed intent forbids its destruction. An
// exception is the remainder of a completed replacement.
func checkPreserved(
	r *run, t *task, id resource.ID, res provider.Resource, observed provider.Observation,
) {
	claimed, known := t.books.claims[id]
	if !known || t.books.orphaned || !r.books.live(r, t) {
		return
	}
	want, err := resource.Decode([]byte(claimed.body))
	if err != nil || !want.PreventDestroy {
		return
	}
	serial, of := observed.Attributes["serial"].(int64)
	leftover := of &&
		slices.ContainsFunc(r.world.thing(id).made,
			func(m *copyOf) bool { return m.serial > serial })
	if !leftover {
		r.violate("preserve", "%s deletes %s (purged: %v), and prevent_destroy forbids that",
			t.name, id, res.Purged)
	}
}

// isPrevented reports whether a resource differs in a way that requires its replacement, and its
// destruction is forbidden.
func isPrevented(r *run, id resource.ID, res *resource.Resource, have, want parts) bool {
	return replaces(id) && res.PreventDestroy && !res.ReportOnly && want.fixed != 0 &&
		have.fixed != want.fixed
}

// isPreserved is isPrevented for the intent in a row.
func isPreserved(r *run, row *state.Row, have, want parts) bool {
	res, err := resource.Decode(row.Body)
	return err == nil && isPrevented(r, row.ID, res, have, want)
}
