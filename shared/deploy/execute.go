package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// executor calls handlers for runs of one type: read, compare, act. It knows nothing of schedules, so that dry runs and discovery use it
// as well.
type executor struct {
	e    *Engine
	env  string
	runs []*run
	dry  bool // stop before acting
	// each: read every thing by itself, even if the handler can list them all.
	each bool
	// strict says what is done when a handler reports values that are not in its own canonical form.
	strict provider.Strictness
	// mark records that a create begins; false means that it must not.
	mark func(ctx context.Context, r *run) (bool, error)
	// seen, when not nil, is called once everything is read.
	seen func(ctx context.Context, runs []*run) error
}

// execute gives each run its outcome. A run that was not carried out, because the caller gave up or its create must not begin, has none.
func (x *executor) execute(ctx context.Context) error {
	open := x.open()
	if err := x.recall(ctx, open); err != nil {
		return err
	}
	for _, r := range open {
		if r.token != "" && !x.dry {
			x.find(ctx, r)
		}
	}
	x.read(ctx, x.open())
	if x.seen != nil {
		if err := x.seen(ctx, x.runs); err != nil {
			return err
		}
	}
	for _, r := range x.open() {
		x.decide(r)
	}
	if x.dry {
		x.noop(ctx)
		return nil
	}
	var todo []*run
	for _, r := range x.open() {
		if r.act == plan.Created && r.typ.Assigned && r.token == "" {
			r.token = r.action
			ok, err := x.mark(ctx, r)
			if err != nil {
				return err
			}
			if !ok {
				r.outcome, r.act = "", plan.NoChange
				x.runs = drop(x.runs, r)
				continue
			}
		}
		todo = append(todo, r)
	}
	x.apply(ctx, todo)
	x.flush(ctx, todo)
	for _, r := range x.open() {
		x.after(ctx, r)
	}
	return nil
}

// drop leaves out a run that is not carried out. The list is copied, as the caller has it too.
func drop(runs []*run, r *run) []*run {
	return slices.DeleteFunc(slices.Clone(runs), func(o *run) bool { return o == r })
}

// open returns the runs without an outcome.
func (x *executor) open() []*run {
	var out []*run
	for _, r := range x.runs {
		if !r.over() {
			out = append(out, r)
		}
	}
	return out
}

// call runs f for one resource within its time limit and returns its answer; when the handler hangs or panics, the run ends and ok is false.
// A call that was left behind may still be running: it writes to a value of its own, and to the old host, which nobody reads any more.
func call[T any](ctx context.Context, x *executor, r *run, f func(c *provider.Context) T) (answer T, ok bool) {
	with, out := r.ctx, new(T)
	err := x.e.Caller.Call(ctx, x.limit(r), func(ctx context.Context) { *out = f(with.With(ctx)) })
	if err == nil {
		return *out, true
	}
	r.host = r.host.detach()
	x.fail(r, err)
	return answer, false
}

