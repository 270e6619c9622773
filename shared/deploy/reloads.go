package deploy

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// reloads notes for which changes resources of a version would reload.
func (d *dryRunner) reloads(
	ctx context.Context, g *version.Graph, rows map[resource.ID]*state.Row,
) error {
	ids := slices.Collect(maps.Keys(rows))
	if !slices.ContainsFunc(ids, func(id resource.ID) bool {
		_, reloads := provider.As[provider.Reloader](d.e.Handlers[id.Type()])
		return reloads
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
			row.PossiblyChanged = is.PossiblyChanged
		}
	}
	d.out.Planned = d.e.withReloads(d.out.Planned, g, rows, nil)
	return nil
}

// withReloads notes for which changes resources would reload: those of what they require that a
// deploy makes, or has made since they succeeded last. It adds those that a preview is not about
// (beside) and that would reload.
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
	changes := map[resource.ID]bool{}
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
		if e.mayReload(&w, row) {
			w.ReloadFor = tells(g, n, rows, changes, shown)
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

// isChanged reports whether others would be told that a resource has changed, but for its reload.
func isChanged(w *planner.PlannedChange, row *state.Row) bool {
	switch w.Action {
	case "create", "update", "delete":
		return !w.Failed
	case "none": // what a run has changed that did not succeed is told of with the next
		return row.PossiblyChanged && !w.Failed && len(w.Changes) == 0
	}
	return false
}

// mayReload reports whether a resource reloads if it is told of a change: not if it goes, fails, or
// is made for the first time.
func (e *Engine) mayReload(w *planner.PlannedChange, row *state.Row) bool {
	made := row.SucceededAt.IsZero() && w.Action != "none"
	return !made && !w.Failed && !row.Removing &&
		(w.Action == "none" || w.Action == "create" || w.Action == "update") &&
		run.Reloads(e.Handlers[w.ID.Type()], row)
}

// tells returns what a resource requires that tells it of a change: one that a deploy makes or, if
// it is run in any case, that was made since it succeeded last.
func tells(
	g *version.Graph, n int32, rows map[resource.ID]*state.Row, changes map[resource.ID]bool,
	runs bool,
) []resource.ID {
	row := rows[g.IDs[n]]
	res, err := resource.Decode(row.Body)
	if err != nil || !res.ReceiveEvents || res.Purged || res.ReportOnly {
		return nil
	}
	var out []resource.ID
	for _, q := range g.Requires(n) {
		of := rows[g.IDs[q]]
		if of == nil || of.Removing {
			continue
		}
		changed := changes[of.ID] || runs && of.ChangedSince(row.SucceededAt)
		if changed && of.SendsEventsTo(res) {
			out = append(out, of.ID)
		}
	}
	return out
}
