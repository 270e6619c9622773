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
// (comparer) and acts (applier). It knows nothing of schedules, so that dry runs and discovery use
// it as well.
type Executor struct {
	Runner *Runner
	Runs   []*Run // what was not carried out is taken out
	Dry    bool   // stop before acting
	// Strict says what is done when a handler reports values that are not as it declares them.
	Strict provider.Strictness
	// Scheduled, when not nil, says what else of a type is to be read in this session; without it,
	// every thing is read by itself.
	Scheduled func(typ string) []resource.ID
	// Late, when not nil, reports that nothing more is to be read: what was not is not carried out.
	Late func() bool
	// Seen, when not nil, is called once everything is read.
	Seen func(ctx context.Context, runs []*Run) error
	// Mark records what has to be known of a run if it ends in the middle, such as that a create
	// begins; false means that it must not go on.
	Mark func(ctx context.Context, r *Run) (bool, error)
	// Cover, when not nil, sees to it that the lane is held for as long as a call may take. When it
	// fails, nothing more is called.
	Cover func(ctx context.Context, limit time.Duration) error

	lost   error // what cover said
	broken error // what went wrong with the store between two calls of one run
}

// The phases of an executor.
type (
	// reader finds out what there is.
	reader struct{ *Executor }
	// comparer decides what has to be done about that.
	comparer struct{ *Executor }
	// applier does it.
	applier struct{ *Executor }
)

// LaneLost reports whether the lane could not be held any longer.
func (x *Executor) LaneLost() bool { return x.lost != nil }

// Execute gives each run its outcome. A run that was not carried out, because the caller gave up,
// its create must not begin or the lane could not be held, has none.
func (x *Executor) Execute(ctx context.Context) error {
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

// observeAll finds out what there is of each run.
func (x *Executor) observeAll(ctx context.Context) error {
	open, read := x.open(), reader{x}
	if err := read.recall(ctx, open); err != nil {
		return err
	}
	for _, r := range open {
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

// begin has recorded what must be before runs act, and returns those that may.
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

// stopped ends what the lane was lost for: a run that has acted has failed, and any other has not
// taken place.
func (x *Executor) stopped() error {
	for _, r := range x.open() {
		if x.lost != nil && r.Acted {
			x.fail(r, x.lost)
		}
	}
	return x.lost
}

// drop leaves out a run that is not carried out. The list is copied, as the caller has it too.
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

// call runs f for one resource within its time limit and returns its answer; when the handler hangs
// or panics, the run ends and ok is false. A call that was left behind may still be running: it
// writes to a value of its own, and to the old host, which nobody reads any more.
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
	case x.lost != nil:
		return answer, false // it was not called
	}
	r.host = r.host.detach()
	x.fail(r, err)
	return answer, false
}

// within makes one call of a handler, for which the lane is held long enough. A run makes several,
// and each may take as long as the limit.
func (x *Executor) within(
	ctx context.Context,
	limit time.Duration,
	f func(ctx context.Context),
) error {
	if x.lost == nil && x.Cover != nil {
		x.lost = x.Cover(ctx, limit)
	}
	if x.lost != nil {
		return x.lost
	}
	if x.Dry { // nobody waits for what only looks
		if err := ctx.Err(); err != nil {
			return fault.Wrap(fault.KindOf(context.Cause(ctx)), "", context.Cause(ctx))
		}
		if left, limited := patience.Left(ctx); limited {
			limit = min(limit, left)
		}
		return x.Runner.Caller.Call(ctx, limit, func(own context.Context) {
			own, cancel := context.WithCancel(own)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			f(own)
		})
	}
	return x.Runner.Caller.Call(ctx, limit, f)
}

// limit is how long one call may take.
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

// fail ends a run by an error of its handler.
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
			unreachable(r.host.session.connErr),
			"agent "+r.res.Agent+": "+err.Error(),
		)
	default:
		r.End(state.StatusFailed, provider.ClassOf(err), err.Error())
	}
}

// find asks the handler what became of a create that was begun and not recorded. If the handler
// cannot tell, a person has to.
func (x reader) find(ctx context.Context, r *Run) {
	ask := func(why string) {
		r.NeedsPerson = true
		r.End(
			state.StatusFailed,
			provider.Terminal,
			"a create was begun and its outcome is not known, and "+why+"; "+
				"see what exists, then say `southbound deploy --retry-failed "+string(r.res.ID)+"`",
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
		x.fail(r, fmt.Errorf("look up what a create led to: %w", err))
	}
}
