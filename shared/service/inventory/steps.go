package inventory

import (
	"slices"
	"time"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// New returns the change that makes an instance from an order of a customer. State is one of the
// alternative initial states, or "".
func New(
	s *definition.Service, id, state string, given map[string]any, now time.Time,
) (Change, error) {
	attributes, err := Ordered(s, given)
	if err != nil {
		return Change{}, err
	}
	digest, err := s.Digest()
	if err != nil {
		return Change{}, err
	}
	r := Record{
		ID: id, Service: s.Name, ServiceVersion: s.Version, Definition: digest, Created: now,
	}
	if s.Identity != nil {
		r.Identity = identity(attributes[*s.Identity])
	}
	return Advance(s, r, lifecycle.Create{Attributes: attributes, State: state}, now)
}

// Current returns the attributes that a change of a customer begins with: what was asked for and is
// not accepted yet, or what holds.
func (r *Record) Current() map[string]any {
	if r.Candidate != nil {
		return r.Candidate
	}
	return r.Active
}

// Update returns the change that gives attributes anew, for a customer who has seen a version. The
// definition is the one that the service has now: the instance has it from then on.
func Update(
	s *definition.Service, r Record, given map[string]any, version int64, now time.Time,
) (Change, error) {
	if err := moved(s, &r); err != nil {
		return Change{}, err
	}
	attributes, err := Changed(s, r.Current(), given)
	if err != nil {
		return Change{}, inState(err, r.State)
	}
	return Advance(s, r, lifecycle.Update{Attributes: attributes, Version: version}, now)
}

// UpdateByEdits returns the change that does edits, for a customer who has seen a version. It takes
// the definition that Update takes.
func UpdateByEdits(
	s *definition.Service, r Record, edits []Edit, version int64, now time.Time,
) (Change, error) {
	if err := moved(s, &r); err != nil {
		return Change{}, err
	}
	attributes, err := Edited(s, r.Current(), edits)
	if err != nil {
		return Change{}, inState(err, r.State)
	}
	return Advance(s, r, lifecycle.Update{Attributes: attributes, Version: version}, now)
}

// moved gives an instance the definition that it is updated to.
func moved(s *definition.Service, r *Record) error {
	digest, err := s.Digest()
	if err != nil || digest == r.Definition && s.Version == r.ServiceVersion {
		return err
	}
	if _, ok := s.Lifecycle.State(r.State); !ok {
		return noState(s, r)
	}
	r.Definition, r.ServiceVersion, r.Pinned = digest, s.Version, ""
	return nil
}

// made returns what the sets were made for after an event, and an operation that it led to.
func (r *Record) made(e lifecycle.Event, t *lifecycle.Taken) Made {
	m := r.Made
	switch e.(type) {
	case lifecycle.Create, lifecycle.Update:
		m.Candidate = r.Definition
	}
	if t == nil {
		return m
	}
	switch t.Operation {
	case lifecycle.Promote:
		m = Made{Active: m.Candidate, Rollback: m.Active}
	case lifecycle.RollBack:
		m = Made{Candidate: m.Active, Active: m.Rollback}
	case lifecycle.ClearCandidate:
		m.Candidate = ""
	case lifecycle.ClearActive:
		m.Active = ""
	case lifecycle.ClearRollback:
		m.Rollback = ""
	case lifecycle.NoOperation:
	}
	return m
}

// Promotable refuses a candidate that differs from the active set where modifiers forbid it, as it
// can when the definition has changed since the candidate was given: problems are diag.Problems.
func Promotable(s *definition.Service, r *Record) error {
	return inState(Allowed(s, r.Active, r.Candidate, Promotion), r.State)
}

// inState adds the state of the instance to what modifiers forbid.
func inState(err error, state string) error {
	problems, _ := diag.Of(err)
	for i := range problems {
		if problems[i].Code == CodeModifier {
			problems[i].Message += " (the instance is in the state " + state + ")"
		}
	}
	return err
}

// Advance returns the change that an event of the lifecycle makes of a record. Errors are those of
// lifecycle.Step, and diag.Problems where a promotion would change what is set once.
func Advance(
	s *definition.Service, r Record, e lifecycle.Event, now time.Time,
) (Change, error) {
	out, err := lifecycle.Step(&s.Lifecycle, r.Instance, e)
	if err != nil {
		return Change{}, err
	}
	t := out.Taken
	if t != nil && t.Operation == lifecycle.Promote {
		if err := Promotable(s, &r); err != nil {
			return Change{}, err
		}
	}
	was, before := r.Instance, r.Tasks
	r.Made = r.made(e, t)
	r.Instance, r.Updated = out.Instance, now
	r.References = References(s, r.Candidate, r.Active, r.Rollback)
	r.Closed = closed(s, &r, was, e, t)
	if r.Tasks = pending(before, out.Effects); len(r.Tasks) > 0 {
		r.Due = now
	}
	r.remark(s, e, now)
	change := Change{Record: r}
	if t != nil {
		change.Events = []Event{{
			At: now, Version: r.Version, Kind: string(t.Trigger), From: t.From, To: t.To,
			Error: t.Error,
		}}
	}
	return change, nil
}

// closed reports whether a delete is under way. One that was refused while the resources were still
// there is not.
func closed(
	s *definition.Service, r *Record, was lifecycle.Instance, e lifecycle.Event, t *lifecycle.Taken,
) bool {
	if _, deletes := e.(lifecycle.Delete); deletes || r.Deleted {
		return true
	}
	if t == nil || !r.Closed {
		return r.Closed
	}
	from, ok := s.Lifecycle.State(was.State)
	to, also := s.Lifecycle.State(r.State)
	there := ok && also && from.ExportResources && !from.PurgeResources && !to.PurgeResources
	return !(there && (t.Error || t.Trigger == lifecycle.BySetState ||
		t.Trigger == lifecycle.ByForce))
}

// pending returns the tasks after a step: a compile or a deploy that was asked for before is not
// needed any more when another one is.
func pending(before []Task, effects []lifecycle.Effect) []Task {
	next := Tasks(effects)
	out := slices.DeleteFunc(slices.Clone(before), func(old Task) bool {
		return slices.ContainsFunc(next, func(t Task) bool {
			return t.Kind == old.Kind || t.Kind == TaskExport && old.Kind == TaskWatch
		})
	})
	return append(out, next...)
}

// Finish returns the record without a task that was done, for the record that it was read with.
func (r Record) Finish(t Task) Record {
	i := slices.Index(r.Tasks, t)
	if i >= 0 {
		r.Tasks = slices.Delete(slices.Clone(r.Tasks), i, i+1)
	}
	return r
}
