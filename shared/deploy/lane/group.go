package lane

import (
	"bytes"
	"context"
	"slices"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
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
	group, runs := b.prepareAll(ctx, group)
	mark := func(ctx context.Context, r *run.Run) (bool, error) {
		return b.markCreating(ctx, group[slices.Index(runs, r)], r)
	}
	x := &run.Executor{Runner: b.Runs, Runs: runs, Mark: mark, Cover: b.cover, Renew: b.renew, Keep: b.keep,
		Strict: b.stored.Settings.Strict, Scheduled: b.scheduledOf}
	err := x.Execute(ctx)
	if err != nil && !x.LaneLost() {
		b.unrecorded = true
		return err
	}
	for i, r := range runs {
		if r.Over() {
			group[i].result = r.Finish()
		}
	}
	return err
}

// prepareAll creates the runs of claims, and returns them with the claims that run. If the caller
// gives up, the rest does not run: an error about an agent or a secret, such as a cut connection,
// would then be caused by the caller.
func (b *batch) prepareAll(ctx context.Context, group []*claim) ([]*claim, []*run.Run) {
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
	for i, c := range claims {
		if b.prepare(ctx, c, runs[i]); ctx.Err() != nil {
			return claims[:i], runs[:i]
		}
	}
	return claims, runs
}

// prepare does the work that a run needs before the handler is called. The run is over if it cannot
// be carried out.
func (b *batch) prepare(ctx context.Context, c *claim, r *run.Run) {
	r.Follows = c.at
	if c.generation > 0 {
		r.Follows = r.Started
	}
	r.Action.Action = state.ActionDeploy
	if c.row.Ticket() == 0 || c.row.Priority == state.PriorityUserRepair ||
		c.row.Priority == state.PriorityRepairTimer {
		r.Action.Action = state.ActionRepair
	}
	if r.Over() {
		return
	}
	causes, reload := step.Start(c.row, r.Intent(), b.requirements(c))
	if len(causes) > 0 && !r.ReportOnly {
		r.Causes = causes
		r.End(state.StatusSkipped, "", "requires "+joinIDs(causes, 3)+", which is not deployed")
		return
	}
	b.Runs.Connect(ctx, r, b.agent.Agent)
	if r.Over() {
		return
	}
	b.Runs.Resolve(ctx, r, run.Inputs{Reload: len(reload) > 0, Need: b.needOf(c),
		First: c.row.SucceededAt.IsZero(), Facts: c.row.AskedForFacts(), Released: b.stored.Released})
}

// markCreating records data of a run before it acts: the token of a create, the notes, and facts
// that the handler remembers. After a crash, the outcome of a create could not be read from the
// real thing. markCreating returns false if another writer has changed the row since it was read;
// then the run must not go on.
func (b *batch) markCreating(ctx context.Context, of *claim, r *run.Run) (bool, error) {
	row := *of.row
	r.Mark(&row)
	done, err := b.commit(
		ctx,
		state.Commit{Rows: []state.Row{row}, Parameters: factsOf(row.ID, r.Facts, b.Clock.Now()),
			AddOutbox: b.remembered(of, r), Next: b.claimed, SeenPlan: b.sched.PlanSeq,
			Until: b.Clock.Now().Add(b.Runs.HeldFor(&row, r.Intent()) + state.LeaseMargin)},
	)
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
	if of.node >= 0 {
		b.rows[of.node] = &row
	}
	return true, nil
}
