package orders

import (
	"context"
	"slices"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Standing compares an instance with the definition and the model of its version.
type Standing string

// The standings. Current: the instance has the definition and the model of its version. Behind: it
// has others. Moving: it is being moved or returned. Failed: it is in a failure state after a move
// or a return. Leaving: it is being removed, or can never be deployed.
const (
	StandingCurrent Standing = "current"
	StandingBehind  Standing = "behind"
	StandingMoving  Standing = "moving"
	StandingFailed  Standing = "failed"
	StandingLeaving Standing = "leaving"
)

// RolloutInstance is the state of an instance in a rollout.
type RolloutInstance struct {
	ID             string   `json:"id"`
	Service        string   `json:"service_entity"`
	ServiceVersion int      `json:"service_entity_version"`
	Identity       *string  `json:"service_identity_attribute_value"`
	State          string   `json:"state"`
	Standing       Standing `json:"standing"`
	Model          string   `json:"model"`  // the digest of the bundle of its resources
	Target         string   `json:"target"` // the digest of the current bundle of its version
	// Moved is the model of the last or the requested move; "" for none.
	Moved string `json:"moved_to,omitempty"`
	// MovedAt is the time of that move or, for a requested move, when it became due.
	MovedAt *time.Time `json:"moved_at,omitempty"`
	// Back reports whether the instance has returned since, or is returning.
	Back bool `json:"back,omitempty"`
}

// RolloutPage is a page of the instances of a service, sorted by the time of their orders.
type RolloutPage struct {
	Items []RolloutInstance `json:"items"`
	Next  string            `json:"next,omitempty"` // After of the next page; "": this is the last page
}

// rollouts moves instances to other definitions and models.
type rollouts struct{ *changes }

// Rollouts returns the standings of the instances of a service.
func (s *rollouts) Rollouts(
	ctx context.Context, env, service, after string,
) (RolloutPage, error) {
	out := RolloutPage{Items: []RolloutInstance{}}
	if _, err := s.Definitions.One(ctx, env, service, -1); err != nil {
		return out, err
	}
	q := inventory.Query{Service: service, Limit: inventory.MaxPage}
	if after != "" {
		last, err := s.Instances.Instance(ctx, env, after)
		if err != nil {
			return out, err
		}
		q.After = &last
	}
	page, err := s.Instances.Instances(ctx, env, q)
	if err != nil {
		return out, err
	}
	defs := s.definitions(env)
	for i := range page {
		has, err := defs.kept(ctx, &page[i], page[i].Definition)
		if err != nil {
			return out, err
		}
		offered, err := defs.kept(ctx, &page[i], "")
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, standing(&page[i], &has.Service, goalOf(&offered)))
	}
	if len(page) == q.Limit {
		out.Next = page[len(page)-1].ID
	}
	return out, nil
}

func goalOf(k *definition.Kept) inventory.Goal {
	return inventory.Goal{
		ServiceVersion: k.Service.Version, Definition: k.Digest, Model: k.Bundle,
	}
}

// standing compares an instance with the goal of a rollout.
func standing(
	r *inventory.Record, d *definition.Service, goal inventory.Goal,
) RolloutInstance {
	out := RolloutInstance{
		ID: r.ID, Service: r.Service, ServiceVersion: r.ServiceVersion, Identity: orNil(r.Identity),
		State: r.State, Model: r.Model, Target: goal.Model, Standing: standingOf(r, d, goal),
	}
	if last := r.Rollout; last != nil {
		at := last.At
		out.Moved, out.MovedAt, out.Back = last.To, &at, last.Back
	}
	if asked := r.Rolling; asked != nil {
		out.Back = asked.Back
		if !asked.Back {
			at := r.Due
			out.Moved, out.MovedAt = asked.Model, &at
		}
	}
	return out
}

func standingOf(r *inventory.Record, d *definition.Service, goal inventory.Goal) Standing {
	last := r.Rollout
	moved := last != nil && (last.Back || last.To == goal.Model)
	failing, _ := r.Failing(d)
	switch {
	case r.Leaves(d):
		return StandingLeaving
	case r.Rolling != nil, moved && !r.Settled(d):
		return StandingMoving
	case moved && failing && (last.Back || r.At(goal)):
		return StandingFailed
	case r.At(goal):
		return StandingCurrent
	}
	return StandingBehind
}

