package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/engine"
	"southbound/shared/resource"
)

// witness replays the log of a run. It applies all effects to the sequential model, and checks
// every result with a judge.
type witness struct {
	r        *run
	versions []*version
	forwards []*forward
}

// version is the model from an index in the log on.
type version struct {
	from  int
	state *engine.State
	side  side
	view  *view
}

// side holds facts that the model lacks and on which results may depend. Its maps are not changed
// in place.
type side struct {
	running   map[string]running
	entries   map[string]string // the key of the lease under which an outbox entry was added
	idleEpoch int64
	horizon   time.Time    // actions that ended earlier may be removed
	forgot    map[int]bool // versions that may exist or not
}

// running holds the resources that must be, and those that may be, in the running list of a lease.
type running struct {
	must, may []resource.ID
	known     bool // the holder knows the outcome of its last commit
}

// forward is a commit that is rolled forward.
type forward struct {
	op        *op
	number    int64
	begun     int // index in the log
	lastPart  int
	done      int // index in the log; 0: not done
	commit    state.Commit
	known     bool        // its conflicts are known
	conflicts []state.Row // rows that conflict
	applied   map[resource.ID]bool
	dropped   map[string]bool // outbox entries
}

func newWitness(r *run) *witness {
	return &witness{r: r,
		versions: []*version{{state: engine.NewState(),
			side: side{running: map[string]running{}, entries: map[string]string{},
				forgot: map[int]bool{}}}}}
}

func (w *witness) now() *version { return w.versions[len(w.versions)-1] }

// next appends a new version, which f changes.
func (w *witness) next(at int, f func(v *version)) {
	was := w.now()
	v := &version{from: at, state: was.state.Clone(), side: was.side}
	f(v)
	v.view = nil // a view of the version before
	w.versions = append(w.versions, v)
}

func (w *witness) violate(check, format string, args ...any) { w.r.violate(check, format, args...) }

// check replays the log.
func (w *witness) check() {
	j := &judge{w}
	for _, e := range w.r.log {
		if e.kind == wrote && e.purpose.Name == "" {
			e.op.total++
		}
	}
	for at, e := range w.r.log {
		if w.r.failed != nil {
			return
		}
		switch e.kind {
		case called:
		case wrote:
			w.write(at, e)
		case returned:
			j.answer(e.op)
		case queried:
			w.rest(at, e)
		}
	}
}

func (w *witness) write(at int, e event) {
	switch e.purpose.Name {
	case "":
		e.op.effects++
		e.op.lastEffect = at
		w.effect(at, e)
	case "roll":
		w.part(at, e)
	case "complete":
		w.completed(at, e)
	case "rolled":
		w.rolled(at, e)
	case "refuse":
		if c, is := e.op.in.(state.Commit); is {
			w.next(at, func(v *version) {
				v.side.running = with(v.side.running, c.Guard.Key,
					running{must: e.op.ran.must, may: v.side.running[c.Guard.Key].may})
			})
		}
	case "ran":
		if c, is := e.op.in.(state.Commit); is {
			w.next(at, func(v *version) {
				run := v.side.running[c.Guard.Key]
				run.must = nil // the conflicting rows are unknown unless the caller got the result
				if out, told := e.op.out.(state.Committed); told && e.op.err == nil &&
					!e.op.unknown() {
					run = e.op.ran.ended(out.Conflicts)
				}
				v.side.running = with(v.side.running, c.Guard.Key, run)
			})
		}
	case "merge", "rest":
	default:
		w.violate("purpose", "%s writes for %q", e.op, e.purpose.Name)
	}
}

// effect applies an operation to the model.
func (w *witness) effect(at int, e event) {
	o, ctx := e.op, context.Background()
	final := o.effects == o.total && !o.unknown() && o.err == nil
	w.next(at, func(v *version) {
		switch in := o.in.(type) {
		case acquireIn:
			l, err := v.state.Acquire(ctx, env, in.key, in.holder, in.now, in.until)
			if err != nil {
				w.violate("lease", "%s took %s, and it was held: %v", o, in.key, err)
				return
			}
			run := v.side.running[in.key]
			if final {
				w.acquired(o, l, run)
			}
			run.known = false
			v.side.running = with(v.side.running, in.key, run)
		case state.Lease:
			have := leaseOf(v.state, in.Key)
			if have.Fence != in.Fence || have.Holder == "" {
				w.violate("lease", "%s released %s, which was not its own: %+v", o, in.Key, have)
			}
			_ = v.state.Release(ctx, env, in)
			v.side.running = with(v.side.running, in.Key, running{known: true})
		case pauseIn:
			_ = v.state.Pause(ctx, env, in.paused, in.agent)
		case bool:
			_ = v.state.Halt(ctx, env, in)
		case time.Time:
			if o.name == "DropActions" {
				_, _ = v.state.DropActions(ctx, env, in)
				if in.After(v.side.horizon) {
					v.side.horizon = in
				}
			}
		case *dynamo.Unlogged: // moves a cursor only
		case int64:
			v.side.idleEpoch = in
		case state.Commit:
			w.commit(at, e, v, in, final)
		default:
			w.violate("effect", "%s changed something", o)
		}
	})
}

