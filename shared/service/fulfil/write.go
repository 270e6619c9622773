package fulfil

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// keptKey names a definition of an instance.
type keptKey struct {
	service string
	version int
	digest  string
}

// definition returns the definition of a digest, for an instance.
func (r *round) definition(
	ctx context.Context, rec *inventory.Record, digest string,
) (definition.Kept, error) {
	key := keptKey{rec.Service, rec.ServiceVersion, digest}
	if k, ok := r.kept[key]; ok {
		return k, nil
	}
	k, err := r.Definitions.Of(ctx, r.Env, key.service, key.version, digest)
	if err == nil {
		r.kept[key] = k
		r.remember(key, &k.Service)
	}
	return k, err
}

// maxRules is of how many definitions a worker remembers the rules.
const maxRules = 100

// remember remembers a definition that was read. Few are in use at a time, so the memory is simply
// emptied when it is full.
func (w *Worker) remember(key keptKey, s *definition.Service) {
	if len(w.byKey) >= maxRules {
		clear(w.byKey)
	}
	w.byKey[key] = s
}

// rules returns the definition whose rules hold for an instance. It never changes, other than the
// model that belongs to it, so one that was read in an earlier visit is not asked for again.
func (r *round) rules(ctx context.Context, rec *inventory.Record) (*definition.Service, error) {
	if s := r.byKey[keptKey{rec.Service, rec.ServiceVersion, rec.Definition}]; s != nil &&
		rec.Definition != "" {
		return s, nil
	}
	k, err := r.definition(ctx, rec, rec.Definition)
	return &k.Service, err
}

// advance returns the change that an event makes of an instance. A promotion that modifiers forbid
// makes what it follows from a failure.
func (r *round) advance(
	ctx context.Context, rec inventory.Record, e lifecycle.Event,
) (inventory.Change, error) {
	s, err := r.rules(ctx, &rec)
	if err != nil {
		return inventory.Change{}, err
	}
	c, err := inventory.Advance(s, rec, e, r.now())
	problems, _ := diag.Of(err)
	v, validated := e.(lifecycle.Validated)
	if err == nil || len(problems) == 0 || !validated || v.Failed {
		return c, err
	}
	v.Failed = true
	rec.Problems = said(problems)
	if c, err = inventory.Advance(s, rec, v, r.now()); err == nil {
		explain(&c, problems)
	}
	return c, err
}

const (
	maxProblems = 10
	maxMessage  = 2000
)

// said returns problems as they are stored: the first ones, with messages of some length.
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

// explain says in the event of a change why it was made, and adds one if there is none.
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

// small does the tasks that need no compile.
func (r *round) small(ctx context.Context) error {
	var changes []inventory.Change
	var all error
	for _, j := range r.jobs(inventory.TaskContinue) {
		c, err := r.advance(ctx, j.rec.Finish(j.task), lifecycle.Auto{})
		if problems, _ := diag.Of(err); len(problems) > 0 {
			c, err = r.stuck(j.rec, problems), nil
		}
		if err != nil {
			all = errors.Join(all, r.postpone(j.rec, err))
			continue
		}
		changes = append(changes, c)
	}
	for _, j := range r.jobs(inventory.TaskGone) {
		if waits(j.rec) {
			continue
		}
		changes = append(changes, inventory.Change{Record: j.rec.Finish(j.task)})
	}
	return errors.Join(all, r.write(ctx, changes))
}

// stuck returns the change that says what keeps an instance from going on. It is tried again: what
// it waits for may change.
func (r *round) stuck(rec *inventory.Record, problems []diag.Problem) inventory.Change {
	r.left[rec.ID] = true
	c := inventory.Change{Record: *rec}
	c.Record.Problems, c.Record.Due = said(problems), r.now().Add(retryAfter)
	if string(rec.Problems) != string(c.Record.Problems) {
		explain(&c, problems)
	}
	return c
}

// postpone has what an instance needs tried again later, and returns the error.
func (w *Worker) postpone(rec *inventory.Record, err error) error {
	w.later[rec.ID] = w.now().Add(retryAfter)
	return err
}

// write stores changes of instances, and takes these out of the round. What somebody else has
// changed meanwhile is left, and so is what may not have been written: it is read anew.
func (r *round) write(ctx context.Context, changes []inventory.Change) error {
	var all error
	moved := map[string]int64{} // how often a generation was moved here
	for part := range slices.Chunk(changes, inventory.MaxChanges) {
		for i := range part {
			if len(part[i].Record.Tasks) == 0 {
				part[i].Record.Due = time.Time{}
			}
			r.done(part[i].Record.ID)
		}
		err := r.writeOnce(ctx, part, moved)
		if inventory.IsMoved(err) {
			continue
		}
		switch fault.KindOf(err) { // all others are about all of them
		case fault.Conflict, fault.Refused: // one of them
		case fault.Invalid: // too much at once
		default:
			all = errors.Join(all, err)
			if err != nil {
				r.following = nil
			}
			for i := range part { // nobody knows whether they were written
				r.lost[part[i].Record.ID] = true
			}
			continue
		}
		for i := range part {
			err := r.writeOnce(ctx, part[i:i+1], moved)
			switch {
			case err == nil, inventory.IsMoved(err):
			case fault.KindOf(err) == fault.Conflict:
				r.lost[part[i].Record.ID] = true
			default:
				all = errors.Join(all, r.postpone(&part[i].Record, err))
			}
		}
	}
	return all
}

// writeOnce stores changes at once, under generations as this worker has moved them itself.
func (r *round) writeOnce(
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
	revs, err := r.Instances.Write(ctx, r.Env, changes)
	if err != nil {
		r.moved = r.moved || inventory.IsMoved(err)
		return err
	}
	for service := range services {
		moved[service]++
	}
	r.written(changes, revs)
	return nil
}

// written notes how records are now.
func (r *round) written(changes []inventory.Change, revs []int64) {
	for i := range changes {
		rec := changes[i].Record
		rec.Rev = revs[i]
		r.wrote[rec.ID] = rec
		r.noteFollower(&rec)
	}
}

// done takes an instance out of the round.
func (r *round) done(id string) {
	r.due = slices.DeleteFunc(r.due, func(rec *inventory.Record) bool { return rec.ID == id })
}

// outside reports whether an error is not about the model or the order, but about what surrounds
// them, so that the same may go well later.
func outside(ctx context.Context, err error) bool {
	if ctx.Err() != nil { // then a model that was not done in time is nobody's fault
		return true
	}
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return false
	}
	switch fault.KindOf(err) { // all others are about what was asked for
	case fault.Invalid, fault.Refused, fault.Unsupported, fault.Internal, fault.Timeout:
		return false
	}
	return true
}

// problemsOf returns what is wrong as problems.
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
