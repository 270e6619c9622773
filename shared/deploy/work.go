package deploy

import (
	"context"
	"slices"
	"time"

	"southbound/shared/fault"
	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// result is what came of one run.
type result struct {
	action   string // id
	kind     ActionKind
	started  time.Time
	finished time.Time
	outcome  Status // deployed, failed, skipped, non_compliant, unavailable; deploying: in progress
	change   plan.Change
	changes  map[string]plan.Diff
	lines    []provider.Line
	facts    map[string]string
	reason   string
	class    provider.Class
	causes   []resource.ID // skipped because of these
	again    *provider.Again
	person   bool // a create may have happened and nobody but a person can tell
	nothing  bool // a create was begun, and it is certain that nothing was made
	acted    bool // the handler was told to change something
	purged   bool // it must not exist
	// reportOnly: it was only compared.
	reportOnly bool
	sendEvent  bool
	provider   string // that served the run, when there are several
	// providerWhy says why it was chosen.
	providerWhy string
}

// work runs a batch as far as it gets before it is time to commit, and commits what was done.
func (w *worker) work(ctx context.Context, batch []*claim) error {
	began := w.e.Clock.Now()
	var done []*claim
	var failed error
	rest := batch
	for len(rest) > 0 {
		group := w.group(rest)
		rest = rest[len(group):]
		// What was to end before may be in progress, or not have run at all: then these wait, too.
		group = slices.DeleteFunc(slices.Clone(group), func(c *claim) bool { return c.node >= 0 && !w.frontier.ready(c.node) })
		if len(group) == 0 {
			continue
		}
		if failed = w.runGroup(ctx, group); failed != nil {
			break // what ran before is recorded all the same
		}
		for _, c := range group {
			if c.result == nil {
				continue // not run: the caller gave up
			}
			done = append(done, c)
			if c.result.kind == ActionRepair && c.result.change != plan.NoChange && c.row.LastRun == RunSuccess {
				w.out.Fixed++
			}
			w.finish(c)
		}
		if ctx.Err() != nil || w.e.Clock.Now().Sub(began) >= commitAfter {
			break
		}
	}
	w.adapt(w.e.Clock.Now().Sub(began), len(rest) == 0)
	for _, c := range rest {
		if c.node < 0 {
			w.loose = append(w.loose, c.row)
		} else if w.frontier.ready(c.node) {
			w.push(c.node)
		}
	}
	w.out.Ran += len(done)
	err := w.record(ctx, done)
	if w.e.Ran != nil {
		w.e.Ran(len(done))
	}
	if failed != nil {
		return failed
	}
	return err
}

// adapt makes batches as large as fit between two commits.
func (w *worker) adapt(took time.Duration, all bool) {
	switch {
	case all && took < commitAfter:
		w.claim = min(2*w.claim, claimMost)
	case !all:
		w.claim = max(w.claim/2, 1)
	}
}

// group returns the first rows of rest that can run side by side: of one generation and one type, for a handler that takes
// several at once; otherwise one, so that each result is committed soon.
func (w *worker) group(rest []*claim) []*claim {
	typ := rest[0].row.ID.Type()
	if !batches(w.e.Handlers[typ]) {
		return rest[:1]
	}
	n := 1
	for n < len(rest) && rest[n].generation == rest[0].generation && rest[n].row.ID.Type() == typ {
		n++
	}
	return rest[:n]
}

// batches reports whether a handler gains from getting several resources at once.
func batches(h provider.Handler) bool {
	_, reads := provider.As[provider.BatchReader](h)
	_, applies := provider.As[provider.BatchApplier](h)
	_, lists := provider.As[provider.Lister](h)
	_, flushes := provider.As[provider.Flusher](h)
	return reads || applies || lists || flushes
}

// finish takes the result of a claim into the worker's memory.
func (w *worker) finish(c *claim) {
	row := *c.row
	w.e.settle(&row, c.result, w.state.Settings)
	c.wrote = row
	if c.node < 0 {
		return
	}
	if c.result.outcome == StatusDeploying {
		*c.row = row // its revision is not known before it is written
		w.later = append(w.later, c.node)
		return
	}
	w.rows[c.node] = &c.wrote
	w.clear(c.node)
}

// settle changes a row by the result of a run on its intent.
func (e *Engine) settle(r *Row, res *result, s Settings) {
	r.LastAt, r.LastAction, r.NextAt = res.finished, res.action, zeroTime
	if res.sendEvent && res.acted && res.outcome != StatusDeployed {
		r.Unsure = true
	}
	if res.outcome == StatusDeploying {
		r.NotBefore, r.Waiting = res.finished.Add(res.again.After), res.again.State
		r.Reason = "in progress"
		r.Ticket = max(r.Ticket, 1) // a wave that asked for it may be over before it is
		return
	}
	r.Ticket, r.NotBefore, r.Waiting, r.Causes, r.Left = 0, zeroTime, nil, nil, nil
	r.Reason, r.Class = res.reason, res.class
	if res.sendEvent && res.outcome == StatusDeployed && (res.change != plan.NoChange || r.Unsure) {
		r.ChangedAt, r.Unsure = res.finished, false
	}
	switch res.outcome {
	case StatusDeployed, StatusNonCompliant:
		r.LastRun, r.Compliance, r.Blocked = RunSuccess, Compliant, NotBlocked
		r.Deployed, r.Attempts, r.Creating = r.Hash, 0, ""
		if res.outcome == StatusDeployed && !res.purged {
			r.WantFacts = false // they were read; what does not exist has none, and may exist some day
		}
		if !res.reportOnly { // one that is only compared has not followed any change
			r.SucceededAt = res.started
		}
		if res.outcome == StatusNonCompliant {
			r.Compliance = NonCompliant
		}
		r.Gone = r.Removing && res.outcome == StatusDeployed
	case StatusSkipped:
		r.LastRun, r.Compliance = RunSkipped, NonCompliant
		if len(res.causes) > 0 {
			r.Blocked, r.Causes = BlockedTemp, res.causes
			return
		}
		e.retryLater(r, res, s)
	default:
		r.LastRun, r.Compliance = RunFailed, NonCompliant
		if res.nothing {
			r.Creating = ""
		}
		if res.person {
			r.Blocked = NeedsPerson
			return
		}
		if r.Blocked == BlockedTemp || r.Blocked == NeedsPerson {
			r.Blocked = NotBlocked
		}
		e.retryLater(r, res, s)
	}
}

// Defaults of the settings for backoff.
const (
	defaultRetryBase = 2 * time.Second
	defaultRetryMax  = 10 * time.Minute
)

// retryLater sets when a failure is tried again: exponential backoff with jitter of a quarter, or never by itself for those
// that will not pass.
func (e *Engine) retryLater(r *Row, res *result, s Settings) {
	r.Attempts++
	if res.class == ClassTerminal || res.class == ClassNeedsChange {
		return
	}
	base, most := s.RetryBase, s.RetryMax
	if base <= 0 {
		base = defaultRetryBase
	}
	if most <= 0 {
		most = defaultRetryMax
	}
	pause := base
	for i := 1; i < r.Attempts && pause < most; i++ {
		pause *= 2
	}
	pause = min(pause, most)
	pause += time.Duration((e.Jitter() - 0.5) * 0.5 * float64(pause))
	r.NextAt = res.finished.Add(pause)
}

// clean reports whether a row has nothing about it that a check without findings would change.
func clean(r *Row) bool {
	return r.Ticket == 0 && r.Compliance == Compliant && r.LastRun == RunSuccess && r.Blocked == NotBlocked && r.Deployed == r.Hash &&
		r.Attempts == 0 && r.NextAt.IsZero() && r.Waiting == nil && r.Creating == "" && !r.WantFacts && !r.Unsure && !r.Removing && !r.Orphaned && r.Reason == ""
}

// record commits results: rows, actions, facts, and what follows from them.
func (w *worker) record(ctx context.Context, done []*claim) error {
	if len(done) == 0 {
		return nil
	}
	c := Commit{Epoch: w.sched.Wave.Epoch}
	_, waving := w.sched.Unfinished[w.lane]
	byID := make(map[resource.ID]*claim, len(done))
	defer func() {
		for i := range c.Rows { // as the store has them now
			if cl := byID[c.Rows[i].ID]; cl.result.outcome == StatusDeploying {
				cl.row.Rev++
			} else {
				cl.wrote.Rev++
			}
		}
	}()
	for _, cl := range done {
		byID[cl.row.ID] = cl
		c.Actions = append(c.Actions, w.e.actionOf(cl.row, cl.result))
		finished := cl.result.outcome != StatusDeploying
		if waving && finished && !cl.row.Removing {
			c.Checked = append(c.Checked, cl.row.ID)
			w.checked()[cl.row.ID] = true
			cl.wrote.Checked = w.sched.Wave.Epoch
		}
		if waving && cl.result.outcome == StatusDeployed && cl.result.change == plan.NoChange && clean(cl.row) && len(cl.result.facts) == 0 {
			continue
		}
		c.Rows = append(c.Rows, cl.wrote)
		c.AddOutbox = append(c.AddOutbox, w.follows(cl)...)
		for name, value := range cl.result.facts {
			c.Parameters = append(c.Parameters, Parameter{Name: name, Of: cl.row.ID, Value: value, Source: "fact", Updated: cl.result.finished})
		}
	}
	// What follows has to reach the lanes of others before they hear that this one is done.
	w.unrecorded = true
	committed, err := w.commit(ctx, c)
	if err != nil {
		return err
	}
	conflicts := committed.Conflicts
	follows := c.AddOutbox
	for len(conflicts) > 0 {
		var more []Outbox
		if conflicts, more, err = w.again(ctx, conflicts, byID); err != nil {
			return err
		}
		follows = append(follows, more...)
	}
	w.unrecorded = false
	w.flushRings(ctx)
	return w.propagate(ctx, follows)
}

// actionOf makes the record of a run.
func (e *Engine) actionOf(r *Row, res *result) Action {
	return Action{ID: res.action, Resource: r.ID, Version: r.Version, Action: res.kind, Outcome: res.outcome, Change: res.change,
		Started: res.started, Finished: res.finished, Changes: res.changes, Messages: res.lines, Reason: res.reason, Pack: e.Pack,
		Provider: res.provider, ProviderWhy: res.providerWhy}
}

// follows says what a finished run sets off.
func (w *worker) follows(c *claim) []Outbox {
	var out []Outbox
	add := func(kind OutboxKind) {
		out = append(out, Outbox{ID: c.result.action + "-" + string(kind), Kind: kind, Of: c.row.ID, At: c.result.finished, Priority: c.row.Priority})
	}
	if len(c.result.facts) > 0 {
		add(OutboxFact)
	}
	if c.result.outcome == StatusDeploying || c.node < 0 || len(w.graph.Dependants(c.node)) == 0 {
		return out
	}
	// A new intent clears what came of the one before, and with it what others may have been skipped for.
	forgotten := c.row.LastRun == RunSkipped && c.row.Compliance == HasUpdate || c.row.LastRun == RunNew && !c.row.LastAt.IsZero()
	failed := forgotten || c.row.LastRun == RunFailed || c.row.LastRun == RunSkipped || c.row.Compliance == NonCompliant
	if failed && (c.result.outcome == StatusDeployed || forgotten || !slices.Equal(roots(c.row), roots(&c.wrote))) {
		add(OutboxRecovered) // or it fails for something else now, which those skipped because of it are to name
	}
	if c.result.sendEvent && !w.allFollow(c) {
		add(OutboxEvent)
	}
	return out
}

// roots returns what those name that are skipped because of r.
func roots(r *Row) []resource.ID {
	if len(r.Causes) > 0 {
		return r.Causes
	}
	return []resource.ID{r.ID}
}

// allFollow reports whether all that require c are to run anyway, after it. In another lane something may be running since before c was
// scheduled; what has the ticket of the same plan or of a later one was claimed with c in sight, and waits. A wave asks again for what ran in it
// before it began.
func (w *worker) allFollow(c *claim) bool {
	for _, n := range w.graph.Dependants(c.node) {
		here := w.rows[n] != nil
		if !w.frontier.needs[n] || w.unsure[n] || !here && w.tickets[n] < c.row.Ticket {
			return false
		}
	}
	return true
}

// again settles results on rows that have been changed since they were read: on the same intent the result counts, and what was
// scheduled meanwhile stays scheduled; a result for an intent that has been replaced changes nothing.
func (w *worker) again(ctx context.Context, conflicts []Row, byID map[resource.ID]*claim) ([]Row, []Outbox, error) {
	var c Commit
	w.session.changed = true
	for i := range conflicts {
		row := conflicts[i]
		cl := byID[row.ID]
		if cl == nil || row.Rev != 0 && row.LastAction == cl.result.action {
			continue // our own write whose answer was lost
		}
		if row.Rev == 0 || row.Hash != cl.row.Hash || row.Orphaned {
			c.AddOutbox = append(c.AddOutbox, w.unskip(cl)...)
			if row.Rev != 0 {
				act := w.e.actionOf(cl.row, cl.result)
				act.Stale = true
				c.Actions = append(c.Actions, act)
			}
			continue
		}
		asked := row
		if len(cl.result.causes) > 0 && string(row.Body) != string(cl.row.Body) { // it may not require any more what it was skipped for
			c.AddOutbox = append(c.AddOutbox, w.unskip(cl)...)
			if row.Ticket == 0 && runnable(&row) { // a wave asked for it
				row.Ticket, row.Priority = 1, w.sched.Wave.Priority
				c.Rows = append(c.Rows, row)
			}
			continue
		}
		cl.result.sendEvent = sendsEvents(&row) // somebody may hear of it who did not when it began
		w.e.settle(&row, cl.result, w.state.Settings)
		if row.Lane == cl.row.Lane { // where it was moved to it is still to be checked
			row.Checked = max(row.Checked, cl.wrote.Checked)
		}
		if asked.Ticket != cl.row.Ticket || asked.WantFacts && !cl.row.WantFacts {
			row.Ticket, row.Priority, row.WantFacts, row.Gone = asked.Ticket, asked.Priority, asked.WantFacts, false
		}
		if asked.Blocked == BlockedYes {
			row.Blocked, row.Causes, row.Reason, row.Ticket = asked.Blocked, asked.Causes, asked.Reason, 0
		}
		c.Rows = append(c.Rows, row)
		c.AddOutbox = append(c.AddOutbox, w.follows(&claim{row: &asked, node: cl.node, result: cl.result, wrote: row})...)
	}
	if len(c.Rows)+len(c.Actions)+len(c.AddOutbox) == 0 {
		return nil, nil, nil
	}
	committed, err := w.commit(ctx, c)
	return committed.Conflicts, c.AddOutbox, err
}

// unskip wakes what was skipped with c, because of a result of c that does not count any more.
func (w *worker) unskip(c *claim) []Outbox {
	if c.node < 0 || c.result.outcome == StatusDeployed || c.result.outcome == StatusDeploying || len(w.graph.Dependants(c.node)) == 0 {
		return nil
	}
	return []Outbox{{ID: c.result.action + "-" + string(OutboxRecovered), Kind: OutboxRecovered, Of: c.row.ID, At: c.result.finished, Priority: c.row.Priority}}
}

// commit writes under the lane's lease. A write whose answer was lost is written again: rows then conflict with themselves and
// are recognised by their action, all else is the same twice.
func (w *worker) commit(ctx context.Context, c Commit) (Committed, error) {
	c.Guard = Guard{Key: w.lease.Key, Fence: w.lease.Fence}
	if c.Until.IsZero() {
		c.Until = w.e.Clock.Now().Add(leaseMargin)
	}
	var done Committed
	// A commit is finished even when the caller has given up: what ran is recorded.
	err := w.e.retryUnavailable(context.WithoutCancel(ctx), func() error {
		var err error
		done, err = w.e.State.Commit(context.WithoutCancel(ctx), w.env, c)
		return err
	})
	w.out.Paused = done.Paused
	return done, fault.Wrap(fault.Unknown, "write results of lane "+w.lane, err)
}

// propagate does at once what follows from a commit; when that fails a sweep does it.
func (w *worker) propagate(ctx context.Context, entries []Outbox) error {
	if len(entries) == 0 {
		if w.session.changed {
			w.session.changed = false
			return w.reload(ctx)
		}
		return nil
	}
	w.session.changed = false
	if err := w.e.settleOutbox(ctx, w.env, entries); err != nil && ctx.Err() == nil && !transient(err) {
		return err
	}
	return w.reload(ctx)
}

// transient reports whether err passes by itself.
func transient(err error) bool {
	return slices.Contains([]fault.Kind{fault.Unavailable, fault.Busy, fault.Timeout, fault.Conflict, fault.Fenced, fault.Canceled}, fault.KindOf(err))
}
