package engine

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// Actions implements state.State.
func (s *State) Actions(
	_ context.Context, env string, q state.ActionQuery,
) ([]state.Action, error) {
	e := s.read(env)
	ids := slices.Sorted(maps.Keys(e.actions))
	slices.Reverse(ids)
	var out []state.Action
	for _, id := range ids {
		a := e.actions[id]
		if !selects(&q, &a) {
			continue
		}
		out = append(out, a)
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
	}
	return out, nil
}

// selects reports whether a query selects an action.
func selects(q *state.ActionQuery, a *state.Action) bool {
	switch {
	case q.Resource != "" && a.Resource != q.Resource:
	case q.Agent != "" && a.Resource.Agent() != q.Agent:
	case len(q.IDs) > 0 && !slices.Contains(q.IDs, a.ID):
	case q.Version != 0 && a.Version != q.Version:
	case q.Action != "" && a.Action != q.Action:
	case q.Outcome != "" && a.Outcome != q.Outcome:
	case q.After != "" && a.ID <= q.After:
	case q.Before != "" && a.ID >= q.Before:
	case q.Notable && a.Outcome == state.StatusDeployed &&
		(a.Change == "" || a.Change == diff.NoChange):
	case !q.Since.IsZero() && a.Finished.Before(q.Since):
	case !q.Until.IsZero() && !a.Finished.Before(q.Until):
	case (q.Level != "" || q.Text != "") &&
		!slices.ContainsFunc(a.Messages, func(l provider.Line) bool {
			return severity(l.Level) >= severity(q.Level) && strings.Contains(l.Msg, q.Text)
		}):
	default:
		return true
	}
	return false
}

func severity(l provider.Level) int {
	return slices.Index([]provider.Level{provider.LevelDebug, provider.LevelInfo,
		provider.LevelWarning, provider.LevelError}, l)
}

// DropActions implements state.State.
func (s *State) DropActions(_ context.Context, env string, before time.Time) (int, error) {
	e := s.read(env)
	n := len(e.actions)
	maps.DeleteFunc(e.actions,
		func(_ string, a state.Action) bool { return a.Finished.Before(before) })
	return n - len(e.actions), nil
}

var _ state.State = (*State)(nil)
