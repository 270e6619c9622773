package worker

import (
	"bytes"
	"context"
	"slices"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/resource"
)

// runGroup runs claims of one type together and gives each its result. A claim whose outcome cannot
// be known yet gets no result and stays scheduled.
func (b *batch) runGroup(ctx context.Context, group []*claim) error {
	if err := b.fetchDeps(ctx, group); err != nil {
		return err
	}
	var rows []*state.Row
	for _, c := range group {
		if c.secrets {
			rows = append(rows, c.row)
		}
	}
	b.Runs.PrefetchSecrets(ctx, rows)
	group, runs, inputs := b.prepareAll(ctx, group)
	mark := func(ctx context.Context, r *run.Run) (bool, error) {
		b.Lock()
		defer b.Unlock()
		return b.markCreating(ctx, group[slices.Index(runs, r)], r)
	}
	scheduled := func(typ string) []resource.ID {
		b.Lock()
		defer b.Unlock()
		return b.scheduledOf(typ)
	}
	x := &run.Executor{Runner: b.Runs, Runs: runs, Mark: mark, Cover: b.cover, Renew: b.renew, Keep: b.keep,
		Strict: b.stored.Settings.Strict, Scheduled: scheduled}
	n := b.connect(ctx, runs)
	b.Unlock()
	n = b.resolve(ctx, runs[:n], inputs)
	group, runs = group[:n], runs[:n]
	x.Runs = runs
	err := x.Execute(ctx)
	b.Lock()
	if err != nil && !x.LeaseLost() {
		b.unrecorded++
		return err
	}
	for i, r := range runs {
		if r.Over() {
			group[i].result = r.Finish()
		}
	}
	return err
}

// connect connects runs to their agent. It returns how many of the runs are carried out. If the
// caller gives up, the rest is not: an error about an agent or a secret, such as a cut connection,
// would then be caused by the caller.
func (b *batch) connect(ctx context.Context, runs []*run.Run) int {
	for i, r := range runs {
		if !r.Over() {
			b.Runs.Connect(ctx, r, b.agent.Agent)
		}
		if ctx.Err() != nil {
			return i
		}
	}
	return len(runs)
}

// resolve resolves the references of runs. It returns how many of them are carried out, like
// connect.
func (b *batch) resolve(ctx context.Context, runs []*run.Run, inputs []run.Inputs) int {
	for i, r := range runs {
		if !r.Over() {
			b.Runs.Resolve(ctx, r, inputs[i])
		}
		if ctx.Err() != nil {
			return i
		}
	}
	return len(runs)
}

// prepareAll creates the runs of claims, and returns them with the claims that run and the inputs of
// these runs.
func (b *batch) prepareAll(
	ctx context.Context, group []*claim,
) ([]*claim, []*run.Run, []run.Inputs) {
	wanted := make([]run.Wanted, 0, len(group))
	claims := make([]*claim, 0, len(group))
	for _, c := range group {
		if ctx.Err() != nil {
			break
		}
		if b.superseded(c) {
			b.stale.mark()
			continue
		}
		claims, wanted = append(claims, c), append(wanted, run.Wanted{Row: c.row, Known: c.res})
	}
	runs := b.Runs.NewRuns(ctx, b.env, wanted, &b.session)
	inputs := make([]run.Inputs, len(runs))
	for i, c := range claims {
		inputs[i] = b.prepare(c, runs[i])
	}
	return claims, runs, inputs
}

// prepare decides how a claim runs. The run is over if it cannot be carried out. prepare returns
// what the run needs of the rows that the worker has read.
func (b *batch) prepare(c *claim, r *run.Run) run.Inputs {
	r.Follows = c.at
	if c.depth > 0 {
		r.Follows = r.Started
	}
	r.Action.Action = state.ActionDeploy
	if c.row.Ticket() == 0 || c.row.Priority == state.PriorityUserRepair ||
		c.row.Priority == state.PriorityRepairTimer {
		r.Action.Action = state.ActionRepair
	}
	if r.Over() {
		return run.Inputs{}
	}
	causes, reload := step.Start(c.row, r.Intent(), b.requirements(c))
	if len(causes) > 0 && !r.ReportOnly {
		r.Causes = causes
		r.End(state.StatusSkipped, "", "requires "+joinIDs(causes, 3)+", which is not deployed")
		return run.Inputs{}
	}
	return run.Inputs{Reload: len(reload) > 0, Need: b.needOf(c),
		First: c.row.SucceededAt.IsZero(), Facts: c.row.AskedForFacts(), Released: b.stored.Released}
}

// markCreating records data of a run before it acts: the token of a create, the notes, and facts
// that the handler remembers. After a crash, the outcome of a create could not be read from the
// real thing. markCreating returns false if another writer has changed the row since it was read;
// then the run must not go on.
func (b *batch) markCreating(ctx context.Context, of *claim, r *run.Run) (bool, error) {
	row := *of.row
	r.Mark(&row)
	c := state.Commit{Rows: []state.Row{row}, Parameters: factsOf(row.ID, r.Facts, b.Clock.Now()),
		AddOutbox: b.remembered(of, r),
		Until:     b.Clock.Now().Add(b.Runs.HeldFor(&row, r.Intent()) + state.LeaseMargin)}
	b.keepRunning(&c)
	done, err := b.commit(ctx, c)
	if err != nil {
		return false, err
	}
	for i := range done.Conflicts {
		if c := &done.Conflicts[i]; c.Creating != row.Creating || !bytes.Equal(c.Notes, row.Notes) {
			b.stale.mark()
			return false, nil
		}
	}
	row.Rev++
	of.row = &row
	if b.rows.of(of.node) != nil {
		b.rows[of.node] = &row
	}
	return true, nil
}
