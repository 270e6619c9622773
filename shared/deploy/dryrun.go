package deploy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/deploy/worker"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// DryRun compares a version with reality and changes nothing. Number 0 stands for the released
// version. DryRun holds a lane while it reads the resources of that lane, so that nothing runs
// there concurrently. Each comparison is recorded as an action.
func (e *Engine) DryRun(ctx context.Context, env string, number int) (DryRun, error) {
	return e.DryRunOf(ctx, env, number, state.Filter{}, CompareOptions{})
}

// DryRunOf is DryRun of those resources of a version that a filter selects. If opts.Whole is set,
// the result has values at full length. The length of recorded values is bounded in any case.
func (e *Engine) DryRunOf(ctx context.Context, env string, number int, only state.Filter,
	opts CompareOptions) (DryRun, error) {
	stored, err := e.State.Env(ctx, env)
	if err != nil {
		return DryRun{}, fault.Wrap(fault.Unknown, "read environment", err)
	}
	if number == 0 {
		number = stored.Released
	}
	v, err := e.client().FindVersion(ctx, stored, number)
	if err != nil {
		return DryRun{}, err
	}
	byID, err := version.ReadChunks(ctx, e.Files, v.Chunks)
	if err != nil {
		return DryRun{}, err
	}
	status, err := e.client().InState(ctx, env, only)
	if err != nil {
		return DryRun{}, err
	}
	d := &dryRunner{e: e, runs: e.runner(), env: env, version: number, agents: v.Agents,
		record: true,
		whole:  opts.Whole, from: opts.From, strict: stored.Settings.Strict}
	d.only = func(r *resource.Resource) bool {
		return only.Picks(r.ID,
			r.Set) && (status == nil || status[r.ID])
	}
	entries, misfits, err := e.planner().WithValues(ctx, env, version.SortedEntries(byID), v.Agents)
	if err != nil {
		return DryRun{}, err
	}
	return d.run(ctx, entries, misfits)
}

// dryRunner holds the state of one call of DryRun or Preview.
type dryRunner struct {
	e       *Engine
	runs    *run.Runner
	env     string
	version int
	agents  []resource.Agent
	files   map[string]state.Blob
	record  bool
	only    func(*resource.Resource) bool // selects the resources to compare
	whole   bool                          // values at full length
	strict  provider.Strictness
	from    Reading
	out     DryRun
	results map[resource.ID]planner.PlannedChange // results so far
	inLane  []*state.Row                          // the rows of the lane that is being read
}

// late reports whether no further read may begin.
func (d *dryRunner) late(ctx context.Context) bool {
	return ctx.Err() != nil || !d.from.Until.IsZero() && !d.e.Clock.Now().Before(d.from.Until)
}

// cut returns the reason why a comparison ended early, or nil if it did not.
func cut(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fault.Wrap(fault.KindOf(context.Cause(ctx)), "compare with reality", context.Cause(ctx))
}

// agent returns the agent of a lane.
func (d *dryRunner) agent(lane string) resource.Agent {
	for _, a := range d.agents {
		if a.Name == lane {
			return a
		}
	}
	return model.LocalAgent(lane)
}

// scheduledOf returns the resources of a type that are to be read in the same session.
func (d *dryRunner) scheduledOf(typ string) []resource.ID {
	var out []resource.ID
	for _, r := range d.inLane {
		if r.ID.Type() == typ {
			out = append(out, r.ID)
		}
	}
	return out
}

// hideSecrets hides the attributes that hold secrets according to current or earlier intents, since
// the objects still show those secrets. It is called after reading, because another version may be
// deployed concurrently.
func (d *dryRunner) hideSecrets(ctx context.Context, runs []*run.Run) error {
	ids := make([]resource.ID, len(runs))
	for i, r := range runs {
		ids[i] = r.Resource
	}
	have, err := d.e.client().Rows(ctx, d.env, ids)
	for _, r := range runs {
		if row := have[r.Resource]; row != nil {
			r.Reread(row)
		}
	}
	return err
}

