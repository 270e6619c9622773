package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// State is state.State in memory, with exactly the contract of the port. Its operations take no
// time and do not fail spontaneously. It shares the slices in records with its callers, who must
// not modify them. It is not safe for concurrent use.
//
// Large: it implements a wide port, which has one method for each operation.
type State struct {
	// Dead reports whether a holder of leases is known to be dead. If it is nil, no holder is.
	Dead func(holder string) bool

	envs map[string]*environment
}

// environment holds all records of one environment.
type environment struct {
	env        state.Env
	versions   map[int]state.Version
	agents     map[string]state.Agent
	leases     map[string]*state.Lease
	rows       map[resource.ID]*state.Row
	ids        []resource.ID // ids of rows, ascending
	written    []resource.ID // ids of written rows, in the order of their commits
	checks     map[string]*laneChecks
	outbox     map[string]state.Outbox
	parameters map[state.ParameterKey]state.Parameter
	kept       map[resource.ID]state.Kept
	actions    map[string]state.Action
}

// laneChecks lists the rows of a lane that a check of everything has checked.
type laneChecks struct {
	epoch int64
	ids   []resource.ID // ascending
}

// NewState returns an empty state.
func NewState() *State { return &State{envs: map[string]*environment{}} }

// touch returns an environment for writing, and creates it if necessary.
func (s *State) touch(env string) *environment {
	e := s.envs[env]
	if e == nil {
		e = &environment{
			env: state.Env{Name: env}, versions: map[int]state.Version{},
			agents: map[string]state.Agent{}, leases: map[string]*state.Lease{},
			rows: map[resource.ID]*state.Row{}, checks: map[string]*laneChecks{},
			outbox:     map[string]state.Outbox{},
			parameters: map[state.ParameterKey]state.Parameter{},
			kept:       map[resource.ID]state.Kept{},
			actions:    map[string]state.Action{},
		}
		s.envs[env] = e
	}
	return e
}

// read returns an environment for reading. An unknown environment is empty and not stored.
func (s *State) read(env string) *environment {
	if e := s.envs[env]; e != nil {
		return e
	}
	return &environment{env: state.Env{Name: env}}
}

// Env implements state.State.
func (s *State) Env(
	_ context.Context, env string,
) (state.Env, error) {
	return s.read(env).env, nil
}

// Kept implements state.Keeps.
func (s *State) Kept(_ context.Context, env string, ids []resource.ID) ([]state.Kept, error) {
	var out []state.Kept
	for _, id := range ids {
		if k, ok := s.read(env).kept[id]; ok {
			out = append(out, k)
		}
	}
	return out, nil
}

// KeptOutputs implements state.Keeps.
func (s *State) KeptOutputs(
	_ context.Context, env string, ids []resource.ID,
) (map[resource.ID]string, error) {
	out := map[resource.ID]string{}
	for _, id := range ids {
		if k := s.read(env).kept[id]; k.Outputs != "" {
			out[id] = k.Outputs
		}
	}
	return out, nil
}

// KeptIDs implements state.Keeps.
func (s *State) KeptIDs(_ context.Context, env string) ([]resource.ID, error) {
	return slices.Sorted(maps.Keys(s.read(env).kept)), nil
}

func envConflict() error {
	return fault.New(fault.Conflict, "write environment", "another process has changed it")
}

// put writes an environment. The caller has compared the revision.
func (e *environment) put(n state.Env) {
	n.Rev, n.PlanSeq, n.Halted = e.env.Rev+1, e.env.PlanSeq, e.env.Halted
	e.env = n
}

// Envs implements state.State.
func (s *State) Envs(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(s.envs)), nil
}

// Versions implements state.State.
func (s *State) Versions(_ context.Context, env string, numbers ...int) ([]state.Version, error) {
	e := s.read(env)
	if len(numbers) == 0 {
		numbers = slices.Sorted(maps.Keys(e.versions))
	}
	var out []state.Version
	for _, n := range numbers {
		if v, ok := e.versions[n]; ok {
			out = append(out, v)
		}
	}
	return out, nil
}

