package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// apply makes the decided changes, in one call if the handler supports that.
func (x applier) apply(ctx context.Context, runs []*Run) {
	var act []*Run
	for _, r := range runs {
		if r.act != diff.NoChange {
			act = append(act, r)
		}
	}
	for _, r := range act {
		r.Acted = true
	}
	if act = x.applyAlone(ctx, act); x.broken != nil {
		for _, r := range act {
			r.Acted = false
		}
		return
	}
	if batch, ok := provider.As[provider.BatchApplier](handlerOf(act)); ok && len(act) > 1 {
		x.applyTogether(ctx, batch, act)
	} else {
		x.applyEach(ctx, act)
	}
}

// applyEach makes the changes of runs one after the other.
func (x applier) applyEach(ctx context.Context, act []*Run) {
	for _, r := range act {
		if ctx.Err() != nil {
			x.Runs = drop(x.Runs, r) // the caller gave up: it stays scheduled
			r.Acted = false
			continue
		}
		if x.applyOne(ctx, r); x.lost != nil && !r.Over() {
			r.Acted = false // it was not called
		}
	}
}

// applyTogether makes the changes of runs in one call. If the call does not return a result for
// each run, the changes are made in separate calls.
func (x applier) applyTogether(ctx context.Context, batch provider.BatchApplier, act []*Run) {
	items := make([]provider.BatchChange, len(act))
	for i, r := range act {
		items[i] = provider.BatchChange{
			Context:  r.ctx,
			Change:   r.act,
			Resource: r.want,
			Observed: r.seen,
			Changes:  r.diff,
			Token:    r.createToken(),
		}
	}
	var applied []provider.Applied
	err := x.within(
		ctx,
		x.batchLimit(act),
		func(ctx context.Context) { applied = batch.ApplyBatch(ctx, items) },
	)
	if x.lost != nil {
		for _, r := range act {
			r.Acted = x.midway
		}
		return
	}
	if err != nil || len(applied) != len(act) {
		x.apart(ctx, act, x.applyOne)
		return
	}
	for i, r := range act {
		x.applied(r, applied[i].Result, applied[i].Err)
	}
}

// applyAlone makes the changes of runs that take several calls, and returns the other runs.
func (x applier) applyAlone(ctx context.Context, runs []*Run) []*Run {
	var rest []*Run
	for _, r := range runs {
		switch {
		case !r.inSteps():
			rest = append(rest, r)
		case ctx.Err() != nil || x.lost != nil || x.broken != nil:
			r.Acted = false
			if ctx.Err() != nil {
				x.Runs = drop(x.Runs, r) // the caller gave up: it stays scheduled
			}
		default:
			x.applySteps(ctx, r)
		}
	}
	return rest
}

// createToken returns the token that identifies the create of a run: the recorded token, or else
// the id of the run's action.
func (r *Run) createToken() string {
	if r.token != "" {
		return r.token
	}
	return r.ID
}

func (x applier) applyOne(ctx context.Context, r *Run) {
	handler, act, want, seen := r.handler, r.act, r.want, r.seen
	diff, token := r.diff, r.createToken()
	got, ok := call(ctx, x.Executor, r, func(c *provider.Context) (out provider.Applied) {
		out.Result, out.Err = provider.Apply(
			handler,
			provider.BatchChange{
				Context:  c,
				Change:   act,
				Resource: want,
				Observed: seen,
				Changes:  diff,
				Token:    token,
			},
		)
		return out
	})
	if ok {
		x.applied(r, got.Result, got.Err)
	}
}

// applied records the handler's result of a change.
func (x applier) applied(r *Run, out provider.Result, err error) {
	if err != nil {
		r.NothingMade = r.act == diff.Created && errors.Is(err, provider.ErrNothingMade)
		x.fail(r, err)
		return
	}
	r.Change = r.act
	if out.Again != nil && len(out.Again.State) > maxState {
		x.fail(
			r,
			provider.Errorf(
				provider.Terminal,
				"the handler asks to be given back %d bytes, and %d is the maximum; "+
					"this is a bug in the handler",
				len(out.Again.State),
				maxState,
			),
		)
		return
	}
	if out.Again != nil {
		r.Again = out.Again
		r.End(state.StatusDeploying, "", "in progress")
	}
}

// after completes a run whose change succeeded or was not needed: reload, facts, and the outcome.
func (x applier) after(ctx context.Context, r *Run) {
	for _, do := range []func(context.Context, *Run){x.reload, x.facts} {
		if do(ctx, r); r.Over() || x.lost != nil {
			return
		}
	}
	if len(r.host.changed) > 0 {
		r.addChanges(r.host.changed)
		if r.Change == diff.NoChange {
			r.Change = diff.Updated
		}
	}
	if !x.overridden(r) {
		return
	}
	if r.Outcome = state.StatusDeployed; r.Change == diff.NoChange {
		r.Changes = nil
	}
}

