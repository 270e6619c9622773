package worker

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// State is the part of the state that a View wraps. *dynamo.State implements it.
type State interface {
	state.State
	state.Looker
	deploy.Overviewer
}

// View is the state as one process sees it. It shows the agents that the process leaves to other
// processes as paused, and logs the actions that the process commits. Everything else is unchanged.
type View struct {
	State
	// Leave reports whether an agent is served by other processes; nil: none. View shows such an
	// agent as paused, so that this process starts or records no work of it.
	Leave func(a resource.Agent) bool
	// Log, if not nil, receives a line for each committed action.
	Log *slog.Logger
	// Count, if not nil, is called with the number of committed actions, by outcome.
	Count func(outcome state.Status, n int)
	// Sets, if not nil, is called with the resource sets whose resources were run or decided. In
	// environments where orders of services are handled, the set "" stands for resources without a
	// set.
	Sets func(env string, sets []string)

	mu     sync.Mutex
	orders map[string]bool // environments where orders are handled, as far as this process saw
}

// Env implements state.State.
func (v *View) Env(ctx context.Context, env string) (state.Env, error) {
	e, err := v.State.Env(ctx, env)
	if err == nil {
		v.noteOrders(env, &e)
	}
	return e, err
}

// noteOrders records whether orders are handled in an environment.
func (v *View) noteOrders(env string, e *state.Env) {
	if e.Turn == "" || v.Sets == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.orders == nil {
		v.orders = map[string]bool{}
	}
	v.orders[env] = true
}

// AgentWork implements state.Looker.
func (v *View) AgentWork(
	ctx context.Context, env, agent string, all func(state.Schedule, state.Env) bool,
) (state.AgentWork, error) {
	out, err := v.State.AgentWork(ctx, env, agent, all)
	if err != nil {
		return out, err
	}
	v.noteOrders(env, &out.Env)
	if v.Leave != nil && out.Agent.Name != "" && v.Leave(out.Agent.Agent) {
		out.Agent.Paused = true
	}
	return out, nil
}

// Agents implements state.State.
func (v *View) Agents(
	ctx context.Context, env string, names ...string,
) (map[string]state.Agent, error) {
	agents, err := v.State.Agents(ctx, env, names...)
	if err != nil || v.Leave == nil {
		return agents, err
	}
	out := maps.Clone(agents)
	for name, a := range out {
		if v.Leave(a.Agent) {
			a.Paused = true
			out[name] = a
		}
	}
	return out, nil
}

// Overview implements deploy.Overviewer.
func (v *View) Overview(ctx context.Context, env string) (deploy.Overview, error) {
	o, err := v.State.Overview(ctx, env)
	if err != nil || v.Leave == nil {
		return o, err
	}
	agents, err := v.Agents(ctx, env)
	for name, a := range agents {
		if a.Paused {
			o.Paused[name] = true
		}
	}
	return o, err
}

// Commit implements state.State.
func (v *View) Commit(ctx context.Context, env string, c state.Commit) (state.Committed, error) {
	done, err := v.State.Commit(ctx, env, c)
	if err != nil || len(c.Actions) == 0 {
		return done, err
	}
	counts := map[state.Status]int{}
	for i := range c.Actions {
		v.say(ctx, env, c.Guard, &c.Actions[i])
		counts[c.Actions[i].Outcome]++
	}
	if v.Count != nil {
		for outcome, n := range counts {
			v.Count(outcome, n)
		}
	}
	if v.Sets == nil || c.Plan {
		return done, nil
	}
	v.mu.Lock()
	shared := v.orders[env]
	v.mu.Unlock()
	if sets := setsOf(c.Rows, shared); len(sets) > 0 {
		v.Sets(env, sets)
	}
	return done, nil
}

// setsOf returns the resource sets of rows. If shared is set, it returns "" for rows without a set.
func setsOf(rows []state.Row, shared bool) []string {
	var out []string
	for i := range rows {
		if !bytes.Contains(rows[i].Body, []byte(`"set":`)) { // most rows have no set
			if shared && !slices.Contains(out, "") {
				out = append(out, "")
			}
			continue
		}
		res, err := resource.Decode(rows[i].Body)
		if err == nil && res.Set != "" && !slices.Contains(out, res.Set) {
			out = append(out, res.Set)
		}
	}
	return out
}

// say logs an action: its resource and its outcome, and no value of an attribute.
func (v *View) say(ctx context.Context, env string, g state.Guard, a *state.Action) {
	if v.Log == nil {
		return
	}
	level := slog.LevelDebug
	switch {
	case a.Outcome == state.StatusFailed || a.Outcome == state.StatusUnavailable:
		level = slog.LevelWarn
	case a.Change != diff.NoChange || a.Outcome != state.StatusDeployed:
		level = slog.LevelInfo
	}
	if !v.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("environment", env), slog.Int("version", a.Version),
		slog.String("agent", a.Resource.Agent()), slog.String("lane", g.Key),
		slog.String("resource", string(a.Resource)), slog.String("action", a.ID),
		slog.Int64("fence", g.Fence), slog.String("kind", string(a.Action)),
		slog.String("outcome", string(a.Outcome)), slog.String("change", string(a.Change)),
		slog.Int64("ms", a.Finished.Sub(a.Started).Milliseconds())}
	if a.Reason != "" { // it contains no secrets: it is stored and displayed
		attrs = append(attrs, slog.String("reason", a.Reason))
	}
	v.Log.LogAttrs(ctx, level, "resource", attrs...)
}