func with[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	out := maps.Clone(m)
	out[k] = v
	return out
}

func leaseOf(s *engine.State, key string) state.Lease {
	all, _ := s.Leases(context.Background(), env)
	for _, l := range all {
		if l.Key == key {
			return l
		}
	}
	return state.Lease{Key: key}
}

func (w *witness) acquired(o *op, want state.Lease, run running) {
	got, _ := o.out.(state.Lease)
	ran := got.Running
	got.Running, want.Running = nil, nil
	if !sameLease(got, want) {
		w.violate("lease", "%s got %+v, want %+v", o, got, want)
	}
	if !includes(ran, run.must) || !includes(run.may, ran) {
		w.violate("running", "%s was told that %v ran; want at least %v and at most %v", o, ran,
			run.must, run.may)
	}
}

func sameLease(a, b state.Lease) bool {
	return a.Key == b.Key && a.Holder == b.Holder && a.Fence == b.Fence && a.Until.Equal(b.Until) &&
		a.Wave == b.Wave
}

// includes reports whether all ids of the second list are in the first.
func includes(all, some []resource.ID) bool {
	return !slices.ContainsFunc(some,
		func(id resource.ID) bool { return !slices.Contains(all, id) })
}

// commit applies a commit. If the commit is rolled forward, commit omits the changes that its lanes
// apply.
func (w *witness) commit(at int, e event, v *version, c state.Commit, final bool) {
	o := e.op
	out, _ := o.out.(state.Committed)
	if final && e.begins > 0 {
		w.happenedLate(v, &c, out.Conflicts)
	}
	if final {
		c.Rows = without(c.Rows, out.Conflicts)
	}
	if e.begins == 0 && final && len(out.Conflicts) > 0 {
		c.DropOutbox, c.Checked = nil, state.Counted(c.Checked, out.Conflicts)
	}
	whole := c
	if e.begins > 0 {
		f := &forward{op: o, number: e.begins, begun: at, lastPart: at, commit: whole, known: final,
			applied: map[resource.ID]bool{}, dropped: map[string]bool{}}
		if final {
			f.conflicts = out.Conflicts
		}
		w.forwards = append(w.forwards, f)
		c.Rows, c.DropOutbox, c.Checked = nil, nil, nil // see completed
		for _, n := range c.Forget {
			v.side.forgot = with(v.side.forgot, n, true)
		}
	}
	if !final || !out.Started {
		c.SeenPlan = -1
	}
	got, err := v.state.Commit(context.Background(), env, c)
	switch {
	case err != nil:
		w.violate("commit", "%s took effect, and should not: %v", o, err)
	case final && len(got.Conflicts) > 0:
		w.violate("commit", "%s wrote a row that had changed; it was %s", o,
			rowText(got.Conflicts[0]))
	case final && out.Started && !got.Started:
		w.violate("next", "%s started %v; paused %v, plan %d, seen %d", o, c.Next, got.Paused,
			got.PlanSeq, c.SeenPlan)
	}
	for _, entry := range c.AddOutbox {
		v.side.entries = with(v.side.entries, entry.ID, c.Guard.Key)
	}
	o.ran = v.side.running[c.Guard.Key]
	run := o.ran.after(c.Next, final, out.Started)
	if len(c.Next) == 0 {
		open := got.Conflicts
		if final { // an earlier effect may have other conflicts than the result
			open = append(open, out.Conflicts...)
		}
		if e.begins > 0 {
			// The conflicting rows are known only after all lanes were written.
			open = o.in.(state.Commit).Rows
		}
		run = o.ran.ended(open)
	}
	v.side.running = with(v.side.running, c.Guard.Key, run)
}

// ended returns the running list after a commit without Next. The list is as certain as it was
// before.
func (r running) ended(conflicts []state.Row) running {
	ran := r.may
	if r.known {
		ran = r.must
	}
	return running{must: state.StillRunning(r.must, conflicts),
		may: state.StillRunning(ran, conflicts), known: r.known}
}

// after returns the running list after a commit with Next.
func (r running) after(next []resource.ID, known, started bool) running {
	ran := r.may
	if r.known {
		ran = r.must
	}
	switch {
	case !known:
		return running{must: union(next, r.must), may: union(next, ran)}
	case started:
		return running{must: next, may: union(next, ran), known: true}
	}
	return running{must: r.must, may: union(next, ran), known: false}
}

func union(a, b []resource.ID) []resource.ID {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

func without(rows, some []state.Row) []state.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r state.Row) bool {
		return slices.ContainsFunc(some, func(o state.Row) bool { return o.ID == r.ID })
	})
}

func (w *witness) forward(number int64) *forward {
	for _, f := range w.forwards {
		if f.number == number {
			return f
		}
	}
	return nil
}

