package fulfil

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/lsm"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// results writes the results of a round to instances, and to the parameters that models suggest.
type results struct {
	*Config
	agenda    *agenda
	defs      *definitions
	memory    *memory
	following *following
	// wrote are the written records. lost are the records that another writer has changed.
	wrote map[string]inventory.Record
	lost  map[string]bool
	// moved means that other writers have chosen values since the compile. The unwritten instances
	// are compiled again.
	moved bool
}

// advance returns the change of an instance for an event. If modifiers forbid the promotion after a
// successful validation, the validation counts as failed.
func (o *results) advance(
	ctx context.Context, rec inventory.Record, e lifecycle.Event,
) (inventory.Change, error) {
	s, err := o.defs.rules(ctx, &rec)
	if err != nil {
		return inventory.Change{}, err
	}
	c, err := inventory.Advance(s, rec, e, o.now())
	problems, _ := diag.Of(err)
	v, validated := e.(lifecycle.Validated)
	if err == nil || len(problems) == 0 || !validated || v.Failed {
		return c, err
	}
	v.Failed = true
	rec.Problems = said(problems)
	if c, err = inventory.Advance(s, rec, v, o.now()); err == nil {
		explain(&c, problems)
	}
	return c, err
}

const (
	maxProblems = 10
	maxMessage  = 2000
)

// said returns the stored form of problems: at most maxProblems, with truncated messages.
func said(problems []diag.Problem) json.RawMessage {
	out := slices.Clone(problems[:min(len(problems), maxProblems)])
	for i := range out {
		if m := []rune(out[i].Message); len(m) > maxMessage {
			out[i].Message = string(m[:maxMessage]) + "…"
		}
		out[i].Related = nil
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return b
}

// explain adds problems to the event of a change. If the change has no event, explain adds one.
func explain(c *inventory.Change, problems []diag.Problem) {
	if len(problems) == 0 {
		return
	}
	if len(c.Events) == 0 {
		c.Events = []inventory.Event{{
			At: c.Record.Updated, Version: c.Record.Version, Kind: "problem", Error: true,
		}}
	}
	e := &c.Events[0]
	e.Message = problems[0].String()
	if m := []rune(e.Message); len(m) > maxMessage {
		e.Message = string(m[:maxMessage]) + "…"
	}
	e.More, _ = json.Marshal(map[string]json.RawMessage{"problems": said(problems)})
}

// describe adds the compile of a job to the first event of its change, with the text of problems.
func (j *job) describe(c *inventory.Change, problems []diag.Problem) {
	if j.ran == nil || len(c.Events) == 0 {
		return
	}
	ran := *j.ran
	var lines []string
	for i := range problems {
		lines = append(lines, problems[i].Lines(func(diag.Pos) (string, bool) { return "", false })...)
	}
	ran.Trace = strings.Join(lines, "\n")
	if len(ran.Trace) > inventory.MaxTrace {
		ran.Trace = strings.ToValidUTF8(ran.Trace[:inventory.MaxTrace-len("…")], "") + "…"
	}
	c.Events[0].Compile = &ran
}

// stuck returns the change that records why an instance cannot proceed. The task is tried again
// later, because the cause may go away.
func (o *results) stuck(rec *inventory.Record, problems []diag.Problem) inventory.Change {
	o.agenda.left[rec.ID] = true
	c := inventory.Change{Record: *rec}
	c.Record.Problems, c.Record.Due = said(problems), o.now().Add(retryAfter)
	if string(rec.Problems) != string(c.Record.Problems) {
		explain(&c, problems)
	}
	return c
}

// postpone delays the tasks of an instance, and returns the error.
func (o *results) postpone(rec *inventory.Record, err error) error {
	o.memory.later[rec.ID] = o.now().Add(retryAfter)
	return err
}

// wait postpones jobs after a fault outside of them, and records the fault in their instances once.
// It returns the fault.
func (o *results) wait(ctx context.Context, jobs []job, why error) error {
	for _, j := range jobs {
		_ = o.postpone(j.rec, nil)
	}
	switch kind := fault.KindOf(why); {
	case ctx.Err() != nil, kind == fault.Canceled, kind == fault.Conflict: // another worker runs
		return why
	}
	problems := problemsOf(why)
	problems[0].Message = "it waits, and is tried again: " + problems[0].Message
	var changes []inventory.Change
	for _, j := range jobs {
		c := inventory.Change{Record: *j.rec}
		c.Record.Problems = said(problems)
		if string(j.rec.Problems) != string(c.Record.Problems) {
			explain(&c, problems)
			changes = append(changes, c)
		}
	}
	if len(changes) > 0 {
		_ = o.write(ctx, changes) // the fault may affect this write too
	}
	return why
}

// write stores changes of instances, and takes these instances off the agenda. It skips records
// that another writer has changed. If it is unknown whether records were written, write marks them
// as lost, so that they are read again.
func (o *results) write(ctx context.Context, changes []inventory.Change) error {
	var all error
	moved := map[string]int64{} // the number of moves of each generation in this call
	for part := range slices.Chunk(changes, inventory.MaxChanges) {
		for i := range part {
			if len(part[i].Record.Tasks) == 0 {
				part[i].Record.Due = time.Time{}
			}
			o.agenda.done(part[i].Record.ID)
		}
		err := o.writeOnce(ctx, part, moved)
		switch {
		case err == nil, inventory.IsMoved(err):
		case ofOne(err):
			all = errors.Join(all, o.writeEach(ctx, part, moved))
		default: // it is unknown whether they were written
			all = errors.Join(all, err)
			o.following.forget()
			for i := range part {
				o.lost[part[i].Record.ID] = true
			}
		}
	}
	return all
}

// ofOne reports whether changes that failed together may succeed one by one. That is so if one of
// them is invalid, or if together they are too large.
func ofOne(err error) bool {
	switch fault.KindOf(err) {
	case fault.Conflict, fault.Refused, fault.Invalid:
		return true
	}
	return false
}

// writeEach stores changes one by one.
func (o *results) writeEach(
	ctx context.Context, changes []inventory.Change, moved map[string]int64,
) error {
	var all error
	for i := range changes {
		rec := &changes[i].Record
		err := o.writeOnce(ctx, changes[i:i+1], moved)
		switch {
		case err == nil, inventory.IsMoved(err):
		case fault.KindOf(err) == fault.Conflict:
			o.lost[rec.ID] = true
		default:
			all = errors.Join(all, o.postpone(rec, err))
		}
	}
	return all
}

// writeOnce stores changes in one call. It adds the moves of this call to the generations of the
// changes.
func (o *results) writeOnce(
	ctx context.Context, changes []inventory.Change, moved map[string]int64,
) error {
	changes = slices.Clone(changes)
	services := map[string]bool{}
	for i := range changes {
		c := &changes[i]
		c.Under = slices.Clone(c.Under)
		for n := range c.Under {
			g := &c.Under[n]
			services[g.Service] = true
			if g.Number != inventory.Outdated {
				g.Number += moved[g.Service]
			}
		}
	}
	revs, err := o.Instances.Write(ctx, o.Env, changes)
	if err != nil {
		o.moved = o.moved || inventory.IsMoved(err)
		return err
	}
	for service := range services {
		moved[service]++
	}
	o.written(changes, revs)
	return nil
}

// written remembers the records as they were written.
func (o *results) written(changes []inventory.Change, revs []int64) {
	for i := range changes {
		rec := changes[i].Record
		rec.Rev = revs[i]
		o.wrote[rec.ID] = rec
		o.memory.given.forget(&rec)
		o.following.note(&rec)
	}
}

// problemsOf returns an error as problems.
func problemsOf(err error) []diag.Problem {
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return problems
	}
	p := diag.Problem{Message: err.Error()}
	var f *fault.Error
	if errors.As(err, &f) {
		p.Hint = f.Hint
	}
	return []diag.Problem{p}
}

