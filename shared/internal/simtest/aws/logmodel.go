package aws

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
)

// logModel is a model of the log of actions. A write is visible to all processes immediately, and
// repeated writes have no further effect.
type logModel struct {
	r       *run
	actions map[string]state.Action
}

var _ dynamo.Log = (*logModel)(nil)

// write stores unlogged actions.
func (l *logModel) write(u *dynamo.Unlogged) error {
	_, err := send(l.r, "log", writes, func() (struct{}, error) {
		for _, a := range u.Actions {
			l.actions[a.ID] = a
		}
		return struct{}{}, nil
	})
	return unanswered(err)
}

// Actions implements dynamo.Log.
func (l *logModel) Actions(
	_ context.Context, _ string, q state.ActionQuery, since time.Time,
) ([]state.Action, error) {
	out, err := send(l.r, "search log", reads, func() ([]state.Action, error) {
		out := slices.DeleteFunc(slices.Collect(maps.Values(l.actions)),
			func(a state.Action) bool { return a.Finished.Before(since) || !q.Selects(&a) })
		slices.SortFunc(out, func(a, b state.Action) int { return cmp.Compare(b.ID, a.ID) })
		if q.Limit > 0 {
			out = out[:min(q.Limit, len(out))]
		}
		return out, nil
	})
	return out, unanswered(err)
}

// Ended implements dynamo.Log.
func (l *logModel) Ended(_ context.Context, _ string, from, to time.Time) (map[string]bool, error) {
	out, err := send(l.r, "count log", reads, func() (map[string]bool, error) {
		out := map[string]bool{}
		for id, a := range l.actions {
			if !a.Finished.Before(from) && a.Finished.Before(to) {
				out[id] = true
			}
		}
		return out, nil
	})
	return out, unanswered(err)
}

// Expire implements dynamo.Log.
func (l *logModel) Expire(context.Context, string) error { return nil }

// keepLog is a round of the log function: it copies committed actions into the log.
func (a *actorState) keepLog() {
	lanes := []string{a.lane(a.agent()), a.lane(a.agent()), "plan"}
	if a.chance(40) {
		lanes = nil
	}
	limit := 1 + a.t.rng.IntN(4)
	u, err := call(a.r, "Unlogged", lanes, func(ctx context.Context) (*dynamo.Unlogged, error) {
		return a.s.p.state.Unlogged(ctx, env, lanes, limit)
	})
	if err != nil || u.Empty() {
		return
	}
	_, err = call(a.r, "Log", u,
		func(context.Context) (struct{}, error) { return struct{}{}, a.r.logged.write(u) })
	if err != nil {
		return
	}
	_, _ = call(a.r, "Logged", u,
		func(ctx context.Context) (struct{}, error) {
			return struct{}{},
				a.s.p.state.Logged(ctx, u)
		})
}
