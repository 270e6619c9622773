package run

import (
	"context"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// diffAnswer is the handler's answer about the differences of one thing.
type diffAnswer struct {
	diff map[string]diff.Diff
	err  error
}

// differs returns the handler of a run as a Differ, if the handler compares things and has to be
// asked.
func differs(r *Run) (provider.Differ, bool) {
	if r.want.Purged || !r.seen.Exists {
		return nil, false
	}
	return provider.As[provider.Differ](r.handler)
}

// diffAll asks the handler for the differences of all runs in one call, since the overhead of a
// call exceeds the time of most comparisons. If the call fails, diffOne later asks for each run
// separately, and finds the run that hangs or panics. A handler that is a Canonicaliser is asked
// for canonical values first, and so run by run.
func (x comparer) diffAll(ctx context.Context, runs []*Run) {
	var asked []*Run
	for _, r := range runs {
		_, canonical := provider.As[provider.Canonicaliser](r.handler)
		if _, is := differs(r); is && !canonical {
			asked = append(asked, r)
		}
	}
	if len(asked) < 2 {
		return
	}
	answers := make([]diffAnswer, len(asked))
	err := x.within(ctx, x.batchLimit(asked), func(ctx context.Context) {
		for i, r := range asked {
			d, _ := differs(r)
			answers[i].diff, answers[i].err = d.Diff(r.ctx.With(ctx), r.want, r.seen)
		}
	})
	for i, r := range asked {
		switch {
		case err == nil:
			r.diffed = &answers[i]
		case x.lost == nil: // the call may still be running
			r.host = r.host.detach()
			r.Bind(ctx)
		}
	}
}

// diffOne returns the handler's answer about the differences of one run; false: it did not answer,
// and the run has ended.
func (x comparer) diffOne(r *Run, d provider.Differ, desired map[string]any) (diffAnswer, bool) {
	if r.diffed != nil {
		return *r.diffed, true
	}
	want, seen := r.want, r.seen
	want.Attributes = desired
	return call(r.ctx.Context, x.Executor, r, func(c *provider.Context) (out diffAnswer) {
		out.diff, out.err = d.Diff(c, want, seen)
		return out
	})
}
