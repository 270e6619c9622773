package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Executor calls handlers for runs of one type, in three phases: it reads (reader), compares
// (comparer) and acts (applier). It does not depend on schedules, so dry runs and discovery use it
// as well.
type Executor struct {
	Runner *Runner
	Runs   []*Run // runs that are not carried out are removed
	Dry    bool   // stop before acting
	// Strict decides how to treat values from a handler that contradict its declaration.
	Strict provider.Strictness
	// Scheduled, when not nil, returns the other resources of a type that this session will read.
	// Without it, every thing is read individually.
	Scheduled func(typ string) []resource.ID
	// Late, when not nil, reports that the time to read is over: runs that have not been read are
	// not carried out.
	Late func() bool
	// Seen, when not nil, is called when all runs have been read.
	Seen func(ctx context.Context, runs []*Run) error
	// Mark records the data about a run that is needed if it is interrupted, such as the token of a
	// create. false means that the run must not go on.
	Mark func(ctx context.Context, r *Run) (bool, error)
	// Cover, when not nil, ensures that the lane is held for as long as a call may take. If it
	// fails, no further call is made.
	Cover func(ctx context.Context, limit time.Duration) error
	// Renew, when not nil, renews the hold of the lane during a call. An error means that the lane
	// is lost. It is not called by two goroutines at a time.
	Renew func(ctx context.Context) error
	// Keep stores a state that a handler keeps, before it returns; without Sealed it is removed. If
	// it is nil, handlers keep no state. Calls are concurrent.
	Keep func(ctx context.Context, k state.Kept) error

	lost   error // the error of Cover or Renew, or the end of the caller of a dry run
	midway bool  // the lane was lost during a call
	broken error // the error of the store between two calls of one run
}

// The phases of an executor.
type (
	// reader reads the things.
	reader struct{ *Executor }
	// comparer decides which changes they need.
	comparer struct{ *Executor }
	// applier makes these changes.
	applier struct{ *Executor }
)

// LeaseLost reports whether the lane could no longer be held.
func (x *Executor) LeaseLost() bool { return x.lost != nil }

// Execute gives each run its outcome. A run has no outcome if it was not carried out: the caller
// gave up, its create must not begin, or the lane was lost.
func (x *Executor) Execute(ctx context.Context) error {
	defer func() {
		for _, r := range x.Runs {
			r.host.keeping.end()
		}
	}()
	if err := x.observeAll(ctx); err != nil {
		return err
	}
	compare, apply := comparer{x}, applier{x}
	compare.accept(x.open())
	compare.diffAll(ctx, x.open())
	for _, r := range x.open() {
		compare.decide(r)
	}
	if x.Dry {
		apply.noop(ctx)
		return nil
	}
	todo, err := x.begin(ctx)
	if err != nil {
		return err
	}
	apply.apply(ctx, todo)
	if x.broken != nil {
		return x.broken
	}
	apply.flush(ctx, todo)
	for _, r := range x.open() {
		if x.lost == nil {
			apply.after(ctx, r)
		}
	}
	return x.stopped()
}

// observeAll reads the thing of each run.
func (x *Executor) observeAll(ctx context.Context) error {
	open, read := x.open(), reader{x}
	if err := read.recall(ctx, open); err != nil {
		return err
	}
	if err := read.recallKept(ctx, open); err != nil {
		return err
	}
	for _, r := range x.open() {
		if r.token != "" && !x.Dry {
			read.find(ctx, r)
		}
	}
	read.read(ctx, x.open())
	if x.lost != nil {
		return x.stopped()
	}
	if x.Seen != nil {
		return x.Seen(ctx, x.Runs)
	}
	return nil
}

// begin records the data that is needed before runs act, and returns the runs that may act.
func (x *Executor) begin(ctx context.Context) ([]*Run, error) {
	var todo []*Run
	for _, r := range x.open() {
		if r.act != diff.NoChange && r.note() {
			ok, err := x.Mark(ctx, r)
			if err != nil {
				return nil, err
			}
			if !ok {
				r.Outcome, r.act = "", diff.NoChange
				x.Runs = drop(x.Runs, r)
				continue
			}
		}
		todo = append(todo, r)
	}
	return todo, nil
}

// stopped ends the runs after the lane was lost: a run that has acted has failed; any other run did
// not take place.
func (x *Executor) stopped() error {
	for _, r := range x.open() {
		if x.lost != nil && r.Acted {
			x.fail(r, x.lost)
		}
	}
	return x.lost
}

// drop returns the runs without one that is not carried out. The list is copied, since the caller
// holds it too.
func drop(runs []*Run, r *Run) []*Run {
	return slices.DeleteFunc(slices.Clone(runs), func(o *Run) bool { return o == r })
}

// open returns the runs without an outcome.
func (x *Executor) open() []*Run {
	var out []*Run
	for _, r := range x.Runs {
		if !r.Over() {
			out = append(out, r)
		}
	}
	return out
}