// run compares entries with reality, lane by lane, and reports on them in execution order. misfits are
// the reasons of those whose values do not fit.
func (d *dryRunner) run(
	ctx context.Context, entries []version.Entry, misfits map[resource.ID]string,
) (DryRun, error) {
	d.out.Version = d.version
	rows := make(map[resource.ID]*state.Row, len(entries))
	nodes := make([]version.Node, 0, len(entries))
	purged := map[resource.ID]bool{}
	var others []resource.ID
	for i := range entries {
		res, err := resource.Decode(entries[i].Body)
		if err != nil {
			return d.out, fault.Wrap(fault.Damaged, "read version", err)
		}
		rows[res.ID] = &state.Row{
			ID: res.ID,
			Intent: state.Intent{Agent: res.Agent, Version: d.version, Hash: entries[i].Hash,
				Body: entries[i].Body, Missing: model.Missing(res.Attributes), Problem: misfits[res.ID]},
		}
		nodes = append(nodes, version.Node{ID: res.ID, Requires: res.Requires})
		if res.Purged {
			purged[res.ID] = true
		}
		if !d.only(res) {
			others = append(others, res.ID)
		}
	}
	g := version.NewGraph(version.ReversePurged(nodes, purged))
	blocked := map[resource.ID]bool{}
	for _, n := range g.Order() {
		id := g.IDs[n]
		blocked[id] = len(rows[id].Missing) > 0
		for _, q := range g.Requires(n) {
			blocked[id] = blocked[id] || blocked[g.IDs[q]]
		}
	}
	for _, id := range others {
		delete(rows, id)
	}
	err := compareAll(ctx, d, g, rows, blocked)
	if err == nil && len(d.out.Unread) == 0 {
		d.after(g, nil)
		d.unmet(g)
		d.skip(g, rows)
		if err = d.reloads(ctx, g, rows); err == nil {
			err = sayFollowed(d.out.Planned, g, rows)
		}
	}
	return d.out, err
}

// lanes compares the rows of lanes. If an error or the time limit ends the comparison early, the
// agents that remain are listed in d.out.Unread.
func (d *dryRunner) lanes(ctx context.Context, byLane map[string][]*state.Row) error {
	lanes, left := slices.Sorted(maps.Keys(byLane)), []string(nil)
	others, err := d.others(ctx, lanes, byLane)
	if err != nil {
		d.out.Unread = lanes
		return err
	}
	for i, lane := range lanes {
		if d.from.Progress != nil {
			d.from.Progress(slices.Concat(left, lanes[i:]))
		}
		if !others[lane] {
			if err := d.lane(ctx, lane, byLane[lane]); err != nil {
				d.out.Unread = append(left, lanes[i:]...)
				return err
			}
		}
		for _, row := range byLane[lane] {
			if _, read := d.results[row.ID]; !read {
				left = append(left, lane)
				break
			}
		}
	}
	d.out.Unread = left
	return nil
}

// lane compares the rows of one lane under its lease, within the time limit. First, it marks the
// resources that the previous holder was running, since any commit under the lease would clear the
// list of these resources.
func (d *dryRunner) lane(ctx context.Context, key string, rows []*state.Row) error {
	if d.late(ctx) {
		return cut(ctx)
	}
	parts := slices.Collect(slices.Chunk(groupByType(rows), run.MaxGroup))
	lease, free, err := d.e.client().AcquireUnless(ctx, d.env, key, d.readLimit(parts[0]),
		func() bool { return d.late(ctx) })
	if err != nil || !free {
		return err
	}
	if err := worker.MarkInterrupted(ctx, d.e.client(), d.env, lease); err != nil {
		if len(lease.Running) == 0 {
			d.e.client().Release(ctx, d.env, lease)
		}
		return err
	}
	defer d.e.client().Release(ctx, d.env, lease)
	var s run.Session
	defer s.Close()
	agent := d.agent(key)
	d.inLane = rows
	for i, part := range parts {
		if d.late(ctx) {
			return cut(ctx)
		}
		found, actions, err := d.part(ctx, part, &s, agent)
		if err != nil {
			return err
		}
		c := state.Commit{Guard: state.Guard{Key: lease.Key, Fence: lease.Fence},
			Until: d.e.Clock.Now().Add(state.LeaseMargin)}
		if i+1 < len(parts) {
			c.Until = d.e.Clock.Now().Add(d.readLimit(parts[i+1]))
		}
		if d.record {
			c.Actions = actions
		}
		if _, err := d.e.State.Commit(ctx, d.env, c); err != nil {
			return fault.Wrap(fault.Unknown, "record dry run", err)
		}
		for _, w := range found {
			d.results[w.ID] = w
		}
		d.out.Found = append(d.out.Found, found...)
	}
	return nil
}

// readLimit returns the maximum duration of reading rows of one lane. The lease is held that long.
// If another process acquired the lane during the read, it would change the resources being read,
// and the commit of the results would be refused.
func (d *dryRunner) readLimit(rows []*state.Row) time.Duration {
	each := map[string]time.Duration{} // by type: types are read sequentially
	for _, r := range rows {
		var res *resource.Resource
		if _, asks := provider.As[provider.Timeouter](d.e.Handlers[r.ID.Type()]); asks ||
			run.Declared(d.runs, r) {
			res, _ = resource.Decode(r.Body)
		}
		each[r.ID.Type()] = max(each[r.ID.Type()], d.runs.CallLimit(r, res))
	}
	all := run.DefaultConnectLimit + time.Duration(len(rows))*run.BatchItem + state.LeaseMargin
	for _, limit := range each {
		all += limit
	}
	return all
}

// groupByType returns rows sorted by type, in stable order.
func groupByType(rows []*state.Row) []*state.Row {
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b *state.Row) int {
		return cmp.Compare(a.ID.Type(), b.ID.Type())
	})
	return out
}

