package deploy

import (
	"fmt"
	"slices"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// maxAfter is the maximum number of changes that a result names as preceding a resource.
const maxAfter = 5

// after corrects the results of resources whose target does not exist yet, such as a database
// behind a service that the plan starts. If the plan changes a direct or indirect requirement of
// such a resource, the resource is known only after that change. The map planned holds the changes
// computed without reading; it may be nil. d.out.Planned must be in execution order.
func (d *dryRunner) after(g *version.Graph, planned map[resource.ID]*planner.PlannedChange) {
	before := map[resource.ID][]resource.ID{} // nearest changed requirements of a resource
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
				w.Action, w.Changes = was.Action, was.Changes
				w.Replace, w.CreateFirst = was.Replace, was.CreateFirst
			}
			w.After, w.Reason = first, afterText(first)
		}
		changes[w.ID] = !w.Failed && len(w.After) == 0 &&
			(w.Action == "create" || w.Action == "update" || w.Action == "delete")
	}
}

// nearest returns the changed requirements of a node. An unchanged requirement contributes its own
// nearest changes. The result has at most maxAfter ids.
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

// afterText describes the changes after which a resource is known.
func afterText(first []resource.ID) string {
	if len(first) == 1 {
		return fmt.Sprintf("known after %s changes", first[0])
	}
	return fmt.Sprintf("known after %s and others change", first[0])
}
