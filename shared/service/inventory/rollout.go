package inventory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// Goal is a definition with a model that has it.
type Goal struct {
	ServiceVersion int    `json:"service_entity_version"`
	Definition     string `json:"definition"`
	Model          string `json:"model"` // the digest of the bundle
}

// Move is a move of an instance that is asked for.
type Move struct {
	Goal
	Back bool `json:"back,omitempty"` // to where it was before the last move
}

// Rollout is a move that was done.
type Rollout struct {
	From Goal `json:"from"`
	// Version is that of the instance before the move: its history has the attributes.
	Version int64     `json:"version"`
	To      string    `json:"to"` // the digest of the bundle
	At      time.Time `json:"at"`
	// Back: the instance was brought back since.
	Back bool `json:"back,omitempty"`
}

// KindRollout is the kind of events of rollouts.
const KindRollout = "rollout"

// At reports whether an instance has the definition of a goal and, as far as it has resources, those
// of its model.
func (r *Record) At(g Goal) bool {
	if r.ServiceVersion != g.ServiceVersion || r.Definition != g.Definition ||
		r.Pinned != "" && r.Pinned != g.Model {
		return false
	}
	return r.Model == g.Model || r.Model == "" && len(r.Resources) == 0
}

// deployedBy returns the digest of the definition that the set was made for which is deployed: an
// update that was rejected has given the instance another one.
func (r *Record) deployedBy() string {
	made := r.Made.Active
	if r.Active == nil {
		made = r.Made.Candidate
	}
	return cmp.Or(made, r.Definition)
}

// Leaves reports whether an instance is being removed, or can never be deployed: a rollout leaves it
// alone.
func (r *Record) Leaves(d *definition.Service) bool {
	s, ok := d.Lifecycle.State(r.State)
	return r.Deleted || r.Closed || ok && s.PurgeResources || !d.Lifecycle.Deploys(r.State)
}

// Before returns an instance as it was before the last move of a rollout.
func Before(ctx context.Context, in Store, env string, r *Record) (*Record, error) {
	all, err := in.Versions(ctx, env, r.ID, r.Rollout.Version-1, 1)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 || all[0].Version != r.Rollout.Version {
		return nil, fault.New(fault.Damaged, "read instance",
			"the history of the instance %s lacks the version %d", r.ID, r.Rollout.Version)
	}
	return &all[0], nil
}

// Ask returns the change that asks for a move; the definition is that of the move, and before is the
// instance as it was, if that is back. A move that attributes do not allow is refused now.
func Ask(
	s *definition.Service, r Record, m Move, before *Record, now time.Time,
) (Change, error) {
	if _, _, err := carried(s, &r, before); err != nil {
		return Change{}, err
	}
	r.Rolling = &m
	r.Tasks = append(withoutRollout(r.Tasks), Task{Kind: TaskRollout})
	if r.Due.IsZero() || r.Due.After(now) {
		r.Due = now
	}
	return Change{Record: r}, nil
}

// Unasked returns the change that takes back a move which was asked for and is not done.
func Unasked(r Record) Change {
	r.Rolling, r.Tasks = nil, withoutRollout(r.Tasks)
	return Change{Record: r}
}

func withoutRollout(tasks []Task) []Task {
	return slices.DeleteFunc(slices.Clone(tasks),
		func(t Task) bool { return t.Kind == TaskRollout })
}

// Moved returns the change that does the move which was asked for. The definition is that of the
// move, and before is the instance as it was, if that is back.
func Moved(s *definition.Service, r Record, before *Record, now time.Time) (Change, error) {
	m := *r.Rolling
	candidate, active, err := carried(s, &r, before)
	if err != nil {
		return Change{}, err
	}
	was := Goal{r.ServiceVersion, r.deployedBy(), r.Model}
	r.Rollout = noted(&r, m, was, now)
	r.ServiceVersion, r.Definition = m.ServiceVersion, m.Definition
	if r.Candidate = candidate; candidate != nil {
		r.Made.Candidate = m.Definition
	}
	if r.Active = active; active != nil {
		r.Made.Active = m.Definition
	}
	r.Pinned = m.Model
	if to, ok := s.Lifecycle.State(r.State); ok && !to.ExportResources {
		r.Model = m.Model
		if !m.Back {
			r.Pinned = ""
		}
	}
	r = Unasked(r).Record
	c, err := Advance(s, r, lifecycle.Redeploy{
		Version: r.Version, Exported: len(r.Resources) > 0,
	}, now)
	if err != nil {
		return Change{}, err
	}
	what := "moved to"
	if m.Back {
		what = "brought back to"
	}
	c.Record.Problems = nil
	c.Events = []Event{{
		At: now, Version: c.Record.Version, Kind: KindRollout,
		Message: fmt.Sprintf("%s the model %.12s", what, m.Model),
	}}
	return c, nil
}

// noted returns what is to be known of a move. To repeat one that has failed is the same move.
func noted(r *Record, m Move, was Goal, now time.Time) *Rollout {
	last := r.Rollout
	switch {
	case m.Back && last != nil:
		return &Rollout{From: last.From, Version: last.Version, To: last.To, At: last.At, Back: true}
	case last != nil && !last.Back && last.To == m.Model && r.Definition == m.Definition:
		return &Rollout{From: last.From, Version: last.Version, To: m.Model, At: now}
	}
	return &Rollout{From: was, Version: r.Version, To: m.Model, At: now}
}

// carried returns the candidate and the active set of an instance as they are under another
// definition. It gives r the identity that it has there.
func carried(s *definition.Service, r *Record, before *Record) (candidate, active map[string]any,
	err error,
) {
	if _, ok := s.Lifecycle.State(r.State); !ok {
		return nil, nil, noState(s, r)
	}
	if s.Identity == nil {
		r.Identity = ""
	}
	var problems diag.Problems
	set := func(name string, is, was map[string]any) map[string]any {
		if is == nil {
			return nil
		}
		out, err := checked(s, only(&s.Part, is), was, Model)
		wrong, _ := diag.Of(err)
		if err == nil {
			wrong = identical(s, r, out)
		}
		for i := range wrong {
			wrong[i].Message += " (in the " + name + " attributes)"
		}
		problems = append(problems, wrong...)
		return out
	}
	var was Record
	if before != nil {
		was = *before
	}
	candidate = set("candidate", r.Candidate, was.Candidate)
	active = set("active", r.Active, was.Active)
	return candidate, active, problems.Err()
}

// only returns attributes without those that a part does not have.
func only(p *definition.Part, given map[string]any) map[string]any {
	out := map[string]any{}
	for i := range p.Attributes {
		if v, ok := given[p.Attributes[i].Name]; ok {
			out[p.Attributes[i].Name] = v
		}
	}
	for i := range p.Relations {
		if v, ok := given[p.Relations[i].Name]; ok {
			out[p.Relations[i].Name] = v
		}
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		if v, ok := given[e.Name]; ok {
			out[e.Name] = membersOnly(e, v)
		}
	}
	return out
}

// membersOnly is only for what an embedded entity holds: a member, or a list of them.
func membersOnly(e *definition.Embedded, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return only(&e.Part, v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = membersOnly(e, v[i])
		}
		return out
	}
	return v
}

// noState refuses a definition whose lifecycle does not have the state of an instance.
func noState(s *definition.Service, r *Record) error {
	return fault.New(fault.Conflict, "update",
		"the lifecycle of %s has no state %s any more, in "+
			"which the instance %s is", s.Name, r.State, r.ID).
		WithHint("bring the instance into another state first, or keep the state in the model")
}