// part compares some rows of a lane, within the time limit, and returns the results and the actions
// to record.
func (d *dryRunner) part(ctx context.Context, rows []*state.Row, s *run.Session,
	agent resource.Agent) ([]planner.PlannedChange, []state.Action, error) {
	s.ForgetFailure(d.e.Clock.Now())
	byType := map[string][]*run.Run{}
	for _, row := range rows {
		r := d.runs.NewRun(ctx, d.env, row, nil, s)
		r.SetDry(d.files, d.whole)
		if !r.Over() {
			d.runs.Connect(ctx, r, agent)
		}
		if !r.Over() {
			d.runs.Resolve(ctx, r, run.Inputs{})
		}
		group := row.ID.Type()
		if run.Coded(row) {
			// These resources use a different handler than the one of this program.
			group += " " + model.CodeAttribute
		}
		if run.Declared(d.runs, row) {
			group += " " + run.DeclarationOf(r.Intent())
		}
		byType[group] = append(byType[group], r)
	}
	var found []planner.PlannedChange
	var actions []state.Action
	for _, typ := range slices.Sorted(maps.Keys(byType)) {
		if d.late(ctx) {
			break
		}
		x := &run.Executor{Runner: d.runs, Runs: byType[typ], Dry: true, Seen: d.hideSecrets,
			Strict:    d.strict,
			Scheduled: d.scheduledOf, Late: func() bool { return d.late(ctx) }}
		err := x.Execute(ctx)
		if over := cut(ctx); over != nil {
			err = over // the read may have been interrupted
		}
		if err != nil {
			return nil, nil, err
		}
		for _, r := range x.Runs {
			w, action := d.outcome(r)
			found, actions = append(found, w), append(actions, action)
		}
	}
	return found, actions, nil
}

// outcome returns the result of a resource that was read, and the action that records it.
func (d *dryRunner) outcome(r *run.Run) (planner.PlannedChange, state.Action) {
	act, replaces := r.Decided()
	w := planner.PlannedChange{
		ID:      r.Resource,
		Action:  actionWord(act),
		Changes: r.Shown(),
		Reason:  r.Reason,
		Failed:  r.Over(),
		Replace: replaces,
		Seen:    run.Destroys(r),

		CreateFirst: run.CreatesFirst(r),
	}
	if !w.Failed && r.ReportOnly && act != diff.NoChange {
		w.Action, w.Reason, w.Seen = "none", planner.ReportOnly, ""
		w.Replace, w.CreateFirst = false, false
	}
	if !r.Over() {
		r.Outcome, r.Change = state.StatusDeployed, diff.NoChange
		if act != diff.NoChange {
			r.Outcome = state.StatusNonCompliant
		}
	}
	w.Unavailable = r.Unavailable()
	r.Report()
	if !w.Failed && w.Action != "none" {
		w.Reason = lacks(r.Messages)
	}
	return w, r.Action
}

func actionWord(c diff.Change) string {
	switch c {
	case diff.Created:
		return "create"
	case diff.Updated:
		return "update"
	case diff.Purged:
		return "delete"
	}
	return "none"
}

// others offers the errands of agents to other processes. It returns the agents that this call does
// not read.
func (d *dryRunner) others(ctx context.Context, lanes []string,
	byLane map[string][]*state.Row) (map[string]bool, error) {
	if d.from.Others == nil || len(lanes) == 0 {
		return nil, nil
	}
	var errands []Errand
	at := map[string]int{} // by agent
	for _, lane := range lanes {
		i, known := at[lane]
		if !known {
			i = len(errands)
			at[lane] = i
			errands = append(
				errands,
				Errand{Agent: d.agent(lane), Record: d.record, Whole: d.whole},
			)
		}
		for _, r := range byLane[lane] {
			errands[i].Wanted = append(errands[i].Wanted, Wanted{ID: r.ID, Agent: r.Agent,
				Version: r.Version, Hash: r.Hash, Body: r.Body})
		}
	}
	answers, err := d.from.Others(ctx, errands)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for i, a := range answers {
		if !a.Taken {
			continue
		}
		out[errands[i].Agent.Name] = true
		if a.Whole {
			d.take(errands[i], a.Found)
		}
	}
	return out, nil
}

// take stores results that another process found, but only for the resources in the errand. It
// records a failure for each of them without a result.
func (d *dryRunner) take(e Errand, found []planner.PlannedChange) {
	asked := make(map[resource.ID]bool, len(e.Wanted))
	for i := range e.Wanted {
		asked[e.Wanted[i].ID] = true
	}
	for _, w := range found {
		if asked[w.ID] {
			d.results[w.ID] = w
			delete(asked, w.ID)
		}
	}
	for id := range asked {
		d.results[id] = planner.PlannedChange{ID: id, Action: actionWord(""), Failed: true,
			Reason: "the reader of agent " + e.Agent.Name + " did not report this resource"}
	}
}
