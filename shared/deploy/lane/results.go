package lane

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

// recording is what is written of the runs of a batch.
type recording struct {
	*worker
	done   []*claim
	byID   map[resource.ID]*claim // nil: see claims
	waving bool                   // a wave asks for rows of this lane
}

// record commits what was run of a batch: rows, actions, facts, and what follows from them.
func (b *batch) record(ctx context.Context) error {
	r := &recording{worker: b.worker, done: b.done}
	if len(b.done) == 0 {
		// What was left out because of what others have written is checked again.
		return r.propagate(ctx, nil)
	}
	_, r.waving = b.sched.Unfinished[b.lane]
	return r.record(ctx)
}

// claims returns what was done, by id. Most batches of a wave, in which all is as it was, do not
// need it.
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
//	the commit of all of them, with the entries of the outbox that follow
//	a commit of those whose rows others have changed, until none conflicts
//	what the entries ask for (followUp), which removes them
//	notices of other lanes
//
// A crash before the first commit loses nothing but the runs, which are repeated. One before the
// second leaves rows that the lease still names as running, so that whoever takes the lane over
// marks them (TakeOver), and that are still scheduled. One after that leaves entries, which a sweep
// follows up, and lanes that nobody has told, which a sweep notifies.
func (r *recording) record(ctx context.Context) error {
	c := r.first(ctx)
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
		claiming{r.worker}.with(&c, next)
	}
	// What follows has to be stored before other lanes are told that these are done.
	r.unrecorded = true
	committed, err := r.commit(ctx, c)
	if err != nil {
		return err
	}
	if committed.Started {
		r.begun, r.claimed = next, c.Next
	} else {
		r.putBack(next) // the schedule has changed, or the agent is paused
	}
	r.noteCleared(committed.Conflicts)
	conflicts := committed.Conflicts
	follows := c.AddOutbox
	for len(conflicts) > 0 {
		if conflicts, follows, err = r.resolveConflicts(ctx, conflicts, follows); err != nil {
			return err
		}
	}
	r.unrecorded = false
	return r.followUp(ctx, follows, committed.PlanSeq != r.sched.PlanSeq)
}

// first returns the commit of all that was done, as it is right if no row was changed by others.
func (r *recording) first(ctx context.Context) state.Commit {
	c := state.Commit{Epoch: r.sched.Wave.Epoch}
	c.Actions = make([]state.Action, 0, len(r.done))
	if r.waving {
		c.Checked = make([]resource.ID, 0, len(r.done))
	}
	r.doubt(ctx)
	c.Rows = make([]state.Row, 0, len(r.done)-r.unwritten()) // rows are large
	for _, cl := range r.done {
		c.Actions = append(c.Actions, cl.result.Action)
		finished := cl.result.Outcome != state.StatusDeploying
		if r.waving && finished && !cl.row.Removing {
			c.Checked = append(c.Checked, cl.row.ID)
			r.checkedHere()[cl.row.ID] = true
			cl.wrote.Checked, cl.ended.Checked = r.sched.Wave.Epoch, r.sched.Wave.Epoch
		}
		if r.waving && cl.asItWas() {
			continue
		}
		c.Rows = append(c.Rows, cl.wrote)
		c.AddOutbox = append(c.AddOutbox, r.entries(cl, cl.effects)...)
		c.Parameters = append(c.Parameters, factsOf(cl.row.ID, cl.result.Facts, cl.result.Finished)...)
	}
	c.DropParameters = r.factsOfGone(ctx)
	return c
}

// factsOf returns facts of a resource as they are stored.
func factsOf(id resource.ID, facts map[string]string, at time.Time) []state.Parameter {
	var out []state.Parameter
	for name, value := range facts {
		out = append(out, state.Parameter{Name: name, Of: id, Value: value, Source: "fact", Updated: at})
	}
	return out
}

// asItWas reports whether the row of a run that a wave asked for needs no write: nothing was
// changed, and nothing of it is to be.
func (c *claim) asItWas() bool {
	same := c.result.Outcome == state.StatusDeployed && c.result.Change == diff.NoChange &&
		!c.result.Notified
	return same && c.row.Clean() && len(c.result.Facts) == 0
}

// unwritten counts the claims whose rows a commit leaves out.
func (r *recording) unwritten() int {
	n := 0
	for _, c := range r.done {
		if r.waving && c.asItWas() {
			n++
		}
	}
	return n
}

// followUp does what follows from results, and notifies those who wait for them. replanned: the
// schedule has changed since it was read.
func (r *recording) followUp(ctx context.Context, follows []state.Outbox, replanned bool) error {
	if replanned {
		r.stale.mark()
	}
	if len(follows) == 0 && !replanned {
		r.notices.send(ctx, r.Client, r.env)
		return r.propagate(ctx, nil)
	}
	// Those that are notified start at once, so what follows is planned before: it may ask for the
	// same.
	defer r.notices.send(ctx, r.Client, r.env)
	if !replanned {
		return r.propagate(ctx, follows)
	}
	// By now others may wait for these of whom this worker has not known.
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

// isStale reports whether an effect tells that a result does not count for its row.
func isStale(e step.Effect) bool {
	_, is := e.(step.Stale)
	return is
}

// void returns entries of the outbox so that those of a run that does not count only get removed.
// A change of such a run is notified when the next run ends.
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

// noteCleared tells the other lanes of this process what has finished.
func (r *recording) noteCleared(conflicts []state.Row) {
	if len(conflicts) > 0 {
		return // the schedule has changed
	}
	var nodes []int32
	for _, c := range r.done {
		if c.node >= 0 && c.result.Outcome != state.StatusDeploying {
			nodes = append(nodes, r.full[c.node])
		}
	}
	r.view.cleared(nodes)
}

// resolveConflicts records the results for rows that others have changed since they were read. It
// returns the rows that were changed once more meanwhile, and what follows from all results.
func (r *recording) resolveConflicts(
	ctx context.Context, conflicts []state.Row, follows []state.Outbox,
) ([]state.Row, []state.Outbox, error) {
	c := state.Commit{Epoch: r.sched.Wave.Epoch}
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
		of := &claim{row: now, node: cl.node, result: cl.result, wrote: row, waved: cl.waved}
		if i := slices.IndexFunc(effects, isStale); i >= 0 {
			of, follows = cl, void(follows, now.ID)
			if effects[i] == (step.Stale{}) {
				c.Actions = append(c.Actions, cl.result.Action)
				c.Actions[len(c.Actions)-1].Stale = true
			}
		}
		c.AddOutbox = append(c.AddOutbox, r.entries(of, effects)...)
	}
	// Also if there is nothing to write: until then the lease says that these rows run.
	committed, err := r.commit(ctx, c)
	return committed.Conflicts, append(follows, c.AddOutbox...), err
}

