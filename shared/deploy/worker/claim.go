package worker

import (
	"context"
	"slices"
	"time"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/fault"
	"southbound/shared/internal/parallel"
	"southbound/shared/resource"
)

// moveWait is the pause before a moved row is checked again for a run at the agent that it was moved
// from.
const moveWait = time.Second

// deferMoved drops rows from a batch that were moved to this agent while a run of them is under
// way at another agent. Such rows are checked again after moveWait. It also drops the rows of the
// batch that wait for dropped rows.
func (w claiming) deferMoved(ctx context.Context, batch []*claim) ([]*claim, error) {
	if !slices.ContainsFunc(batch, func(c *claim) bool { return len(c.row.EarlierAgents()) > 0 }) {
		return batch, nil
	}
	leases, err := w.State.Leases(ctx, w.env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read leases", err)
	}
	fates, err := w.fates(ctx, leases, batch)
	if err != nil {
		return nil, err
	}
	dropped := map[int32]bool{}
	return slices.DeleteFunc(batch, func(c *claim) bool {
		f := fates[c.row.ID]
		if f.ended && c.row.SendsEvents() {
			// as MarkInterrupted does; the old agent may never be served again
			*c.row, _ = step.Next(*c.row, step.HolderLost{})
		}
		switch {
		case f.runs:
			c.row.AdoptIntent()
			c.row.NotBefore = w.Clock.Now().Add(moveWait)
			if c.node >= 0 {
				w.later = append(w.later, c.node)
			}
		case c.depth > 0 && slices.ContainsFunc(w.graph.Requires(c.node), func(q int32) bool {
			return dropped[q]
		}):
		default:
			return false
		}
		dropped[c.node] = true
		return true
	}), nil
}

// claiming is the part of a worker that claims rows.
type claiming struct{ *worker }

// claim is one row that was picked.
type claim struct {
	row  *state.Row
	res  *resource.Resource // the intent of the row, if it was decoded
	node int32              // -1: it has left the graph since
	// 0: ready; n: it waits for a claim of depth n-1 in the same batch
	depth int
	waits []*claim // the claims of its batch that it requires
	claimTime
	coded       bool // it comes with its handler
	secrets     bool // it may refer to secrets
	factsStored bool // its facts were stored before it acted
	recording   bool // the commit of its result is being made
	result      *step.Result
	ended       step.Finished
	// wrote is the row as the result leaves it. The worker keeps it longer than the claim.
	wrote   *state.Row
	effects []step.Effect
}

// claimTime is the time and the schedule of a claim.
type claimTime struct {
	at    time.Time
	waved bool  // a wave asked for it
	plan  int64 // PlanSeq of the schedule
	epoch int64 // of the wave under way; 0: none
}

// decode reads the intent of the row. If that fails, the run itself reports the error.
func (c *claim) decode() {
	c.coded, c.secrets = run.Coded(c.row), run.MayHaveSecrets(c.row)
	if res, err := resource.Decode(c.row.Body); err == nil {
		c.res = res
	}
}

// next claims the rows to run next. It returns none if the caller has to call it again, and whether
// the run of the agent ends here.
func (w claiming) next(ctx context.Context) (claims []*claim, ends bool, err error) {
	claims = w.pick(w.Clock.Now(), w.claimSize, crew(w).share())
	if len(claims) == 0 {
		again, err := w.idle(ctx)
		return nil, !again, err
	}
	claims, err = w.deferMoved(ctx, claims)
	if err != nil || len(claims) == 0 {
		return nil, false, err
	}
	if !w.Clock.Now().Before(w.until) {
		w.out.More = true
		return nil, true, nil
	}
	if w.sched.Halted || w.agent.Paused {
		w.setPaused(true)
		return nil, true, nil
	}
	done, err := w.begin(ctx, claims)
	switch {
	case err != nil:
		return nil, false, err
	case done.Started:
		return claims, false, nil
	case done.Paused:
		return nil, true, nil
	}
	return nil, false, w.reload(ctx)
}

// begin claims a batch and prolongs the lease for as long as the batch may take. It does so before
// any row of it runs, so that after a crash the lease shows which rows may have run. The claim is
// refused if the agent was paused or the schedule changed.
func (w claiming) begin(ctx context.Context, batch []*claim) (state.Committed, error) {
	var c state.Commit
	w.addTo(&c, batch)
	done, err := w.commit(ctx, c)
	if done.Started {
		w.started(batch, c.Next)
	}
	return done, err
}

// started records that a claim of a batch was accepted.
func (w claiming) started(batch []*claim, running []resource.ID) {
	for _, c := range batch {
		w.open[c.row.ID] = c
	}
	w.setRunning(running)
}

// addTo adds the claim of a batch to a commit, and prolongs the lease for as long as the batch may
// take.
func (w claiming) addTo(to *state.Commit, batch []*claim) {
	now := w.Clock.Now()
	ids := make([]resource.ID, len(batch))
	longest := time.Duration(0)
	_, waving := w.sched.Unfinished[w.agentName]
	parallel.For(len(batch), func(i int) { batch[i].decode() })
	for i, c := range batch {
		ids[i] = c.row.ID
		c.at, c.waved, c.plan = now, waving && w.inWave(c.row), w.sched.PlanSeq
		if waving {
			c.epoch = w.sched.Wave.Epoch
		}
		longest = max(longest, w.Runs.HeldFor(c.row, c.res))
	}
	// Every run starts within commitAfter, so the lease outlasts the last group as well.
	longest += time.Duration(min(len(batch), run.MaxGroup)) * run.BatchItem
	if len(w.openIDs()) == 0 { // no call uses the connection
		w.session.ForgetFailure(now)
	}
	if !w.session.Tried() {
		longest += w.Runs.ConnectLimit(w.agent.Agent)
	}
	to.Next, to.SeenPlan, to.Beside = ids, w.sched.PlanSeq, w.openIDs()
	to.Until = w.Clock.Now().Add(longest + commitAfter + state.LeaseMargin)
}

// ahead picks the rows that the commit of a batch claims as well: the next rows, if the commit
// records only runs without changes. Any other result may have a follow-up, which has to be planned
// before more runs start; see record. Moved rows are claimed separately, since the leases of other
// agents have to be checked first; see deferMoved.
func (r *recording) ahead(of *state.Commit) []*claim {
	now := r.Clock.Now()
	if len(of.Rows) > 0 || !now.Before(r.until) || !(crew{r.worker}).goesOn() {
		return nil
	}
	next := r.pick(now, r.claimSize, crew{r.worker}.share())
	if slices.ContainsFunc(next, func(c *claim) bool { return len(c.row.EarlierAgents()) > 0 }) {
		crew{r.worker}.release(next)
		return nil
	}
	return next
}