// call runs f for one resource within its time limit and returns its answer. If the handler hangs
// or panics, the run ends and ok is false. A call that was left behind may still be running: it
// writes to a value of its own, and to the old host, which is no longer read.
func call[T any](
	ctx context.Context,
	x *Executor,
	r *Run,
	f func(c *provider.Context) T,
) (answer T, ok bool) {
	with, out := r.ctx, new(T)
	err := x.within(ctx, x.limit(r), func(ctx context.Context) { *out = f(with.With(ctx)) })
	switch {
	case err == nil:
		return *out, true
	case x.lost != nil && !x.midway:
		return answer, false // it was not called
	}
	r.host = r.host.detach()
	if x.lost == nil || r.Acted {
		x.fail(r, err)
	}
	return answer, false
}

// within makes one call of a handler, for which the lane is held long enough. A run makes several
// calls, and each of them may take as long as the limit.
func (x *Executor) within(
	ctx context.Context,
	limit time.Duration,
	f func(ctx context.Context),
) error {
	if x.lost == nil && x.Cover != nil {
		x.lost = x.Cover(ctx, held(x.Runner, limit))
	}
	if x.lost != nil {
		x.midway = false // of an earlier call
		return x.lost
	}
	if x.Dry {
		return x.withinCaller(ctx, limit, f)
	}
	caller, renews := x.Runner.Caller.(state.RenewingCaller)
	if !renews || x.Renew == nil {
		return x.Runner.Caller.Call(ctx, limit, f)
	}
	var lost error
	err := caller.CallRenewing(ctx, limit, state.RenewEvery, func(ctx context.Context) error {
		lost = x.Renew(ctx)
		return lost
	}, f)
	if lost != nil {
		x.lost, x.midway = lost, true
		return lost
	}
	return err
}

// withinCaller makes one call of a dry run, which ends with its caller. That end is no failure of the
// handler: the result of the call is discarded, and no further call is made.
func (x *Executor) withinCaller(
	ctx context.Context, limit time.Duration, f func(ctx context.Context),
) error {
	left, limited := patience.Left(ctx)
	limited = limited && left < limit
	if limited {
		limit = left
	}
	err := ctx.Err()
	if err == nil {
		err = x.Runner.Caller.Call(ctx, limit, func(own context.Context) {
			own, cancel := context.WithCancel(own)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			f(own)
		})
	}
	if limited && fault.Is(err, fault.Timeout) {
		<-ctx.Done() // it has the same limit
	}
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		x.lost = fault.Wrap(fault.KindOf(cause), "", cause)
		return x.lost
	}
	return err
}

// limit returns how long one call may take.
func (x *Executor) limit(r *Run) time.Duration {
	if t, ok := provider.As[provider.Timeouter](r.handler); ok {
		if d := t.CallTimeout(r.want); d > 0 {
			return d
		}
	}
	if r.typ.Timeout > 0 {
		return r.typ.Timeout
	}
	return schema.DefaultTimeout
}

// fail ends a run with an error of its handler.
func (x *Executor) fail(r *Run, err error) {
	var fe *fault.Error
	r.absent = errors.Is(err, provider.ErrUnavailable) || fault.Is(err, fault.Unavailable)
	switch {
	case errors.Is(err, provider.ErrUnavailable):
		r.End(state.StatusUnavailable, state.ClassUnavailable, err.Error())
	case errors.Is(err, provider.ErrSkip):
		r.End(state.StatusSkipped, provider.ClassOf(err), err.Error())
	case fault.Is(err, fault.Timeout):
		r.End(
			state.StatusFailed,
			provider.Retryable,
			fmt.Sprintf("the handler did not answer within %s", x.limit(r)),
		)
	case errors.As(err, &fe) && fe.Kind == fault.Internal:
		first, rest, _ := strings.Cut(err.Error(), "\n")
		r.host.Log(
			provider.Line{
				At:     x.Runner.Clock.Now(),
				Level:  provider.LevelError,
				Msg:    "the handler panicked",
				Kwargs: map[string]any{"stack": rest},
			},
		)
		r.End(state.StatusFailed, provider.Retryable, "the handler panicked: "+first)
	case fault.Is(err, fault.Unavailable) && x.unreached(r) != nil:
		r.End(
			state.StatusUnavailable,
			unreachable(r.host.session.failure()),
			"agent "+r.res.Agent+": "+err.Error(),
		)
	default:
		r.End(state.StatusFailed, provider.ClassOf(err), err.Error())
	}
}

// find asks the handler for the outcome of a create that was begun and not recorded. If the handler
// cannot determine it, a person has to decide.
func (x reader) find(ctx context.Context, r *Run) {
	ask := func(why string) {
		r.NeedsDecision = true
		r.End(
			state.StatusFailed,
			provider.Terminal,
			"a create was begun and its outcome is not known, and "+why+"; "+
				"check whether the object exists, then run `southbound deploy --retry-failed "+string(r.res.ID)+"`",
		)
	}
	finder, ok := provider.As[provider.Finder](r.handler)
	if !ok {
		ask("this type cannot look it up")
		return
	}
	req := provider.CreateRequest{Resource: r.want, Token: r.token}
	type answer struct {
		found bool
		err   error
	}
	got, ok := call(ctx, x.Executor, r, func(c *provider.Context) (out answer) {
		out.found, out.err = finder.FindCreated(c, req)
		return out
	})
	err := got.err
	r.found = got.found && err == nil
	switch {
	case !ok || err == nil:
	case errors.Is(err, provider.ErrUndecided):
		ask(err.Error())
	default:
		x.fail(r, fmt.Errorf("look up the result of a create: %w", err))
	}
}
