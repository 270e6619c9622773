// Package resources serves the state of resources, their health, and work on them.
package resources

import (
	"context"
	"strings"

	"southbound/shared/api/actions"
	"southbound/shared/api/agents"
	"southbound/shared/api/environments"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Schedule implements Home.
func (s *Service) Schedule(ctx context.Context, env string, w Work) (int, error) {
	filter, err := state.ParseFilter(w.Filter)
	if err != nil {
		return 0, err
	}
	if err := filter.Stored(); err != nil {
		return 0, err
	}
	act, do := environments.ActDeploy, s.Env.Engine.Deploy
	if w.Repair {
		act, do = environments.ActRepair, s.Env.Engine.Repair
	}
	var n int
	err = s.Env.Act(ctx, env, act, "", w.Filter, func() error {
		n, err = do(ctx, env, deploy.Request{Filter: filter, RetryFailed: w.RetryFailed})
		return err
	})
	s.Env.Changed(env)
	return n, err
}

// maxSearched is how many earlier actions are searched for one that has read the thing.
const maxSearched = 50

// lastSeen returns the last action that has read the thing; nil: none of the recent actions has,
// for example because the agent was not reached.
func (s *Service) lastSeen(
	ctx context.Context, env string, last *actions.Action,
) (*actions.Action, error) {
	if last == nil || hasRead(last) {
		return last, nil
	}
	before, err := s.ActionService.Actions(ctx, env, actions.ActionQuery{Resource: last.Resource, Before: last.ID,
		Limit: maxSearched})
	for i := range before {
		if hasRead(&before[i]) {
			return &before[i], nil
		}
	}
	return nil, err
}

// Forget implements Home.
func (s *Service) Forget(ctx context.Context, env string, f Forgetting) (Forgotten, error) {
	var ids []resource.ID
	targets := f.Filter
	switch {
	case count(f.ID != "", f.Agent != "", len(f.Filter) > 0) != 1:
		return Forgotten{}, fault.New(fault.Usage, "forget",
			"name a resource, an agent or a filter, and not several")
	case f.ID != "":
		targets = []string{string(f.ID)}
	case f.Agent != "":
		targets = []string{"agent=" + f.Agent}
	}
	err := s.Env.Act(ctx, env, environments.ActForget, "", targets, func() (err error) {
		switch {
		case len(f.Filter) > 0:
			ids, err = s.forgetMatching(ctx, env, f.Filter)
		case f.ID != "":
			ids, err = s.Env.Engine.Forget(ctx, env, f.ID)
		default:
			ids, err = s.Env.Engine.ForgetAgent(ctx, env, f.Agent)
		}
		return err
	})
	s.Env.Changed(env)
	return Forgotten{len(ids), wire.OrEmpty(ids[:min(len(ids), maxForgotten)])}, err
}

// forgetMatching forgets the resources that the terms of a filter select and that left the model.
func (s *Service) forgetMatching(
	ctx context.Context, env string, terms []string,
) ([]resource.ID, error) {
	var ids []resource.ID
	if err := s.Resources(ctx, env, terms, func(r *Resource) error {
		ids = append(ids, r.ID)
		return nil
	}); err != nil {
		return nil, err
	}
	gone, err := s.Env.Engine.ForgetLeft(ctx, env, ids)
	if err == nil && len(gone) == 0 {
		err = fault.New(fault.NotFound, "forget", "nothing that matches %s has left the model",
			strings.Join(terms, " ")).WithHint("`southbound resources status=orphaned` lists orphans")
	}
	return gone, err
}

// count returns how many of the conditions are true.
func count(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

type Service struct {
	Env           *environments.Service
	AgentService  *agents.Service
	ActionService *actions.Service
	// ByCommands reports that only commands of users do work, and no server.
	ByCommands bool
}

// Resources implements Home.
func (s *Service) Resources(
	ctx context.Context, env string, filter []string, f func(*Resource) error,
) error {
	parsed, err := state.ParseFilter(filter)
	if err != nil {
		return err
	}
	claimed, err := s.Env.Engine.Claimed(ctx, env)
	if err != nil {
		return err
	}
	return s.Env.Engine.EachRow(ctx, env, parsed, func(r *state.Row) error {
		l := resourceOf(r, &claimed)
		if !parsed.Live(r, l.Deploying) {
			return nil
		}
		return f(&l)
	})
}

func resourceOf(r *state.Row, claimed *deploy.Claimed) Resource {
	l := Resource{ID: r.ID, Type: r.ID.Type(), Agent: r.ID.Agent(), Status: r.Status(),
		Compliance: r.Comparison(), LastRun: r.LastRun, Blocked: r.Block(),
		Deploying: claimed.Running[r.ID], Version: r.Version, Hash: r.Hash, Reason: r.Why(),
		LastAction: r.LastAction}
	if l.Deploying {
		l.Status = state.StatusDeploying
	}
	l.Interrupted = !l.Deploying && claimed.Interrupted[r.ID]
	if res, err := resource.Decode(r.Body); err == nil {
		l.Set = res.Set
		if l.Status == state.StatusUndefined {
			l.Parameter = missingParameter(res)
		}
	}
	return l
}

// missingParameter returns the parameter that the reason of an undefined resource names; "" if the
// reason names another value.
func missingParameter(res *resource.Resource) string {
	for _, ref := range resource.References(res.Attributes) {
		switch r := ref.(type) {
		case resource.Parameter:
			if _, is := r.Unknown(); is {
				return ""
			}
			return r.Name
		case resource.Fact:
			return ""
		}
	}
	return ""
}

// Resource implements Home.
func (s *Service) Resource(ctx context.Context, env string, id resource.ID) (Detail, error) {
	row, err := s.Env.Engine.Row(ctx, env, id)
	if err != nil {
		return Detail{}, err
	}
	claimed, err := s.Env.Engine.Claimed(ctx, env)
	if err != nil {
		return Detail{}, err
	}
	requires, dependants, err := s.Env.Engine.Neighbours(ctx, env, row.ID)
	if err != nil {
		return Detail{}, err
	}
	actions, err := s.ActionService.Actions(ctx, env, actions.ActionQuery{Resource: row.ID, Limit: 1})
	if err != nil {
		return Detail{}, err
	}
	d := Detail{Resource: resourceOf(&row, &claimed), Requires: wire.OrEmpty(requires),
		RequiredBy: wire.OrEmpty(dependants), Causes: wire.OrEmpty(row.Because()),
		NextAt: wire.TimeOrNil(row.Timer()), Attempts: row.Current().Attempts}
	if d.Place, err = s.placeOf(ctx, env, row.ID); err != nil {
		return d, err
	}
	if len(actions) > 0 {
		d.Last = &actions[0]
	}
	seen, err := s.lastSeen(ctx, env, d.Last)
	if err != nil {
		return d, err
	}
	d.attributes(&row, seen)
	d.Waits, err = s.waitsFor(ctx, env, &row, requires, &claimed)
	return d, err
}

// placeOf returns the place of a resource in the version in force; nil: it is not known.
func (s *Service) placeOf(
	ctx context.Context, env string, id resource.ID,
) (*diag.Pos, error) {
	stored, err := s.Env.Engine.State.Env(ctx, env)
	if err != nil || stored.Released == 0 {
		return nil, fault.Wrap(fault.Unknown, "read environment", err)
	}
	vs, err := s.Env.Engine.State.Versions(ctx, env, stored.Released)
	if err != nil || len(vs) == 0 {
		return nil, fault.Wrap(fault.Unknown, "read version", err)
	}
	places, err := s.Env.Engine.Places(ctx, &vs[0])
	if at, known := places[id]; known {
		return &at, nil
	}
	return nil, err
}
