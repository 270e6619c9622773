package worker

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// recording writes the results of the runs of a batch.
type recording struct {
	*worker
	done    []*claim
	byID    map[resource.ID]*claim // nil: see claims
	plan    int64                  // PlanSeq of the schedule under which they were claimed
	epoch   int64                  // of the wave that was under way then; 0: none
	outputs []state.Outbox         // entries that were stored with secret outputs
}

// record commits the runs of a batch: rows, actions, facts, and the outbox entries that follow.
func (b *batch) record(ctx context.Context) error {
	r := &recording{worker: b.worker, done: b.done, outputs: b.kept.take()}
	if len(b.done) == 0 {
		// A row that was left out because another writer changed it is checked again.
		return r.propagate(ctx, r.outputs)
	}
	for _, c := range b.done {
		c.recording = true
	}
	for _, c := range b.done {
		r.show(c)
	}
	r.plan, r.epoch = b.done[0].plan, b.done[0].epoch
	return r.record(ctx)
}

// show applies the result of a claim to the rows and the frontier, when it is recorded: other lanes
// must not run its dependants before. If the schedule or the row has changed since the claim, show
// does nothing, and the worker reads everything again.
func (r *recording) show(c *claim) {
	if c.plan != r.sched.PlanSeq {
		return
	}
	row := r.rows.of(c.node)
	switch {
	case row == nil || row.Rev != c.row.Rev:
	case c.result.Outcome == state.StatusDeploying:
		r.rows[c.node] = c.row
		r.later = append(r.later, c.node)
	default:
		r.rows[c.node] = c.wrote
		r.clear(c.node)
	}
}

// claims returns the finished claims by resource id. The map is built on first use: most batches of
// a wave find no change and do not need it.
func (r *recording) claims() map[resource.ID]*claim {
	if r.byID == nil {
		r.byID = make(map[resource.ID]*claim, len(r.done))
		for _, c := range r.done {
			r.byID[c.row.ID] = c
		}
	}
	return r.byID
}

// record writes results in this order:
//
//	the commit of all results, with the outbox entries that follow
//	a commit of the results whose rows another writer has changed, until none conflicts
//	the work that the entries request (followUp), which removes the entries
//	notices to other agents
//
// A crash before the first commit loses only the runs, and they are repeated. A crash before the
// second commit leaves rows that are still scheduled and that the lease still names as running. The
// next worker of the agent marks these rows (MarkInterrupted). A crash after the second commit leaves
// entries and agents that were not notified. A sweep processes these entries and notifies these
// agents.
func (r *recording) record(ctx context.Context) error {
	c := r.first(ctx)
	c.AddOutbox = append(c.AddOutbox, r.outputs...)
	if err := r.kept(ctx, &c); err != nil {
		r.unrecorded++
		return err
	}
	defer func() {
		for i := range c.Rows { // the store has raised their revisions
			if cl := r.claims()[c.Rows[i].ID]; cl.result.Outcome == state.StatusDeploying {
				cl.row.Rev++
			} else {
				cl.wrote.Rev++
			}
		}
	}()
	next := r.ahead(&c)
	if len(next) > 0 {
		claiming{r.worker}.addTo(&c, next)
	}
	c.Beside = r.openIDs()
	// The follow-up has to be stored before other agents are notified that these runs are done.
	r.unrecorded++
	committed, err := r.commit(ctx, c)
	if err != nil {
		return err
	}
	if committed.Started {
		claiming{r.worker}.started(next, c.Next)
		r.begun = next
	} else {
		crew{r.worker}.release(next) // the schedule has changed, or the agent is paused
	}
	r.noteCleared(committed.Conflicts)
	conflicts := committed.Conflicts
	follows := c.AddOutbox
	for len(conflicts) > 0 {
		if conflicts, follows, err = r.resolveConflicts(ctx, conflicts, follows); err != nil {
			return err
		}
	}
	r.unrecorded--
	r.settle(r.done)
	return r.followUp(ctx, follows, committed.PlanSeq != r.plan)
}