// reload makes a handler reload a thing after a change of a resource whose events it receives. A
// thing that this run has made for the first time has missed no change.
func (x applier) reload(ctx context.Context, r *Run) {
	made := r.given.First && r.Change != diff.NoChange
	if !r.given.Reload || made || r.want.Purged || r.ReportOnly ||
		!provider.Reloads(r.handler, r.want) {
		return
	}
	l, _ := provider.As[provider.Reloader](r.handler)
	before, req := r.Acted, provider.ReadRequest{Resource: r.want}
	r.Acted = true
	err, ok := call(ctx, x.Executor, r,
		func(c *provider.Context) error { return l.Reload(c, req) })
	if x.lost != nil && !x.midway {
		r.Acted = before // it was not called
	}
	if ok && err != nil {
		x.fail(r, fmt.Errorf("reload: %w", err))
	}
	if !r.Over() && x.lost == nil && r.Change == diff.NoChange {
		r.Change = diff.Updated
	}
}

// facts reads the facts of a thing, if another resource waits for them.
func (x applier) facts(ctx context.Context, r *Run) {
	f, is := provider.As[provider.FactReader](r.handler)
	if !is || !r.given.Facts || r.want.Purged {
		return
	}
	req := provider.ReadRequest{Resource: r.want}
	err, ok := call(ctx, x.Executor, r, func(c *provider.Context) error {
		facts, err := f.Facts(c, req)
		for name, value := range facts {
			c.Fact(name, value)
		}
		return err
	})
	if ok && err != nil {
		x.fail(r, fmt.Errorf("read facts: %w", err))
	}
}

// flush notifies the handler that a batch was applied. If that fails, the whole batch has failed,
// since no change of it is known to be in force.
func (x applier) flush(ctx context.Context, runs []*Run) {
	var done []provider.BatchChange
	var of []*Run
	for _, r := range runs {
		if !r.Over() && r.Acted {
			of = append(of, r)
			done = append(done, x.flushes(r)...)
		}
	}
	f, ok := provider.As[provider.Flusher](handlerOf(of))
	if !ok {
		return
	}
	out := make(chan error, 1)
	err := x.within(ctx, x.batchLimit(of), func(ctx context.Context) { out <- f.Flush(ctx, done) })
	if err == nil {
		err = <-out
	}
	if x.lost != nil {
		return
	}
	for _, r := range of {
		if err != nil {
			r.host = r.host.detach()
			x.fail(r, fmt.Errorf("flush: %w", err))
		}
	}
}

// flushes returns the changes that a run has made, call by call.
func (x applier) flushes(r *Run) []provider.BatchChange {
	one := provider.BatchChange{
		Context:  r.ctx,
		Change:   r.act,
		Resource: r.want,
		Observed: r.seen,
		Changes:  r.diff,
		Token:    r.createToken(),
	}
	if !r.inSteps() {
		return []provider.BatchChange{one}
	}
	var out []provider.BatchChange
	for _, s := range x.steps(r) {
		one.Change, one.Observed = s.change, s.observed
		out = append(out, one)
	}
	return out
}

// overridden replaces the inferred change by the change that the handler has reported, if any. It
// returns false if the handler contradicts itself.
func (x applier) overridden(r *Run) bool {
	switch {
	case r.host.overrides == 0:
		return true
	case r.host.overrides > 1:
		r.End(
			state.StatusFailed,
			provider.Terminal,
			"the handler reported two different changes; this is a bug in the handler",
		)
		return false
	}
	if !slices.Contains(
		[]diff.Change{diff.NoChange, diff.Created, diff.Updated, diff.Purged},
		r.host.override,
	) {
		r.End(
			state.StatusFailed,
			provider.Terminal,
			fmt.Sprintf(
				"the handler reported %q, which is not a change; this is a bug in the handler",
				r.host.override,
			),
		)
		return false
	}
	r.Change = r.host.override
	return true
}

// noop informs handlers that implement Nooper about the change that a deploy would make.
func (x applier) noop(ctx context.Context) {
	for _, r := range x.open() {
		n, ok := provider.As[provider.Nooper](r.handler)
		if !ok || r.act == diff.NoChange {
			continue
		}
		planned := provider.BatchChange{
			Change:   r.act,
			Resource: r.want,
			Observed: r.seen,
			Changes:  r.diff,
			Token:    r.createToken(),
		}
		err, answered := call(ctx, x.Executor, r, func(c *provider.Context) error {
			planned.Context = c
			return n.Noop(c, planned)
		})
		if answered && err != nil {
			x.fail(r, fmt.Errorf("a deploy would fail: %w", err))
		}
		if len(r.host.changed) > 0 {
			r.addChanges(r.host.changed)
		}
	}
}