// Roll requests a move of an instance to the current definition and model of its version. With
// back, it requests a return to those before the last rollout. If there is nothing to do, it writes
// nothing.
func (s *rollouts) Roll(ctx context.Context, env string, w Wish, back bool) (Instance, error) {
	for n := 1; ; n++ {
		f, err := s.find(ctx, env, w.Ref)
		if err == nil {
			err = seen(w.Version, &f.record)
		}
		if err != nil {
			return Instance{}, err
		}
		c, err := s.move(ctx, env, &f, back)
		if err != nil {
			return Instance{}, err
		}
		if c == nil {
			return s.whole(ctx, env, &f)
		}
		if w.Message != "" {
			c.Events = []inventory.Event{{
				At: s.now(), Version: c.Record.Version, Kind: inventory.KindRollout, Message: w.Message,
			}}
		}
		f.record = c.Record
		out, err := s.written(ctx, env, &changed{found: f, change: *c})
		if !fault.Is(err, fault.Conflict) || n == tries {
			return out, err
		}
	}
}

// move returns the change that requests a move in either direction; nil if there is nothing to
// change.
func (s *rollouts) move(
	ctx context.Context, env string, f *found, back bool,
) (*inventory.Change, error) {
	r := &f.record
	switch {
	case r.Leaves(&f.def):
		return nil, fault.New(fault.Conflict, "",
			"the instance %s is in the state %s: it is being removed, or can never be deployed", r.ID,
			r.State).WithHint("leave it out")
	case back:
		return s.moveBack(ctx, env, f)
	}
	offered, err := s.Definitions.Of(ctx, env, r.Service, r.ServiceVersion, "")
	if err != nil {
		return nil, err
	}
	goal := goalOf(&offered)
	if r.Rolling != nil && !r.Rolling.Back && r.Rolling.Goal == goal {
		return nil, nil // the move was requested already
	}
	failing, _ := r.Failing(&f.def)
	again := failing && r.Rollout != nil && !r.Rollout.Back && r.Rollout.To == goal.Model
	if r.At(goal) && !again {
		return unasked(r), nil
	}
	return s.ask(&offered.Service, r, inventory.Move{Goal: goal}, nil)
}

// unasked returns the change that cancels a requested move; nil if none was requested.
func unasked(r *inventory.Record) *inventory.Change {
	if r.Rolling == nil {
		return nil
	}
	c := inventory.Unasked(*r)
	return &c
}

func (s *rollouts) ask(
	d *definition.Service, r *inventory.Record, m inventory.Move, before *inventory.Record,
) (*inventory.Change, error) {
	c, err := inventory.Ask(d, *r, m, before, s.now())
	return &c, err
}

// moveBack is move for a return to the definition and model before the last move.
func (s *rollouts) moveBack(
	ctx context.Context, env string, f *found,
) (*inventory.Change, error) {
	r := &f.record
	if r.Rolling != nil && !r.Rolling.Back {
		return unasked(r), nil
	}
	failing, _ := r.Failing(&f.def)
	if r.Rolling != nil || r.Rollout == nil || r.Rollout.Back && !failing {
		return nil, nil
	}
	goal := r.Rollout.From
	was, err := s.Definitions.Of(ctx, env, r.Service, goal.ServiceVersion, goal.Definition)
	if err != nil {
		return nil, err
	}
	if goal.Model == "" { // the record of the move lacks the model
		if goal.Model = was.Bundle; goal.Model == r.Rollout.To && len(r.Resources) > 0 {
			return nil, noWayBack("it is not known which model the instance %s had before", r.ID)
		}
	}
	kept, err := s.Definitions.Models(ctx, env)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(kept, goal.Model) {
		return nil, noWayBack("the model %.12s, which the instance %s had before, is no longer kept",
			goal.Model, r.ID)
	}
	before, err := inventory.Before(ctx, s.Instances, env, r)
	if err != nil {
		return nil, err
	}
	return s.ask(&was.Service, r, inventory.Move{Goal: goal, Back: true}, before)
}

func noWayBack(format string, args ...any) error {
	return fault.New(fault.Refused, "", format, args...).
		WithHint("export the services of the earlier model, and roll that out")
}
