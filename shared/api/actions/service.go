// Package actions serves the actions of handlers: what was done, when, and with which result.
package actions

import (
	"context"

	"southbound/shared/api/environments"
	"southbound/shared/api/paging"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Actions implements Home.
func (s *Service) Actions(ctx context.Context, env string, q ActionQuery) ([]Action, error) {
	out, _, err := s.read(ctx, env, q)
	return out, err
}

// read returns some actions, newest first, and the id before which the next page begins, ""
// at the end.
func (s *Service) read(
	ctx context.Context, env string, q ActionQuery,
) ([]Action, string, error) {
	of, err := s.inSet(ctx, env, q.Set)
	if err != nil || q.Set != "" && len(of) == 0 {
		return nil, "", err
	}
	found, err := s.Env.Engine.State.Actions(ctx, env, state.ActionQuery{Of: of, Resource: q.Resource,
		Agent: q.Agent, Version: q.Version, Action: q.Action, Outcome: q.Outcome,
		After: q.After, Before: q.Before, Since: q.Since, Until: q.Until, Level: q.Level,
		Text: q.Text, Notable: q.Notable,
		Limit: q.Limit})
	if err != nil {
		return nil, "", fault.Wrap(fault.Unknown, "read actions", err)
	}
	next := ""
	if q.Limit > 0 && len(found) == q.Limit {
		next = found[q.Limit-1].ID
	}
	out := make([]Action, len(found))
	for i := range found {
		out[i] = actionOf(&found[i])
	}
	return out, next, nil
}

// ActionsPage returns a page of actions, newest first. Its cursors are ids: that of the next page is
// the Before of its query.
func (s *Service) ActionsPage(
	ctx context.Context, env string, q ActionQuery,
) (paging.Page[Action], error) {
	q.Limit = min(max(q.Limit, 1), paging.MaxItems)
	found, next, err := s.read(ctx, env, q)
	if err != nil {
		return paging.Page[Action]{}, err
	}
	if q.Before == "" && q.After == "" { // such pages continue an earlier answer
		if err := s.Env.CheckFound(ctx, env, len(found), nil); err != nil {
			return paging.Page[Action]{}, err
		}
	}
	p := paging.NewPager[Action](q.Limit)
	p.Page.Next = next
	for n := range found {
		ok, err := p.Add(found[n])
		if err != nil {
			return p.Page, err
		}
		if !ok {
			p.Page.Next = found[n-1].ID
			break
		}
	}
	return p.Page, nil
}

// inSet returns the resources of a set; nil if it has no name.
func (s *Service) inSet(
	ctx context.Context, env string, set string,
) (map[resource.ID]bool, error) {
	if set == "" {
		return nil, nil
	}
	filter, err := state.ParseFilter([]string{"set=" + set})
	if err != nil {
		return nil, err
	}
	out := map[resource.ID]bool{}
	return out, s.Env.Engine.EachRow(ctx, env, filter, func(r *state.Row) error {
		out[r.ID] = true
		return nil
	})
}

type Service struct{ Env *environments.Service }