// Agents implements state.State.
func (s *State) Agents(
	_ context.Context, env string, names ...string,
) (map[string]state.Agent, error) {
	e := s.read(env)
	out := make(map[string]state.Agent, len(e.agents))
	maps.Copy(out, e.agents)
	maps.DeleteFunc(out,
		func(name string, _ state.Agent) bool {
			return len(names) > 0 &&
				!slices.Contains(names, name)
		})
	return out, nil
}

// Pause implements state.State.
func (s *State) Pause(_ context.Context, env string, paused bool, agents ...string) error {
	e := s.touch(env)
	for _, name := range agents {
		a := e.agents[name]
		a.Name, a.Paused = name, paused
		e.agents[name] = a
	}
	e.env.PlanSeq++
	return nil
}

// Halt implements state.State.
func (s *State) Halt(_ context.Context, env string, halted bool) error {
	e := s.touch(env)
	e.env.Halted = halted
	e.env.PlanSeq++
	return nil
}

// Acquire implements state.State.
func (s *State) Acquire(
	_ context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	if l := s.read(env).leases[key]; l != nil && l.Holder != "" && l.Holder != holder &&
		now.Before(l.Until) && (s.Dead == nil || !s.Dead(l.Holder)) {
		return state.Lease{}, fault.New(fault.Busy, "take lease", "%s is served by another", key)
	}
	e := s.touch(env)
	l := e.leases[key]
	if l == nil {
		l = &state.Lease{Key: key}
		e.leases[key] = l
	}
	l.Holder, l.Until = holder, until
	l.Fence++
	return *l, nil
}

// Release implements state.State.
func (s *State) Release(_ context.Context, env string, l state.Lease) error {
	if have := s.read(env).leases[l.Key]; have != nil && have.Fence == l.Fence {
		have.Holder, have.Running = "", nil
	}
	return nil
}

// Leases implements state.State.
func (s *State) Leases(_ context.Context, env string) ([]state.Lease, error) {
	e := s.read(env)
	out := make([]state.Lease, 0, len(e.leases))
	for _, key := range slices.Sorted(maps.Keys(e.leases)) {
		out = append(out, *e.leases[key])
	}
	return out, nil
}

// Outbox implements state.State.
func (s *State) Outbox(_ context.Context, env string, limit int) ([]state.Outbox, error) {
	e := s.read(env)
	out := slices.Collect(maps.Values(e.outbox))
	slices.SortFunc(out, func(a, b state.Outbox) int { return strings.Compare(a.ID, b.ID) })
	return out[:min(max(limit, 0), len(out))], nil
}

// Parameters implements state.State.
func (s *State) Parameters(
	_ context.Context, env string, q state.ParameterQuery,
) ([]state.Parameter, error) {
	e := s.read(env)
	var out []state.Parameter
	add := func(p state.Parameter) {
		if q.Of == "" || p.Of == q.Of {
			out = append(out, p)
		}
	}
	if len(q.Keys) == 0 {
		for _, p := range e.parameters {
			if (p.Of != "") == q.Facts {
				add(p)
			}
		}
	} else {
		seen := make(map[state.ParameterKey]bool, len(q.Keys))
		for _, k := range q.Keys {
			if p, ok := e.parameters[k]; ok && !seen[k] {
				add(p)
			}
			seen[k] = true
		}
	}
	slices.SortFunc(out,
		func(a, b state.Parameter) int {
			return cmp.Or(cmp.Compare(a.Of, b.Of),
				cmp.Compare(a.Name, b.Name))
		})
	return out, nil
}

func (e *environment) putParameters(ps []state.Parameter) {
	for _, p := range ps {
		e.parameters[state.ParameterKey{Name: p.Name, Of: p.Of}] = p
	}
}