// tell stores the read-only attributes that the model has set in a set of a record. It reports
// whether any of them changed.
func (o *results) tell(
	ctx context.Context, c *compiled, rec *inventory.Record, set lifecycle.Set,
) (bool, error) {
	was := attributes(rec, set)
	if was == nil {
		return false, nil
	}
	is := was
	for _, u := range c.services.Updates {
		if u.Instance != rec.ID {
			continue
		}
		k, err := o.defs.of(ctx, rec, made(rec, set))
		if err == nil {
			is, err = inventory.Told(&k.Service, is, u.Path, u.Value)
		}
		if err != nil {
			return false, err
		}
	}
	if same(was, is) {
		return false, nil
	}
	switch set {
	case lifecycle.Candidate:
		rec.Candidate = is
	case lifecycle.Active:
		rec.Active = is
	case lifecycle.Rollback:
		rec.Rollback = is
	case lifecycle.NoSet:
	}
	return true, nil
}

func same(a, b map[string]any) bool {
	x, err := json.Marshal(a)
	y, other := json.Marshal(b)
	return err == nil && other == nil && bytes.Equal(x, y)
}

// suggest stores the values that a model suggests as parameters: a JSON list each.
func (o *results) suggest(ctx context.Context, all []lsm.Suggestion) error {
	var set []state.Parameter
	for _, s := range all {
		text, err := json.Marshal(s.Values)
		if err != nil {
			return diag.Problems{{Message: "the suggested values of " + s.Parameter + ": " +
				err.Error()}}
		}
		set = append(set, state.Parameter{Name: s.Parameter, Value: string(text), Source: "model"})
	}
	if len(set) == 0 {
		return nil
	}
	keys := make([]state.ParameterKey, len(set))
	for i := range set {
		keys[i].Name = set[i].Name
	}
	have, err := o.Engine.State.Parameters(ctx, o.Env, state.ParameterQuery{Keys: keys})
	if err != nil {
		return err
	}
	for _, p := range have {
		set = slices.DeleteFunc(set, func(o state.Parameter) bool {
			return o.Name == p.Name && o.Value == p.Value
		})
	}
	if len(set) == 0 {
		return nil
	}
	return o.Engine.SetParameters(ctx, o.Env, set...)
}

// leave postpones jobs that this worker cannot do, and records in their instances which worker can.
func (o *results) leave(ctx context.Context, jobs []job, problems []diag.Problem) error {
	var changes []inventory.Change
	for _, j := range jobs {
		rec := *j.rec
		rec.Problems, rec.Due = said(problems), o.now().Add(elsewhereAgain)
		o.agenda.left[rec.ID] = true
		c := inventory.Change{Record: rec}
		if string(j.rec.Problems) != string(rec.Problems) {
			explain(&c, problems)
		}
		changes = append(changes, c)
	}
	return o.write(ctx, changes)
}

// next returns the records for the next round: those of due that still apply, in order, then the
// others that were written. It omits a lost record, because its writer sends a notice.
func (o *results) next(due []inventory.Record) []inventory.Record {
	var out []inventory.Record
	for i := range due {
		rec, wrote := o.wrote[due[i].ID]
		delete(o.wrote, due[i].ID)
		switch {
		case wrote:
			out = append(out, rec)
		case !o.lost[due[i].ID]:
			out = append(out, due[i])
		}
	}
	first := len(out)
	for _, rec := range o.wrote {
		out = append(out, rec)
	}
	slices.SortFunc(out[first:], func(a, b inventory.Record) int {
		return a.Created.Compare(b.Created)
	})
	return out
}