// part applies the changes that a lane makes for a commit that is rolled forward. If rows move here
// from more lanes than fit into a transaction, there are several writes.
func (w *witness) part(at int, e event) {
	f := w.forward(e.purpose.Number)
	if f == nil {
		w.violate("roll", "%s rolls a commit %d that was not begun", e.op, e.purpose.Number)
		return
	}
	lane, isLane := strings.CutPrefix(e.purpose.Tablet, lanePrefix)
	if !isLane {
		w.violate("roll", "%s rolls %s, which is not a lane", e.op, e.purpose.Tablet)
	}
	w.next(at, func(v *version) {
		rows := v.query().rows
		var all, moves []state.Row
		more := false
		for _, r := range f.commit.Rows {
			have := rows[r.ID]
			switch {
			case f.applied[r.ID], !r.Gone && r.Lane != lane, r.Gone &&
				(have == nil || have.Lane != lane):
				continue
			case !r.Gone && have != nil && have.Lane != lane && have.Rev == r.Rev &&
				!slices.Contains(e.keys, have.Lane):
				more = true
				continue
			case have != nil && have.Lane != lane:
				moves = append(moves, r)
			}
			all = append(all, r)
		}
		if more {
			all = moves
		}
		w.apply(f, v, all)
	})
	f.seen(at)
}

// seen records that a part of a commit took effect. A late repetition after the end of the commit
// changes nothing.
func (f *forward) seen(at int) {
	if f.done == 0 {
		f.lastPart = at
	}
}

// completed applies the changes that a tablet makes for a commit that is rolled forward after all
// rows were written.
func (w *witness) completed(at int, e event) {
	f := w.forward(e.purpose.Number)
	if f == nil {
		w.violate("roll", "%s completes a commit %d that was not begun", e.op, e.purpose.Number)
		return
	}
	w.next(at,
		func(v *version) { w.complete(f, v, strings.TrimPrefix(e.purpose.Tablet, lanePrefix)) })
	f.seen(at)
}

// complete writes the rows that no lane has applied, and applies the changes that depend on them,
// in one tablet or in all.
func (w *witness) complete(f *forward, v *version, tablet string) {
	var left []state.Row
	for _, r := range f.commit.Rows {
		if !f.applied[r.ID] {
			left = append(left, r)
		}
	}
	w.apply(f, v, left)
	v.state.DropOutbox(env, f.drops(v, tablet)...)
	if c := &f.commit; tablet == "" || tablet == c.Guard.Key {
		v.state.Check(env, c.Guard.Key, c.Epoch, state.Counted(c.Checked, f.conflicts)...)
	}
}

// drops returns the outbox entries that a tablet drops. For an empty lane it returns the entries
// that no tablet has dropped. If a row conflicts, no entry is dropped. A tablet drops an entry
// again if a commit whose response was lost was repeated, and added the entry again.
func (f *forward) drops(v *version, lane string) []string {
	if len(f.conflicts) > 0 {
		return nil
	}
	var out []string
	for _, id := range f.commit.DropOutbox {
		if lane == "" && !f.dropped[id] || lane != "" && v.side.entries[id] == lane {
			f.dropped[id] = true
			out = append(out, id)
		}
	}
	return out
}

func (w *witness) apply(f *forward, v *version, rows []state.Row) {
	for _, r := range rows {
		f.applied[r.ID] = true
	}
	out := v.state.WriteRows(env, &f.commit, rows...)
	if len(out) > 0 && f.known {
		w.violate("commit", "%s wrote a row that had changed; it was %s", f.op, rowText(out[0]))
	}
	f.conflicts = append(f.conflicts, out...)
}

// rolled ends a commit that was rolled forward, and applies the changes that its lanes should have
// made.
func (w *witness) rolled(at int, e event) {
	f := w.forward(e.purpose.Number)
	if f == nil || f.done > 0 {
		w.violate("roll", "%s ends commit %d", e.op, e.purpose.Number)
		return
	}
	f.done = at
	w.next(at, func(v *version) { w.complete(f, v, "") })
}

// window returns the versions between two indexes in the log, inclusive.
func (j *judge) window(from, to int) []*version {
	var out []*version
	for i := len(j.versions) - 1; i >= 0; i-- {
		v := j.versions[i]
		if v.from > to {
			continue
		}
		out = append(out, v)
		if v.from <= from {
			break
		}
	}
	return out
}

// during returns the versions during an operation.
func (j *judge) during(o *op) []*version { return j.window(o.call, o.ret) }

// whole returns the versions that an operation on the whole environment may see. If a commit began
// before the operation was called, the operation sees all of that commit.
func (j *judge) whole(o *op) []*version {
	from := o.call
	for _, f := range j.forwards {
		if f.begun >= o.call {
			continue
		}
		if f.done == 0 {
			j.violate("roll",
				"%s returned, and commit %d (%s), which was begun before, is not done", o, f.number,
				f.op)
		}
		from = max(from, f.lastPart)
	}
	return j.window(from, o.ret)
}

func rowText(r state.Row) string {
	return fmt.Sprintf("%s in %s at %d (version %d, ticket %d, body %s)", r.ID, r.Lane, r.Rev,
		r.Version, r.Ticket(), r.Body)
}
