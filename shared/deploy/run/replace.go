package run

import (
	"context"
	"errors"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// replacing records that a difference can only be removed by replacing the thing. It returns false
// if the thing must not be replaced; then the run is over.
func (x comparer) replacing(r *Run) bool {
	names := diff.Replacing(r.typ, r.diff)
	if len(names) == 0 {
		return true
	}
	r.replaces = true
	if r.res.PreventDestroy && !r.res.ReportOnly {
		r.End(state.StatusFailed, provider.NeedsChange, PreservedText(names))
		return false
	}
	if CreatesFirst(r) && len(r.identityOf(r.seen.Attributes)) == 0 {
		r.End(
			state.StatusFailed,
			provider.Terminal,
			"the handler reports no attribute that distinguishes this object from the one "+
				"that would replace it; "+
				"this is a bug in the handler",
		)
		return false
	}
	return true
}

// PreservedText returns the reason why a thing is not replaced.
func PreservedText(names []string) string {
	return strings.Join(names, ", ") +
		" can only be changed by replacing the object, and prevent_destroy forbids that; " +
		"remove prevent_destroy to permit the replacement, or restore the current value"
}

// CreatesFirst reports whether the run replaces the thing, and creates the new one before it deletes
// the old one.
func CreatesFirst(r *Run) bool {
	return r.replaces && r.typ.CreatesFirst(r.want.Attributes)
}

// leftover makes a run delete things that were replaced earlier.
func (r *Run) leftover() {
	old := r.old()
	if len(old) == 0 {
		return
	}
	if r.act == diff.NoChange {
		r.act, r.diff = diff.Updated, nil
		diffs := make(map[string]diff.Diff, len(old[0]))
		for name, v := range old[0] {
			diffs[name] = diff.Diff{Current: v, Desired: r.seen.Attributes[name]}
		}
		setChanges(r, diffs)
	}
	r.leaves = true
}

// inSteps reports whether a run takes several calls, one after the other.
func (d *decision) inSteps() bool { return d.replaces || d.leaves }

// act is one call of a run that takes several calls.
type act struct {
	change   diff.Change
	observed provider.Observation
	old      bool // deletes a replaced thing
}

// steps returns the calls of a run, in order.
func (x applier) steps(r *Run) []act {
	var out []act
	gone := provider.Observation{Carried: r.seen.Carried}
	switch {
	case CreatesFirst(r):
		out = append(out, act{change: diff.Created, observed: gone})
	case r.replaces:
		out = append(out, act{change: diff.Purged, observed: r.seen},
			act{change: diff.Created, observed: gone})
	case r.act == diff.Updated && len(r.diff) == 0:
	default:
		out = append(out, act{change: r.act, observed: r.seen})
	}
	old := r.old()
	if CreatesFirst(r) {
		old = r.notes.Old // the thing that was read is among them
	}
	for _, identity := range old {
		out = append(
			out,
			act{
				change:   diff.Purged,
				observed: provider.Observation{Exists: true, Attributes: identity},
				old:      true,
			},
		)
	}
	return out
}

// applySteps makes the calls of a run that takes several calls.
func (x applier) applySteps(ctx context.Context, r *Run) {
	done := false
	for i, s := range x.steps(r) {
		if i > 0 {
			r.ctx = r.ctx.WithState(nil) // the state belongs to the first call
		}
		// The thing that a found create has made was deleted: the next create needs another token.
		unmarked := r.token == "" || r.found && i > 0
		if s.change == diff.Created && r.typ.Assigned && unmarked && !x.markBetween(ctx, r) {
			return
		}
		out, ok := x.step(ctx, r, s)
		if !ok {
			r.Acted = r.Acted &&
				(done || x.lost == nil || x.midway) // if the lane was lost, this call was not made
			return
		}
		done = true
		if out.Again != nil {
			r.notes.Deleting = s.change == diff.Purged && r.replaces && !s.old
			r.Again = out.Again
			r.End(state.StatusDeploying, "", "in progress")
			return
		}
		x.advance(r, s)
	}
}

// step makes one call of a run that takes several calls; false means that the run is over, or that
// the call was not made.
func (x applier) step(ctx context.Context, r *Run, s act) (provider.Result, bool) {
	handler, planned := r.handler, provider.BatchChange{
		Change:   s.change,
		Resource: r.want,
		Observed: s.observed,
		Changes:  r.diff,
		Token:    r.createToken(),
	}
	got, ok := call(ctx, x.Executor, r, func(c *provider.Context) (out provider.Applied) {
		planned.Context = c
		out.Result, out.Err = provider.Apply(handler, planned)
		return out
	})
	if ok && got.Err != nil {
		r.NothingMade = s.change == diff.Created && errors.Is(got.Err, provider.ErrNothingMade)
		x.fail(r, got.Err)
	}
	return got.Result, ok && got.Err == nil
}

// advance updates the change that a run of several calls has made so far.
func (x applier) advance(r *Run, s act) {
	switch {
	case r.want.Purged:
		r.Change = diff.Purged
	case s.old, r.Change == diff.Purged:
		r.Change = diff.Updated
	default:
		r.Change = s.change
	}
}

// markBetween records the token of a create that follows a delete. The token is not recorded
// earlier: a run that ends in the delete has made nothing, so no person has to decide about a
// create. markBetween returns false if the create must not begin.
func (x applier) markBetween(ctx context.Context, r *Run) bool {
	r.token = r.ID
	ok, err := x.Mark(ctx, r)
	if err != nil {
		x.broken = err
	}
	if !ok {
		r.token = ""
		r.End(
			state.StatusFailed,
			provider.Retryable,
			"the desired state changed during the replacement; the old object is deleted",
		)
	}
	return ok && err == nil
}
