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

// Goal is a definition with a model that contains it.
type Goal struct {
	ServiceVersion int    `json:"service_entity_version"`
	Definition     string `json:"definition"`
	Model          string `json:"model"` // the digest of the bundle
}

// Move is a requested move of an instance.
type Move struct {
	Goal
	Back bool `json:"back,omitempty"` // return to the goal before the last move
}

// Rollout is a completed move.
type Rollout struct {
	From Goal `json:"from"`
	// Version is the version of the instance before the move. The history has its attributes.
	Version int64     `json:"version"`
	To      string    `json:"to"` // the digest of the bundle
	At      time.Time `json:"at"`
	// Back reports whether the instance has returned since.
	Back bool `json:"back,omitempty"`
}

// KindRollout is the kind of the events of rollouts.
const KindRollout = "rollout"

// At reports whether an instance has the definition of a goal. If the instance has resources, they
// must be those of the model of the goal.
func (r *Record) At(g Goal) bool {
	if r.ServiceVersion != g.ServiceVersion || r.Definition != g.Definition ||
		r.Pinned != "" && r.Pinned != g.Model {
		return false
	}
	return r.Model == g.Model || r.Model == "" && len(r.Resources) == 0
}

// deployedBy returns the digest of the definition that the deployed set was made for. A rejected
// update may have given the instance another definition.
func (r *Record) deployedBy() string {
	made := r.Made.Active
	if r.Active == nil {
		made = r.Made.Candidate
	}
	return cmp.Or(made, r.Definition)
}

// Leaves reports whether an instance is being removed or can never be deployed. Rollouts skip it.
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

// Ask returns the change that requests a move. s is the definition of the move. For a return,
// before is the instance before the last move. Ask rejects a move immediately if the attributes do
// not allow it.
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

// Unasked returns the change that cancels a requested move.
func Unasked(r Record) Change {
	r.Rolling, r.Tasks = nil, withoutRollout(r.Tasks)
	return Change{Record: r}
}

func withoutRollout(tasks []Task) []Task {
	return slices.DeleteFunc(slices.Clone(tasks),
		func(t Task) bool { return t.Kind == TaskRollout })
}

// Moved returns the change that completes the requested move. s is the definition of the move. For
// a return, before is the instance before the last move.
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

// noted returns the record of a move. A repetition of a failed move continues the same move.
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

// carried returns the candidate and the active set of an instance under another definition. It also
// gives r its identity under that definition.
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
		out, err := checked(s, only(&s.Part, is), was, Model, "")
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

// membersOnly is only for the value of an embedded entity: a member or a list of members.
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

// noState rejects a definition whose lifecycle lacks the state of an instance.
func noState(s *definition.Service, r *Record) error {
	return fault.New(fault.Conflict, "update",
		"the lifecycle of %s no longer has the state %s, in "+
			"which the instance %s is", s.Name, r.State, r.ID).
		WithHint("bring the instance into another state first, or keep the state in the model")
}
