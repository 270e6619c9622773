package lifecycle

import (
	"strings"

	"southbound/shared/fault"
)

// take performs a transfer: to its target, or to its error state.
func (s *stepper) take(t *Transfer, failed bool) (Result, error) {
	name, operation, same := t.Target, t.TargetOperation, t.TargetSameDesiredState
	if failed {
		name, operation, same = t.Error, t.ErrorOperation, t.ErrorSameDesiredState
	}
	s.in.Validating, s.in.Trigger = "", ""
	if name == s.in.State && operation == NoOperation {
		if t.Validate || s.trigger == BySetState || s.trigger == ByUpdate {
			s.in.Version++
		}
		return s.same() // only the candidate set may have changed
	}
	return s.enter(name, operation, same, failed)
}

// enter moves the instance to a state.
func (s *stepper) enter(name string, o Operation, same, failed bool) (Result, error) {
	to, ok := s.m.State(name)
	if !ok {
		return Result{}, fault.New(fault.Invalid, "", "the lifecycle %s has no state %s",
			s.m.Name, name).WithHint("its states are %s", strings.Join(s.m.stateNames(), ", "))
	}
	if err := s.operate(o); err != nil {
		return Result{}, err
	}
	taken := &Taken{s.in.State, name, s.trigger, failed, o}
	before := s.in.State
	s.in.State = name
	s.in.Version++
	var effects []Effect
	if !same {
		s.in.Desired++
		s.in.Outcome = Pending
		if was, _ := s.m.State(before); to.ExportResources || was != nil && was.ExportResources {
			effects = append(effects, export(s.in.Desired, to))
		}
	}
	if to.Deleted {
		s.in.Deleted = true
		return Result{s.in, append(effects, Gone{}), taken}, nil
	}
	return Result{s.in, append(effects, Continue{}), taken}, nil
}

// export returns the effect that deploys the resources of a state.
func export(desired int64, s *State) Export {
	return Export{Desired: desired, Present: s.ExportResources, Purge: s.PurgeResources}
}

// operate applies an operation to the sets.
func (s *stepper) operate(o Operation) error {
	i := &s.in
	switch o {
	case NoOperation:
	case Promote:
		if i.Candidate == nil {
			return fault.New(fault.Conflict, "", "there are no candidate attributes to promote").
				WithHint("update the instance first")
		}
		i.Rollback, i.Active, i.Candidate = i.Active, i.Candidate, nil
	case RollBack:
		if i.Rollback == nil {
			return fault.New(fault.Conflict, "", "there are no attributes to roll back to").
				WithHint("update the instance to the desired attributes")
		}
		i.Candidate, i.Active, i.Rollback = i.Active, i.Rollback, nil
	case ClearCandidate:
		i.Candidate = nil
	case ClearActive:
		i.Active = nil
	case ClearRollback:
		i.Rollback = nil
	}
	return nil
}

// force sets a state without a transfer.
func (s *stepper) force(e Force) (Result, error) {
	s.trigger = ByForce
	s.in.Validating, s.in.Trigger, s.in.Deleted = "", "", false
	return s.enter(e.Target, e.Operation, false, false)
}

// redeploy exports the resources of the state again. It rejects instances that are being removed:
// they keep the definition and the model that they were made with.
func (s *stepper) redeploy(e Redeploy) (Result, error) {
	if s.from.PurgeResources {
		return Result{}, fault.New(fault.Conflict, "",
			"the instance is in the state %s, in which its resources are removed", s.in.State).
			WithHint("leave it out")
	}
	s.in.Version++
	s.in.Desired++
	s.in.Outcome = Pending
	var effects []Effect
	if s.from.ExportResources || e.Exported {
		effects = append(effects, export(s.in.Desired, s.from))
	}
	return s.same(append(effects, Continue{})...)
}

func (m *Machine) stateNames() []string {
	out := make([]string, len(m.States))
	for i := range m.States {
		out[i] = m.States[i].Name
	}
	return out
}

// choices returns a hint with the requests that the state of the instance allows.
func (s *stepper) choices() string {
	var out []string
	for i := range s.m.Transfers {
		t := &s.m.Transfers[i]
		if t.Source != s.in.State {
			continue
		}
		if t.OnUpdate {
			out = append(out, "an update")
		}
		if t.OnDelete {
			out = append(out, "a delete")
		}
		if t.APISetState {
			out = append(out, "the state "+t.Target)
		}
	}
	if len(out) == 0 {
		return "wait until it is in another state"
	}
	return "possible requests: " + strings.Join(out, ", ")
}
