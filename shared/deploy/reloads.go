package deploy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// reloads records the changes for which the resources of a version would reload.
func (d *dryRunner) reloads(
	ctx context.Context, g *version.Graph, rows map[resource.ID]*state.Row,
) error {
	ids := slices.Collect(maps.Keys(rows))
	if !slices.ContainsFunc(ids, func(id resource.ID) bool {
		_, reloads := provider.As[provider.Reloader](d.e.Handlers[id.Type()])
		return reloads || run.Declared(d.runs, rows[id])
	}) {
		return nil
	}
	have, err := d.e.client().Rows(ctx, d.env, ids)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read resources", err)
	}
	for id, row := range rows {
		if is := have[id]; is != nil {
			row.SucceededAt, row.ChangedAt = is.SucceededAt, is.ChangedAt
			row.PossiblyChanged, row.Notes = is.PossiblyChanged, is.Notes
		}
	}
	d.out.Planned = d.e.withReloads(d.out.Planned, g, rows, nil)
	return nil
}

// withReloads records in ReloadFor the changes for which each planned resource would reload. These
// are changes of its requirements that the deploy makes, or that were made since the resource last
// succeeded. It also appends resources that would reload and that are outside the preview (beside).
func (e *Engine) withReloads(
	planned []planner.PlannedChange, g *version.Graph, rows, beside map[resource.ID]*state.Row,
) []planner.PlannedChange {
	at, about := make(map[resource.ID]int, len(planned)), len(planned)
	for i := range planned {
		at[planned[i].ID] = i
	}
	if len(beside) > 0 {
		rows = maps.Clone(rows)
		maps.Copy(rows, beside)
	}
	changes, left := map[resource.ID]bool{}, leaving(planned, at, g, rows)
	for _, n := range g.Order() {
		id := g.IDs[n]
		row := rows[id]
		i, shown := at[id]
		w := planner.PlannedChange{ID: id, Action: "none"}
		if shown {
			w = planned[i]
		}
		if row == nil {
			continue
		}
		switch {
		case !e.mayReload(&w, row):
		case row.SucceededAt.IsZero() && w.Action != "none": // created before a resource is purged
			w.ReloadFor = tells(g, n, nil, row, changes, left[n], false)
		default:
			w.ReloadFor = tells(g, n, rows, row, changes, left[n], shown)
		}
		changes[id] = len(w.ReloadFor) > 0 || shown && isChanged(&w, row)
		switch {
		case shown:
			planned[i] = w
		case changes[id]:
			planned = append(planned, w)
		}
	}
	slices.SortFunc(planned[about:], func(a, b planner.PlannedChange) int {
		return cmp.Compare(a.ID, b.ID)
	})
	return planned
}

// leaving returns, by node, the former requirements of the node that have left the model and would
// be purged. They are purged after the changes of the node itself.
func leaving(
	planned []planner.PlannedChange, at map[resource.ID]int, g *version.Graph,
	rows map[resource.ID]*state.Row,
) map[int32][]resource.ID {
	out := map[int32][]resource.ID{}
	for n, id := range g.IDs {
		row, i := rows[id], 0
		shown := false
		if i, shown = at[id]; !shown || !g.Removing[n] || row == nil || !isChanged(&planned[i], row) {
			continue
		}
		if res, err := resource.Decode(row.Body); err != nil || !res.SendEvent {
			continue
		}
		for _, q := range g.Requires(int32(n)) {
			out[q] = append(out[q], id)
		}
	}
	return out
}

// isChanged reports whether a resource would send a change event, apart from its own reload.
func isChanged(w *planner.PlannedChange, row *state.Row) bool {
	switch w.Action {
	case "create", "update", "delete":
		return !w.Failed
	case "none": // A change by an unsuccessful run is sent after the next successful run.
		return row.PossiblyChanged && !w.Failed && len(w.Changes) == 0
	}
	return false
}

// mayReload reports whether a resource reloads when it receives a change event. A resource that is
// removed or that fails does not reload. A resource that is created for the first time reloads only
// for resources that are purged afterwards.
func (e *Engine) mayReload(w *planner.PlannedChange, row *state.Row) bool {
	return !w.Failed && !row.Removing &&
		(w.Action == "none" || w.Action == "create" || w.Action == "update") &&
		e.runner().Reloads(row)
}

// tells returns the requirements of a resource that send it a change event. These are changes that
// the deploy makes. If runs is set, they include changes made since the resource last succeeded.
func tells(
	g *version.Graph, n int32, rows map[resource.ID]*state.Row, row *state.Row,
	changes map[resource.ID]bool, left []resource.ID, runs bool,
) []resource.ID {
	res, err := resource.Decode(row.Body)
	if err != nil || !res.ReceiveEvents || res.Purged || res.ReportOnly {
		return nil
	}
	was, later := *row, time.Unix(1<<40, 0) // later than all recorded times
	if !runs {
		was.Notes, was.SucceededAt = nil, later
	}
	var requires []*state.Row
	for _, q := range g.Requires(n) {
		of := rows[g.IDs[q]]
		if of == nil || of.Removing {
			continue
		}
		if changes[of.ID] {
			changed := *of
			changed.ChangedAt = later
			of = &changed
		}
		requires = append(requires, of)
	}
	_, reload := step.Start(&was, res, requires)
	return append(slices.Clone(left), reload...)
}