// first returns the commit of all finished runs. It is valid if no other writer has changed a row.
func (r *recording) first(ctx context.Context) state.Commit {
	c := state.Commit{Epoch: r.epoch}
	c.Actions = make([]state.Action, 0, len(r.done))
	if r.epoch > 0 {
		c.Checked = make([]resource.ID, 0, len(r.done))
	}
	c.Rows = make([]state.Row, 0, len(r.done)-r.unwritten()) // rows are large
	for _, cl := range r.done {
		c.Actions = append(c.Actions, cl.result.Action)
		finished := cl.result.Outcome != state.StatusDeploying
		if r.epoch > 0 && finished && !cl.row.Removing {
			c.Checked = append(c.Checked, cl.row.ID)
			if r.epoch == r.sched.Wave.Epoch {
				r.checkedHere()[cl.row.ID] = true
			}
			cl.wrote.Checked, cl.ended.Checked = r.epoch, r.epoch
		}
		if r.epoch > 0 && cl.unchanged() {
			continue
		}
		c.Rows = append(c.Rows, *cl.wrote)
		c.AddOutbox = append(c.AddOutbox, r.entries(cl, cl.effects)...)
		c.Parameters = append(c.Parameters, factsOf(cl.row.ID, cl.result.Facts, cl.result.Finished)...)
	}
	c.DropParameters = r.factsOfGone(ctx)
	return c
}

// factsOf returns the facts of a resource as records to store.
func factsOf(id resource.ID, facts map[string]resource.Data, at time.Time) []state.Parameter {
	var out []state.Parameter
	for name, value := range facts {
		p := state.Parameter{Name: name, Of: id, Source: "fact", Updated: at}
		p.SetData(value)
		out = append(out, p)
	}
	return out
}

// unchanged reports whether the row of a run that a wave requested needs no write: the run changed
// nothing, and the row has nothing to record.
func (c *claim) unchanged() bool {
	same := c.result.Outcome == state.StatusDeployed && c.result.Change == diff.NoChange &&
		!c.result.Notified
	return same && c.row.Clean() && len(c.result.Facts) == 0
}

// unwritten counts the claims whose rows a commit leaves out.
func (r *recording) unwritten() int {
	n := 0
	for _, c := range r.done {
		if r.epoch > 0 && c.unchanged() {
			n++
		}
	}
	return n
}

// followUp does the work that follows from results, and notifies the agents that wait for them.
// replanned means that the schedule has changed since it was read.
func (r *recording) followUp(ctx context.Context, follows []state.Outbox, replanned bool) error {
	if replanned {
		r.stale.mark()
	}
	if len(follows) == 0 && !replanned {
		r.notices.send(ctx, r.Client, r.env)
		return r.propagate(ctx, nil)
	}
	// Notified agents start immediately, so the follow-up is planned first: it may schedule
	// resources of these agents.
	defer r.notices.send(ctx, r.Client, r.env)
	if !replanned {
		return r.propagate(ctx, follows)
	}
	// Rows that this worker has not seen may wait for these results by now.
	r.recorded = make([]resource.ID, len(r.done))
	for i, cl := range r.done {
		r.recorded[i] = cl.row.ID
	}
	defer func() { r.recorded = nil }()
	if err := r.propagate(ctx, follows); err != nil {
		return err
	}
	for _, n := range r.graph.Nodes(r.recorded) {
		r.notifyBehind(n)
	}
	return nil
}

// isStale reports whether an effect states that a result does not count for its row.
func isStale(e step.Effect) bool {
	_, is := e.(step.Stale)
	return is
}

// void returns a copy of outbox entries in which the entries of a run that does not count have no
// kind. Such an entry only gets removed. A change by such a run is notified when the next run ends.
func void(entries []state.Outbox, of resource.ID) []state.Outbox {
	out := slices.Clone(entries)
	for i := range out {
		if out[i].Of == of &&
			(out[i].Kind == state.OutboxEvent || out[i].Kind == state.OutboxRecovered) {
			out[i].Kind = ""
		}
	}
	return out
}

