package deploy

import (
	"slices"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// sayFollowed notes on each planned change the known facts that the plan may change: facts of
// resources that it creates or updates, and of resources that follow such facts. An apply gives the
// resource the new value; if the value is the same, it does nothing more.
func sayFollowed(
	planned []planner.PlannedChange, g *version.Graph, rows map[resource.ID]*state.Row,
) error {
	at := make(map[resource.ID]int, len(planned))
	for i := range planned {
		at[planned[i].ID] = i
	}
	learns := map[resource.ID]bool{} // resources whose facts may change
	for _, n := range g.Order() {
		i, shown := at[g.IDs[n]]
		if !shown {
			continue
		}
		w := &planned[i]
		if err := follows(w, rows[w.ID], learns); err != nil {
			return err
		}
		changes := w.Action == "create" || w.Action == "update"
		learns[w.ID] = !w.Failed && (changes || len(w.KnownAfter) > 0)
	}
	return nil
}

// follows notes the facts of one resource; row may be nil.
func follows(w *planner.PlannedChange, row *state.Row, learns map[resource.ID]bool) error {
	if row == nil || w.Failed || row.Removing || !row.Follows() || row.Damaged() {
		return nil
	}
	switch w.Action {
	case "none", "create", "update":
	default:
		return nil
	}
	res, err := resource.Decode(row.Body)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read resource "+string(w.ID), err)
	}
	if res.Purged || res.ReportOnly {
		return nil
	}
	facts, _ := planner.Awaits(res.Followed)
	var may []planner.AwaitedFact
	for _, f := range facts {
		if learns[f.Of] && !slices.Contains(w.KnownAfter, f) {
			f.MayChange = true
			may = append(may, f)
		}
	}
	w.MayFollow(may)
	return nil
}
