package deploy

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Preview says all that an apply of a model would do, and, with opts.Read, what of reality it
// would set right. It makes the plan that an export makes and stores nothing of it; see
// docs/design/preview.md.
func (e *Engine) Preview(
	ctx context.Context, env string, x planner.Export, opts CompareOptions,
) (DryRun, error) {
	d, err := e.planner().Draft(ctx, env, x, opts.Whole)
	if err != nil {
		return DryRun{}, err
	}
	out := DryRun{State: d.State, Planned: d.Planned}
	if !opts.Read {
		out.Planned = e.withReloads(out.Planned, d.Graph, d.Rows, d.Beside)
		return out, nil
	}
	r := &dryRunner{e: e, runs: e.runner(), env: env, agents: d.Agents, files: x.Model.Files,
		whole: opts.Whole, from: opts.From, strict: d.Strict}
	if opts.From.State != out.State {
		r.from.Known = nil // of another plan
	}
	r.out.State = out.State
	err = r.read(ctx, d)
	if err == nil && len(r.out.Unread) == 0 {
		r.out.Planned = e.withReloads(r.out.Planned, d.Graph, d.Rows, d.Beside)
	}
	return r.out, err
}

// onlyReports reports whether a resource is only compared; nil is none.
func onlyReports(row *state.Row) bool {
	if row == nil {
		return false
	}
	res, err := resource.Decode(row.Body)
	return err == nil && res.ReportOnly
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
	_, reloads := provider.As[provider.Reloader](e.Handlers[w.ID.Type()])
	made := row.SucceededAt.IsZero() && w.Action != "none"
	return reloads && !made && !w.Failed && !row.Removing &&
		(w.Action == "none" || w.Action == "create" || w.Action == "update")
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
		changed := runs && !of.ChangedAt.IsZero() && !of.ChangedAt.Before(row.SucceededAt)
		if (changed || changes[of.ID]) && of.SendsEventsTo(res) {
			out = append(out, of.ID)
		}
	}
	return out
}

// Check says why an export would be refused, and does nothing. Its error is that of Export.
func (e *Engine) Check(ctx context.Context, env string, x planner.Export) error {
	return e.planner().Check(ctx, env, x)
}

// read compares what would be in force with reality, and adds what leaves.
func (d *dryRunner) read(ctx context.Context, s *planner.Draft) error {
	agents, err := d.e.State.Agents(ctx, d.env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read agents", err)
	}
	known := state.LanesOf(d.agents)
	for name, a := range agents { // of what leaves
		if known[name] == 0 {
			d.agents = append(d.agents, a.Agent)
		}
	}
	g := s.Graph
	planned := make(map[resource.ID]*planner.PlannedChange, len(s.Planned))
	rows := make(map[resource.ID]*state.Row, len(s.Rows))
	blocked := map[resource.ID]bool{}
	for i := range s.Planned {
		w := &s.Planned[i]
		planned[w.ID] = w
		if now := s.Rows[w.ID]; now != nil {
			rows[w.ID] = &state.Row{ID: w.ID, Lane: now.Lane, Version: now.Version, Hash: now.Hash,
				Body: now.Body}
			// Before another thing makes room, that is what a handler would find.
			blocked[w.ID] = w.Action == "undefined" || w.Failed || s.GetsRoom(w.ID)
		}
	}
	err = d.compare(
		ctx,
		g,
		rows,
		blocked,
		func(id resource.ID) planner.PlannedChange { return *planned[id] },
	)
	if err != nil || len(d.out.Unread) > 0 {
		return err
	}
	d.skip(g, s.Rows)
	for i := range s.Planned {
		if s.Planned[i].Action == "orphan" {
			d.out.Planned = append(d.out.Planned, s.Planned[i])
		}
	}
	return nil
}

// skip notes of what requires something that would not be as wanted that it would be skipped, unless
// it is only compared. What was found is in the order in which it would run.
func (d *dryRunner) skip(g *version.Graph, rows map[resource.ID]*state.Row) {
	lacks := map[resource.ID]bool{}
	for i := range d.out.Planned {
		w := &d.out.Planned[i]
		n := g.Node(w.ID)
		if w.Action == "undefined" || n < 0 {
			continue
		}
		for _, q := range g.Requires(n) {
			if id := g.IDs[q]; lacks[id] && !w.Failed && !onlyReports(rows[w.ID]) {
				w.Failed, w.Reason = true, "would be skipped, since it requires "+string(id)
			}
		}
		lacks[w.ID] = w.Failed || w.Reason == planner.ReportOnly
	}
}
