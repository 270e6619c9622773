package inventory

import (
	"slices"
	"time"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// New returns the change that creates an instance from an order of a customer. State is one of the
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

// Current returns the attributes that a change of a customer starts from: the candidate set, or
// else the active set.
func (r *Record) Current() map[string]any {
	if r.Candidate != nil {
		return r.Candidate
	}
	return r.Active
}

// Update returns the change that sets some attributes, for a customer who has read a version. s is
// the current definition of the service, and becomes that of the instance.
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

// UpdateByEdits returns the change that applies edits, for a customer who has read a version. The
// instance takes the definition s, as with Update.
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

// moved gives an instance the definition of an update.
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

// made returns the definitions that the sets were made for, after an event and the operation of its
// transfer.
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

// Promotable rejects a candidate that differs from the active set where modifiers forbid it. Such a
// candidate exists if the definition has changed since it was given. Its error is diag.Problems.
func Promotable(s *definition.Service, r *Record) error {
	return inState(Allowed(s, r.Active, r.Candidate, Promotion), r.State)
}

// inState adds the state of the instance to the messages of modifier problems.
func inState(err error, state string) error {
	problems, _ := diag.Of(err)
	for i := range problems {
		if problems[i].Code == CodeModifier {
			problems[i].Message += " (the instance is in the state " + state + ")"
		}
	}
	return err
}

// Advance returns the change of a record for an event of the lifecycle. Its errors are those of
// lifecycle.Step, and diag.Problems if a promotion would change an attribute that is set once.
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

// closed reports whether a delete is in progress. A delete that was refused while the resources
// still existed is not in progress.
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

// pending returns the tasks after a step. A new compile or deploy replaces an earlier one, which is
// then obsolete.
func pending(before []Task, effects []lifecycle.Effect) []Task {
	next := Tasks(effects)
	out := slices.DeleteFunc(slices.Clone(before), func(old Task) bool {
		return slices.ContainsFunc(next, func(t Task) bool {
			return t.Kind == old.Kind || t.Kind == TaskExport && old.Kind == TaskWatch
		})
	})
	return append(out, next...)
}

// Finish returns the record without a completed task. Its revision stays the one that was read.
func (r Record) Finish(t Task) Record {
	i := slices.Index(r.Tasks, t)
	if i >= 0 {
		r.Tasks = slices.Delete(slices.Clone(r.Tasks), i, i+1)
	}
	return r
}
