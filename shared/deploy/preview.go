package deploy

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Preview returns all changes that an apply of a model would make. With opts.Read, it also returns
// the drift that the apply would correct. It makes the same plan as an export and stores nothing;
// see docs/design/preview.md.
func (e *Engine) Preview(
	ctx context.Context, env string, x planner.Export, opts CompareOptions,
) (DryRun, error) {
	// Leases are read before rows, since the next worker of a lane marks these resources in their
	// rows.
	lost, err := e.lost(ctx, env)
	if err != nil {
		return DryRun{}, err
	}
	d, err := e.planner().Draft(ctx, env, x, opts.Whole)
	if err != nil {
		return DryRun{}, err
	}
	for i := range lost {
		for _, id := range lost[i].Running {
			row := cmp.Or(d.Rows[id], d.Beside[id])
			if row != nil && row.MayRunIn(lost[i].Key) {
				*row, _ = step.Next(*row, step.HolderLost{})
			}
		}
	}
	agents, err := e.State.Agents(ctx, env)
	if err != nil {
		return DryRun{}, fault.Wrap(fault.Unknown, "read agents", err)
	}
	before := make([]resource.Agent, 0, len(agents))
	for _, a := range agents {
		before = append(before, a.Agent)
	}
	out := DryRun{State: d.State, Planned: d.Planned, Agents: agentChanges(before, d.Agents)}
	again := recheck(d.Planned, out.Agents)
	if !opts.Read {
		sayUnremoved(out.Planned, d.Rows)
		sayLeft(out.Planned, d.Left)
		out.Planned = e.withReloads(out.Planned, d.Graph, d.Rows, d.Beside)
		sayReached(out.Planned, out.Agents, false)
		sayMoved(out.Planned, d.Moves)
		return out, sayFollowed(out.Planned, d.Graph, d.Rows)
	}
	r := &dryRunner{e: e, runs: e.runner(), env: env, agents: d.Agents, files: x.Model.Files,
		whole: opts.Whole, from: opts.From, strict: d.Strict}
	if opts.From.State != out.State {
		r.from.Known = nil // of another plan
	}
	r.out.State, r.out.Agents = out.State, out.Agents
	err = r.read(ctx, d, before)
	if err == nil && len(r.out.Unread) == 0 {
		sayRechecked(r.out.Planned, again)
		sayLeft(r.out.Planned, d.Left)
		r.out.Planned = e.withReloads(r.out.Planned, d.Graph, d.Rows, d.Beside)
		sayReached(r.out.Planned, out.Agents, true)
		sayMoved(r.out.Planned, d.Moves)
		err = sayFollowed(r.out.Planned, d.Graph, d.Rows)
	}
	return r.out, err
}

// lost returns the leases of workers that ended in the middle of a run. The resources that these
// workers ran may have changed without a record. If such a resource notifies others of changes,
// those reload after it succeeds. A lane that no longer has resources gets no further worker, so
// its lease stays.
func (e *Engine) lost(ctx context.Context, env string) ([]state.Lease, error) {
	leases, err := e.State.Leases(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read leases", err)
	}
	atWork := func(l state.Lease) bool { return e.client().AtWork(&l) }
	return slices.DeleteFunc(leases, atWork), nil
}

// sayUnremoved adds the reason of the last run to each resource that left the model and is still to
// be removed. A resource that was never run gets no reason.
func sayUnremoved(planned []planner.PlannedChange, rows map[resource.ID]*state.Row) {
	for i := range planned {
		w := &planned[i]
		row := rows[w.ID]
		if w.Action == "delete" && w.Reason == "" && row != nil && row.Counts() {
			w.Reason = row.Why()
		}
	}
}

// sayMoved records the former id of each moved resource.
func sayMoved(planned []planner.PlannedChange, moves []planner.Move) {
	from := make(map[resource.ID]resource.ID, len(moves))
	for _, m := range moves {
		from[m.To] = m.From
	}
	for i := range planned {
		planned[i].MovedFrom = from[planned[i].ID]
	}
}

// sayLeft notes on each resource to be deleted that resources left behind require it. A directory,
// for example, stays if it contains such a resource, or is removed with all of its contents if its
// attributes request that.
func sayLeft(planned []planner.PlannedChange, left map[resource.ID][]resource.ID) {
	for i := range planned {
		w := &planned[i]
		stay := left[w.ID]
		if w.Action != "delete" || w.Reason != "" || len(stay) == 0 {
			continue
		}
		first, more := slices.Min(stay), ""
		if len(stay) > 1 {
			more = fmt.Sprintf(" and %d more", len(stay)-1)
		}
		w.Reason = fmt.Sprintf("remaining resources require it, and may prevent its removal or be removed "+
			"with it: %s%s", first, more)
	}
}

// sayCreated completes the results for objects that do not exist: the attributes of their creation
// are known without reading.
func sayCreated(read []planner.PlannedChange, planned map[resource.ID]*planner.PlannedChange) {
	for i := range read {
		w := &read[i]
		if was := planned[w.ID]; was != nil && len(w.Changes) == 0 && !w.Failed &&
			w.Action == "create" && was.Action == w.Action {
			w.Changes = was.Changes
		}
	}
}

// onlyReports reports whether a resource is only compared. It is false for a nil row.
func onlyReports(row *state.Row) bool {
	if row == nil {
		return false
	}
	res, err := resource.Decode(row.Body)
	return err == nil && res.ReportOnly
}

// Check returns the error with which Export would refuse an export, and changes nothing.
func (e *Engine) Check(ctx context.Context, env string, x planner.Export) error {
	return e.planner().Check(ctx, env, x)
}

// read compares the planned resources with reality, and adds the resources that leave. The agents
// in force are passed as before.
func (d *dryRunner) read(
	ctx context.Context, s *planner.Draft, before []resource.Agent,
) error {
	known := state.LanesOf(d.agents)
	for _, a := range before { // for the resources that leave
		if known[a.Name] == 0 {
			d.agents = append(d.agents, a)
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
			rows[w.ID] = &state.Row{
				ID:     w.ID,
				Intent: state.Intent{Agent: now.Agent, Version: now.Version, Hash: now.Hash, Body: now.Body},
			}
			// Until another object is removed, a handler would find that object. A handler cannot
			// compare with values that are not known.
			blocked[w.ID] = w.Action == "undefined" || w.Failed || now.Undefined() ||
				s.WaitsForRemoval(w.ID)
		}
	}
	err := d.compare(
		ctx,
		g,
		rows,
		blocked,
		func(id resource.ID) planner.PlannedChange { return *planned[id] },
	)
	if err != nil || len(d.out.Unread) > 0 {
		return err
	}
	sayCreated(d.out.Planned, planned)
	d.after(g, planned)
	d.unmet(g)
	d.skip(g, s.Rows)
	for i := range s.Planned {
		if s.Planned[i].Action == "orphan" {
			d.out.Planned = append(d.out.Planned, s.Planned[i])
		}
	}
	return nil
}
