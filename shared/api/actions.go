package api

import (
	"context"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/plan"
)

// scanAction is how many actions are read at once where the state cannot select what is asked for.
const scanActions = 1000

// Actions implements Home.
func (s *Service) Actions(ctx context.Context, env string, q ActionQuery) ([]Action, error) {
	var out []Action
	for {
		found, next, err := s.actionsPage(ctx, env, q)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
		if q.Limit > 0 {
			if q.Limit -= len(found); q.Limit <= 0 {
				return out, nil
			}
		}
		if next == "" {
			return out, nil
		}
		q.Before = next
	}
}

// actionsPage returns some actions, newest first, and the id before which to go on, "" at the end. It may return none and go on.
func (s *Service) actionsPage(ctx context.Context, env string, q ActionQuery) ([]Action, string, error) {
	sieve := q.Agent != "" || !q.Until.IsZero()
	limit := q.Limit
	if sieve {
		limit = max(limit, scanActions)
	}
	found, err := s.Engine.State.Actions(ctx, env, deploy.ActionQuery{Resource: q.Resource, Version: q.Version, Action: q.Action, Outcome: q.Outcome, After: q.After,
		Before: q.Before, Since: q.Since, Level: q.Level, Text: q.Text, Limit: limit})
	if err != nil {
		return nil, "", fault.Wrap(fault.Unknown, "read actions", err)
	}
	next := ""
	if limit > 0 && len(found) == limit {
		next = found[limit-1].ID
	}
	out := make([]Action, 0, len(found))
	for i := range found {
		a := &found[i]
		if q.Agent != "" && a.Resource.Agent() != q.Agent || !q.Until.IsZero() && a.Finished.After(q.Until) {
			continue
		}
		if q.Limit > 0 && len(out) == q.Limit {
			return out, out[len(out)-1].ID, nil
		}
		out = append(out, actionOf(a))
	}
	return out, next, nil
}

// actionOf has every member, also those that are empty.
func actionOf(x *deploy.Action) Action {
	a := Action{ID: x.ID, Resource: x.Resource, Version: x.Version, Action: x.Action, Outcome: x.Outcome, Change: x.Change, Started: x.Started.UTC(),
		Finished: x.Finished.UTC(), Reason: x.Reason, Stale: x.Stale, Pack: x.Pack, Changes: x.Changes, Messages: make([]Message, 0, len(x.Messages))}
	if a.Changes == nil {
		a.Changes = map[string]plan.Diff{}
	}
	for _, l := range x.Messages {
		if l.Kwargs == nil {
			l.Kwargs = map[string]any{}
		}
		a.Messages = append(a.Messages, Message{l.At.UTC(), l.Level, l.Msg, l.Kwargs})
	}
	return a
}