// entry returns the entry of the outbox that says what follows from a run. It is the same if it is
// written again.
func (r *recording) entry(c *claim, kind state.OutboxKind) state.Outbox {
	return state.Outbox{
		ID:       c.result.ID + "-" + string(kind),
		Kind:     kind,
		Of:       c.row.ID,
		At:       c.result.Finished,
		Priority: c.row.Priority,
		Ticket:   r.known(c),
	}
}

// known returns since which ticket whoever claimed something knew of this claim, and waited for it.
// Of what was moved others may have thought meanwhile that it had been checked. What was running
// when a wave began is asked for by it once more, but for what is being removed: when that was
// claimed cannot be told (seed 500000593 of the simulator).
func (r *recording) known(c *claim) int64 {
	removing := func(n int32) bool { return r.graph.Removing[n] }
	switch {
	case len(c.row.MovedFrom) > 0:
		return math.MaxInt64
	case c.waved && c.node >= 0 && slices.ContainsFunc(r.graph.Dependants(c.node), removing):
		return math.MaxInt64
	case c.waved:
		return 0
	}
	return c.row.Ticket
}

// entries returns the entries of the outbox for the effects of a finished run.
func (r *recording) entries(c *claim, effects []step.Effect) []state.Outbox {
	out := r.leaves(c)
	dependants := c.node >= 0 && len(r.graph.Dependants(c.node)) > 0
	for _, e := range effects {
		switch e := e.(type) {
		case step.Resolve:
			out = append(out, r.entry(c, e.Kind))
		case step.Notify:
			if !dependants || e.Ticket == 0 && r.allFollow(c) {
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

// leaves returns an event for each resource that stays and required what has left the model and is
// purged now. They have run before it, and its row, by which others learn of a change, is gone.
func (r *recording) leaves(c *claim) []state.Outbox {
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

// allFollow reports whether all that require c are sure to run after it, so that no event is
// needed. In another lane, a dependant may be running that was claimed before c was scheduled. But
// one with a ticket of the same commit, or of a later one, was claimed by a worker that knew of c,
// and waits. If c was asked for by a wave, the wave also asks once more for dependants that were
// running when it began. But what was moved is checked anew in its new lane, and they may have been
// claimed while it counted as checked in the one before.
func (r *recording) allFollow(c *claim) bool {
	known := r.known(c)
	for _, n := range r.graph.Dependants(c.node) {
		if here := r.rows.of(n); here != nil {
			runs := r.frontier.needs[n] && !r.skips(here)
			if !runs && here.LastAction <= c.result.ID {
				return false // it has not run behind this one in the same batch either
			}
			continue
		}
		if !r.frontier.needs[n] || r.assumed[n] || r.tickets[n] < known {
			return false
		}
	}
	return true
}

// doubt finds dependants in other lanes for which a wave only seems to ask: they were checked where
// they were before, and have taken that record along to a lane that has yet to be told of it. Of
// what was found as it was they need not be told, so that most checks read nothing.
func (r *recording) doubt(ctx context.Context) {
	var nodes []int32
	for _, c := range r.done {
		if c.node < 0 || !c.waved || c.asItWas() {
			continue
		}
		for _, n := range r.graph.Dependants(c.node) {
			if r.rows.of(n) == nil && r.frontier.needs[n] && r.tickets[n] == 0 {
				nodes = append(nodes, n)
			}
		}
	}
	slices.Sort(nodes)
	for part := range slices.Chunk(slices.Compact(nodes), r.Asked) {
		ids := make([]resource.ID, len(part))
		for i, n := range part {
			ids[i] = r.graph.IDs[n]
		}
		checked, err := r.State.Finished(ctx, r.env, ids, r.sched.Wave.Epoch)
		if err != nil {
			checked = ids // they are told, which costs a little and is right in any case
		}
		for _, n := range r.graph.Nodes(checked) {
			r.assumed[n] = true
		}
	}
}

// propagate does at once what follows from a commit. If that fails, a sweep does it later.
func (r *recording) propagate(ctx context.Context, entries []state.Outbox) error {
	stale := r.stale.take()
	if len(entries) == 0 {
		if stale {
			return r.reload(ctx)
		}
		return nil
	}
	if err := r.FollowUp(ctx, r.env, entries); err != nil && ctx.Err() == nil &&
		!state.Transient(err) {
		return err
	}
	return r.reload(ctx)
}

// factsOfGone returns the facts that were learned from what these runs have purged: nothing has
// them any more. What cannot be read now is left to the next collection, as it must not keep
// results from being recorded.
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