// noteCleared informs the other agents of this process about finished resources.
func (r *recording) noteCleared(conflicts []state.Row) {
	if len(conflicts) > 0 {
		return // the schedule has changed
	}
	var nodes []int32
	for _, c := range r.done {
		if c.node >= 0 && c.plan == r.sched.PlanSeq && c.result.Outcome != state.StatusDeploying {
			nodes = append(nodes, r.full[c.node])
		}
	}
	r.view.cleared(nodes)
}

// resolveConflicts records the results for rows that another writer has changed since they were
// read. It returns the rows that were changed again in the meantime, and the outbox entries of all
// results.
func (r *recording) resolveConflicts(
	ctx context.Context, conflicts []state.Row, follows []state.Outbox,
) ([]state.Row, []state.Outbox, error) {
	c := state.Commit{Epoch: r.epoch}
	r.stale.mark()
	for i := range conflicts {
		now := &conflicts[i]
		cl := r.claims()[now.ID]
		if cl.wrote.Checked == c.Epoch &&
			c.Epoch > 0 { // only now: if this commit never comes, the wave still asks for it
			c.Checked = append(c.Checked, now.ID)
		}
		row, effects := step.Next(*now, cl.ended)
		if !row.Same(now) {
			c.Rows = append(c.Rows, row)
		}
		of := &claim{row: now, node: cl.node, result: cl.result, wrote: &row, claimTime: cl.claimTime}
		if i := slices.IndexFunc(effects, isStale); i >= 0 {
			// nothing has left by a result that does not count
			of.row, of.wrote, follows = cl.row, now, void(follows, now.ID)
			if effects[i] == (step.Stale{}) {
				c.Actions = append(c.Actions, cl.result.Action)
				c.Actions[len(c.Actions)-1].Stale = true
			}
		}
		c.AddOutbox = append(c.AddOutbox, r.entries(of, effects)...)
	}
	c.Beside = r.openIDs()
	// Commit even if there is nothing to write: until then the lease states that these rows run.
	committed, err := r.commit(ctx, c)
	return committed.Conflicts, append(follows, c.AddOutbox...), err
}

// entry returns the outbox entry for the work that follows from a run. If it is written again, it
// has the same id.
func (r *recording) entry(c *claim, kind state.OutboxKind) state.Outbox {
	return state.Outbox{
		ID:       c.result.ID + "-" + string(kind),
		Kind:     kind,
		Of:       c.row.ID,
		At:       c.result.Finished,
		Priority: c.row.Priority,
		Ticket:   r.leastSureTicket(c),
	}
}

// leastSureTicket returns the least ticket of dependants that are sure to have waited for a claim:
// a worker that claimed a dependant with this ticket or a later one knew of the claim.
//
// If the resource of the claim was moved, no dependant is sure to have waited (MaxInt64), since
// other agents may treat a moved resource as checked. If a wave asked for the claim, all dependants
// count (0), since the wave asks again for resources that were running when it began. The exception
// is a claim with dependants that are being removed (MaxInt64): the wave does not ask for these,
// and the time of their claims is unknown.
func (r *recording) leastSureTicket(c *claim) int64 {
	removing := func(n int32) bool { return r.graph.Removing[n] }
	switch {
	case len(c.row.EarlierAgents()) > 0:
		return math.MaxInt64
	case c.waved && c.node >= 0 && slices.ContainsFunc(r.graph.Dependants(c.node), removing):
		return math.MaxInt64
	case c.waved:
		return 0
	}
	return c.row.Ticket()
}

