package step

import (
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Start returns the root causes for which a run of a resource is skipped, if there are any, and the
// resources for whose changes it reloads. requires are the rows of its requirements; nil: gone.
func Start(
	r *state.Row, res *resource.Resource, requires []*state.Row,
) (causes, reload []resource.ID) {
	if res.ReceiveEvents {
		reload = r.PendingPurges()
	}
	for _, of := range requires {
		if of == nil {
			continue
		}
		if !of.Gone && !of.AsWanted() {
			for _, id := range of.RootCauses() {
				if !slices.Contains(causes, id) {
					causes = append(causes, id)
				}
			}
		}
		// A resource that never succeeded has missed every change.
		if res.ReceiveEvents && of.ChangedSince(r.SucceededAt) && of.SendsEventsTo(res) {
			reload = append(reload, of.ID)
		}
	}
	return causes, reload
}
