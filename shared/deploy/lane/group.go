package lane

import (
	"bytes"
	"context"
	"time"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// runGroup runs claims of one type together and gives each its result. One whose outcome cannot be
// known yet gets none and stays scheduled.
func (w *worker) runGroup(ctx context.Context, group []*claim) error {
	if err := w.fetchDeps(ctx, group); err != nil {
		return err
	}
	rows := make([]*state.Row, len(group))
	for i, c := range group {
		rows[i] = c.row
	}
	w.Runs.PrefetchSecrets(ctx, rows)
	runs, claims := make([]*run.Run, 0, len(group)), make(map[*run.Run]*claim, len(group))
	for _, c := range group {
		if ctx.Err() != nil {
			break
		}
		if w.superseded(c) {
			w.stale.mark()
			continue
		}
		r := w.prepare(ctx, c)
		runs, claims[r] = append(runs, r), c
	}
	mark := func(ctx context.Context, r *run.Run) (bool, error) {
		return w.markCreating(ctx, claims[r], r)
	}
	x := &run.Executor{Runner: w.Runs, Runs: runs, Mark: mark, Cover: w.cover,
		Strict: w.state.Settings.Strict, Scheduled: w.scheduledOf}
	err := x.Execute(ctx)
	if err != nil && !x.LaneLost() {
		w.unrecorded.begin()
		return err
	}
	for _, r := range runs {
		if r.Over() {
			claims[r].result = r.Finish()
		}
	}
	return err
}

// prepare makes a run and does all that needs no call of the handler. The run is over if it turns
// out that it cannot be carried out.
func (w *worker) prepare(ctx context.Context, c *claim) *run.Run {
	r := w.Runs.NewRun(w.env, c.row, c.res, &w.session)
	r.Follows = c.at
	if c.generation > 0 {
		r.Follows = r.Started
	}
	r.Action.Action = state.ActionDeploy
	if c.row.Ticket == 0 || c.row.Priority == state.PriorityUserRepair ||
		c.row.Priority == state.PriorityRepairTimer {
		r.Action.Action = state.ActionRepair
	}
	if r.Over() {
		return r
	}
	if causes := w.unready(c); len(causes) > 0 && !r.ReportOnly {
		r.Causes = causes
		r.End(state.StatusSkipped, "", "requires "+joinIDs(causes, 3)+", which is not deployed")
		return r
	}
	w.Runs.Connect(ctx, r, w.agent.Agent)
	if r.Over() {
		return r
	}
	w.Runs.Resolve(ctx, r, run.Inputs{Reload: w.changedSince(c, r.Intent()), Need: w.needOf(c),
		First: c.row.SucceededAt.IsZero(), Facts: c.row.WantFacts})
	return r
}

// markCreating records the token of a create before it begins, as its outcome could not be told
// from the real thing after a crash, and the notes of the run. It returns false if the row was
// changed meanwhile; then the run must not go on.
func (w *worker) markCreating(ctx context.Context, of *claim, r *run.Run) (bool, error) {
	row := *of.row
	r.Mark(&row)
	done, err := w.commit(
		ctx,
		state.Commit{Rows: []state.Row{row}, Next: w.running, SeenPlan: w.sched.PlanSeq,
			Until: w.Clock.Now().Add(w.Runs.CallLimit(&row, r.Intent()) + state.LeaseMargin)},
	)
	if err != nil {
		return false, err
	}
	for i := range done.Conflicts {
		if c := &done.Conflicts[i]; c.Creating != row.Creating || !bytes.Equal(c.Notes, row.Notes) {
			w.stale.mark()
			return false, nil
		}
	}
	row.Rev++
	of.row = &row
	if of.node >= 0 {
		w.rows[of.node] = &row
	}
	return true, nil
}

// cover prolongs the lease when it ends before a call can, and its result be written: another
// process would take the lane over in the middle. A lease that may have ended is not revived:
// others may have seen that, and run what was moved from here.
func (w *worker) cover(ctx context.Context, limit time.Duration) error {
	for range coverTries {
		now, ends := w.Clock.Now(), w.lease.Until
		if !ends.Before(now.Add(limit + commitTime)) {
			return nil
		}
		// As in takeOver, Next is refused, so that Running stays.
		c := state.Commit{Next: w.running, SeenPlan: -1, Until: now.Add(limit + state.LeaseMargin)}
		if _, err := w.commit(ctx, c); err != nil {
			return err
		}
		if !w.Clock.Now().Before(ends) {
			return fault.New(
				fault.Fenced,
				"hold lane "+w.lane,
				"its lease ended before it was prolonged",
			)
		}
	}
	return fault.New(
		fault.Unavailable,
		"hold lane "+w.lane,
		"the store takes longer to prolong a lease than it is prolonged by",
	)
}

const (
	commitTime = 5 * time.Second // what a result is given to be written in
	coverTries = 3
)