// entries returns the entries of the outbox for the effects of a finished run.
func (r *recording) entries(c *claim, effects []step.Effect) []state.Outbox {
	out := r.purgeEvents(c)
	dependants := c.node >= 0 && len(r.graph.Dependants(c.node)) > 0
	for _, e := range effects {
		switch e := e.(type) {
		case step.Resolve:
			out = append(out, r.entry(c, e.Kind))
		case step.Notify:
			if !dependants || e.Ticket == 0 && r.allSureToFollow(c) {
				continue
			}
			out = append(out, r.entry(c, e.Kind))
			if e.Ticket != 0 {
				out[len(out)-1].Ticket = e.Ticket
			}
		}
	}
	return out
}

// purgeEvents returns an event for each resource that stays in the model and was required by a resource
// that has left it and is purged now. These resources ran before the purge. The row of the purged
// resource, from which dependants learn of changes, is gone.
func (r *recording) purgeEvents(c *claim) []state.Outbox {
	if c.node < 0 || !r.graph.Removing[c.node] || !c.wrote.Gone ||
		!c.wrote.ChangedAt.Equal(c.result.Finished) {
		return nil
	}
	res, err := resource.Decode(c.row.Body)
	if err != nil || !res.SendEvent {
		return nil
	}
	var out []state.Outbox
	for _, q := range r.graph.Requires(c.node) {
		if r.graph.Removing[q] {
			continue
		}
		entry := r.entry(c, state.OutboxEvent)
		entry.ID += fmt.Sprintf("-%d", len(out))
		entry.To, entry.Ticket = r.graph.IDs[q], math.MaxInt64
		out = append(out, entry)
	}
	return out
}

// allSureToFollow reports whether all dependants of c are sure to run after it, so that no event is
// needed. A dependant at another agent may have been claimed before c was scheduled, and may be
// running. If a dependant has a ticket of the same commit or of a later one, the worker that
// claimed it knew of c and waited. If a wave asked for c, it also asks again for dependants that
// were running when it began. A moved resource is checked again at its agent. Its dependants may
// have been claimed while it counted as checked at the old agent.
func (r *recording) allSureToFollow(c *claim) bool {
	known := r.leastSureTicket(c)
	for _, n := range r.graph.Dependants(c.node) {
		if here := r.rows.of(n); here != nil {
			if o := r.open[here.ID]; o != nil && !o.recording {
				return false // another agent has claimed it, and did not wait
			}
			runs := r.frontier.needs[n] && !r.skips(here)
			if !runs && here.LastAction <= c.result.ID {
				return false // it has not run after c in the same batch either
			}
			continue
		}
		if !r.frontier.needs[n] || r.tickets[n] < known {
			return false
		}
	}
	return true
}

// propagate does the follow-up of a commit immediately. If that fails, a sweep does it later.
func (r *recording) propagate(ctx context.Context, entries []state.Outbox) error {
	stale := r.stale.take()
	if len(entries) == 0 {
		if stale {
			return r.reload(ctx)
		}
		return nil
	}
	schedule, err := r.FollowUp(ctx, r.env, entries)
	switch {
	case err != nil && ctx.Err() == nil && !state.Transient(err):
		return err
	case err == nil && !stale && schedule == r.sched.PlanSeq:
		return nil // nothing that this worker has read has changed
	}
	return r.reload(ctx)
}

// factsOfGone returns the facts that were learned from resources that these runs have purged. No
// resource has these facts now. If facts cannot be read, the next collection removes them: a failed
// read must not keep results from being recorded.
func (r *recording) factsOfGone(ctx context.Context) []state.ParameterKey {
	var out []state.ParameterKey
	for _, c := range r.done {
		if !c.result.Purged || !c.wrote.WasPurged() || c.row.WasPurged() {
			continue
		}
		q := state.ParameterQuery{Facts: true, Of: c.row.ID}
		facts, err := r.State.Parameters(context.WithoutCancel(ctx), r.env, q)
		if err != nil {
			continue
		}
		for i := range facts {
			out = append(out, state.ParameterKey{Name: facts[i].Name, Of: facts[i].Of})
		}
	}
	return out
}
