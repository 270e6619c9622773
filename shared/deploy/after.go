package deploy

import (
	"fmt"
	"slices"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// maxAfter is how many changes are named that come before a resource can be read.
const maxAfter = 5

// after corrects what was found of resources whose target is not there yet, such as a database
// behind a service that the plan starts: if the plan changes something that the resource requires,
// directly or not, the resource is known only after that. planned says what would be done without
// reading; it may be nil. What was found is in the order in which it would run.
func (d *dryRunner) after(g *version.Graph, planned map[resource.ID]*planner.PlannedChange) {
	before := map[resource.ID][]resource.ID{} // the nearest changes of what a resource requires
	changes := map[resource.ID]bool{}
	for i := range d.out.Planned {
		w := &d.out.Planned[i]
		n := g.Node(w.ID)
		if n < 0 {
			continue
		}
		before[w.ID] = nearest(g, n, changes, before)
		if first := before[w.ID]; w.Failed && w.Unavailable && len(first) > 0 {
			*w = planner.PlannedChange{ID: w.ID, Action: "none"}
			if was := planned[w.ID]; was != nil {
				w.Action, w.Changes, w.Replace = was.Action, was.Changes, was.Replace
			}
			w.After, w.Reason = first, afterText(first)
		}
		changes[w.ID] = !w.Failed && len(w.After) == 0 &&
			(w.Action == "create" || w.Action == "update" || w.Action == "delete")
	}
}

// nearest returns the first changes among what a node requires, and of what is unchanged there,
// those behind it.
func nearest(g *version.Graph, n int32, changes map[resource.ID]bool,
	before map[resource.ID][]resource.ID) []resource.ID {
	var out []resource.ID
	for _, q := range g.Requires(n) {
		id := g.IDs[q]
		if changes[id] {
			out = append(out, id)
		} else {
			out = append(out, before[id]...)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxAfter)]
}

// afterText says after which changes a resource is known.
func afterText(first []resource.ID) string {
	if len(first) == 1 {
		return fmt.Sprintf("known after %s changes", first[0])
	}
	return fmt.Sprintf("known after %s and others change", first[0])
}