// limit is how long one call may take.
func (x *executor) limit(r *run) time.Duration {
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
func (x *executor) fail(r *run, err error) {
	var fe *fault.Error
	switch {
	case errors.Is(err, provider.ErrSkip):
		r.end(StatusSkipped, provider.ClassOf(err), err.Error())
	case fault.Is(err, fault.Timeout):
		r.end(StatusFailed, provider.Retryable, fmt.Sprintf("the handler did not answer within %s", x.limit(r)))
	case errors.As(err, &fe) && fe.Kind == fault.Internal:
		first, rest, _ := strings.Cut(err.Error(), "\n")
		r.host.Log(provider.Line{At: x.e.Clock.Now(), Level: provider.LevelError, Msg: "the handler panicked", Kwargs: map[string]any{"stack": rest}})
		r.end(StatusFailed, provider.Retryable, "the handler panicked: "+first)
	default:
		r.end(StatusFailed, provider.ClassOf(err), err.Error())
	}
}

// find asks the handler what became of a create that was begun and not recorded. If the handler cannot tell, a person has to.
func (x *executor) find(ctx context.Context, r *run) {
	ask := func(why string) {
		r.person = true
		r.end(StatusFailed, provider.Terminal, "a create was begun and its outcome is not known, and "+why+"; "+
			"see what exists, then say `southbound deploy --retry-failed "+string(r.res.ID)+"`")
	}
	finder, ok := provider.As[provider.Finder](r.handler)
	if !ok {
		ask("this type cannot look it up")
		return
	}
	req := provider.CreateRequest{Resource: r.want, Token: r.token}
	err, ok := call(ctx, x, r, func(c *provider.Context) error {
		_, err := finder.FindCreated(c, req)
		return err
	})
	switch {
	case !ok || err == nil:
	case errors.Is(err, provider.ErrUndecided):
		ask(err.Error())
	default:
		x.fail(r, fmt.Errorf("look up what a create led to: %w", err))
	}
}

// read observes the thing of each run, in one call if the handler can do that.
func (x *executor) read(ctx context.Context, runs []*run) {
	batch, ok := provider.As[provider.BatchReader](handlerOf(runs))
	if !ok && len(runs) > 1 && !x.each && x.readList(ctx, runs) {
		return
	}
	if !ok || len(runs) < 2 {
		for _, r := range runs {
			x.readOne(ctx, r)
		}
		return
	}
	items := make([]provider.BatchRead, len(runs))
	for i, r := range runs {
		items[i] = provider.BatchRead{Context: r.ctx, ReadRequest: provider.ReadRequest{Resource: r.want}}
	}
	var readings []provider.Reading
	err := x.e.Caller.Call(ctx, x.batchLimit(runs), func(ctx context.Context) { readings = batch.ReadBatch(ctx, items) })
	if err != nil || len(readings) != len(runs) {
		x.apart(ctx, runs, x.readOne) // one of them may hang or panic: find out which
		return
	}
	for i, r := range runs {
		if r.seen = readings[i].Observation; readings[i].Err != nil {
			x.fail(r, readings[i].Err)
		}
	}
}

// apart does one by one what failed as a batch. Each run gets a new host first, as the batch may still be running with the old ones.
func (x *executor) apart(ctx context.Context, runs []*run, f func(context.Context, *run)) {
	for _, r := range runs {
		r.host = r.host.detach()
		r.bind(ctx)
		f(ctx, r)
	}
}

// batchLimit is how long a batch may take: as long as its slowest call, and batchItem more for each item.
func (x *executor) batchLimit(runs []*run) time.Duration {
	longest := time.Duration(0)
	for _, r := range runs {
		longest = max(longest, x.limit(r))
	}
	return longest + time.Duration(len(runs))*batchItem
}

// batchItem is what each item adds to the time that a batch may take.
const batchItem = 100 * time.Millisecond

func handlerOf(runs []*run) provider.Handler {
	if len(runs) == 0 {
		return nil
	}
	return runs[0].handler
}

func (x *executor) readOne(ctx context.Context, r *run) {
	handler, req := r.handler, provider.ReadRequest{Resource: r.want}
	reading, ok := call(ctx, x, r, func(c *provider.Context) (out provider.Reading) {
		out.Observation, out.Err = handler.Read(c, req)
		return out
	})
	if r.seen = reading.Observation; ok && reading.Err != nil {
		x.fail(r, reading.Err)
	}
}

// decide compares what was read with what is wanted and notes what has to be done.
func (x *executor) decide(r *run) {
	r.act = plan.NoChange
	for name := range r.host.hidden {
		r.host.secretsIn(r.seen.Attributes[name]) // it may still hold an earlier secret
	}
	r.host.redactLines()
	switch {
	case r.want.Purged && r.seen.Exists:
		r.act = plan.Purged
		r.changes = r.host.redactDiff(purgeDiff(r))
	case r.want.Purged:
	case !r.seen.Exists:
		r.act = plan.Created
		r.changes = r.host.redactDiff(createDiff(r))
	default:
		if !x.compare(r) {
			return
		}
		if len(r.diff) > 0 {
			r.act = plan.Updated
			r.changes = r.host.redactDiff(r.diff)
			if fixed := plan.InitOnly(r.typ, r.diff); len(fixed) > 0 {
				r.end(StatusFailed, provider.NeedsChange, fmt.Sprintf("%s can only be set when it is created; to change it, purge the resource and create it anew",
					strings.Join(fixed, ", ")))
				return
			}
		}
	}
	if r.res.ReportOnly && r.act != plan.NoChange && !x.dry {
		r.act = plan.NoChange
		r.end(StatusNonCompliant, "", "differs, and is only reported")
	}
}

// compare fills in the differences between what was read and what is wanted; false means that the run failed.
func (x *executor) compare(r *run) bool {
	var err error
	desired := r.want.Attributes
	if c, ok := provider.As[provider.Canonicaliser](r.handler); ok {
		if desired, err = c.Canonicalise(desired); err != nil {
			x.fail(r, provider.Errorf(provider.NeedsChange, "%w", err))
			return false
		}
	}
	if d, ok := provider.As[provider.Differ](r.handler); ok {
		want, seen := r.want, r.seen
		want.Attributes = desired
		type answer struct {
			diff map[string]plan.Diff
			err  error
		}
		got, ok := call(r.ctx.Context, x, r, func(c *provider.Context) (out answer) {
			out.diff, out.err = d.Diff(c, want, seen)
			return out
		})
		if ok && got.err != nil {
			x.fail(r, got.err)
		}
		r.diff = got.diff
		return ok && got.err == nil
	}
	r.diff = plan.Compare(r.typ, desired, r.seen.Attributes)
	return x.inSync(r, desired)
}

func createDiff(r *run) map[string]plan.Diff {
	out := make(map[string]plan.Diff, len(r.want.Attributes))
	for i := range r.typ.Attributes {
		a := &r.typ.Attributes[i]
		if v := r.want.Attributes[a.Name]; v != nil && (a.Behaviour == schema.Property || a.Behaviour == schema.InitOnly) {
			out[a.Name] = plan.Diff{Desired: v}
		}
	}
	return out
}

func purgeDiff(r *run) map[string]plan.Diff {
	out := map[string]plan.Diff{}
	for i := range r.typ.Attributes {
		a := &r.typ.Attributes[i]
		if v := r.seen.Attributes[a.Name]; v != nil && a.Behaviour == schema.Property {
			out[a.Name] = plan.Diff{Current: v}
		}
	}
	return out
}

// apply carries out what was decided, in one call if the handler can do that.
func (x *executor) apply(ctx context.Context, runs []*run) {
	var act []*run
	for _, r := range runs {
		if r.act != plan.NoChange {
			act = append(act, r)
		}
	}
	for _, r := range act {
		r.acted = true
	}
	batch, ok := provider.As[provider.BatchApplier](handlerOf(act))
	if !ok || len(act) < 2 {
		for _, r := range act {
			if ctx.Err() != nil {
				x.runs = drop(x.runs, r) // the caller gave up: it stays scheduled
				r.acted = false
				continue
			}
			x.applyOne(ctx, r)
		}
		return
	}
	items := make([]provider.BatchChange, len(act))
	for i, r := range act {
		items[i] = provider.BatchChange{Context: r.ctx, Change: r.act, Resource: r.want, Observed: r.seen, Changes: r.diff, Token: r.createToken()}
	}
	var applied []provider.Applied
	err := x.e.Caller.Call(ctx, x.batchLimit(act), func(ctx context.Context) { applied = batch.ApplyBatch(ctx, items) })
	if err != nil || len(applied) != len(act) {
		x.apart(ctx, act, x.applyOne)
		return
	}
	for i, r := range act {
		x.applied(r, applied[i].Result, applied[i].Err)
	}
}

// createToken identifies the create of a run: by what was recorded for it, else by the run's action.
func (r *run) createToken() string {
	if r.token != "" {
		return r.token
	}
	return r.action
}

func (x *executor) applyOne(ctx context.Context, r *run) {
	handler, act, want, seen, diff, token := r.handler, r.act, r.want, r.seen, r.diff, r.createToken()
	got, ok := call(ctx, x, r, func(c *provider.Context) (out provider.Applied) {
		out.Result, out.Err = provider.Apply(handler, provider.BatchChange{Context: c, Change: act, Resource: want, Observed: seen, Changes: diff, Token: token})
		return out
	})
	if ok {
		x.applied(r, got.Result, got.Err)
	}
}

// applied takes in the handler's answer to a change.
func (x *executor) applied(r *run, out provider.Result, err error) {
	if err != nil {
		r.nothing = r.act == plan.Created && errors.Is(err, provider.ErrNothingMade)
		x.fail(r, err)
		return
	}
	r.change = r.act
	if out.Again != nil {
		r.again = out.Again
		r.end(StatusDeploying, "", "in progress")
	}
}

// after does what follows a change that went well, or was not needed: reload, facts, and the outcome.
func (x *executor) after(ctx context.Context, r *run) {
	req := provider.ReadRequest{Resource: r.want}
	// A thing that this run has made for the first time has missed no change.
	made := r.claim != nil && r.claim.row.SucceededAt.IsZero() && r.change != plan.NoChange
	if l, is := provider.As[provider.Reloader](r.handler); is && r.reload && !made && !r.want.Purged && !r.reportOnly {
		r.acted = true
		err, ok := call(ctx, x, r, func(c *provider.Context) error { return l.Reload(c, req) })
		if ok && err != nil {
			x.fail(r, fmt.Errorf("reload: %w", err))
		}
		if r.over() {
			return
		}
		if r.change == plan.NoChange {
			r.change = plan.Updated
		}
	}
	if f, is := provider.As[provider.FactReader](r.handler); is && r.claim != nil && r.claim.row.WantFacts && !r.want.Purged {
		err, ok := call(ctx, x, r, func(c *provider.Context) error {
			facts, err := f.Facts(c, req)
			for name, value := range facts {
				c.Fact(name, value)
			}
			return err
		})
		if ok && err != nil {
			x.fail(r, fmt.Errorf("read facts: %w", err))
		}
		if r.over() {
			return
		}
	}
	if len(r.host.changed) > 0 {
		if r.changes == nil {
			r.changes = map[string]plan.Diff{}
		}
		for name, d := range r.host.redactDiff(r.host.changed) {
			r.changes[name] = d
		}
		if r.change == plan.NoChange {
			r.change = plan.Updated
		}
	}
	if !x.overridden(r) {
		return
	}
	if r.outcome = StatusDeployed; r.change == plan.NoChange {
		r.changes = nil
	}
}
