package api

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Schedule implements Home.
func (s *resourceService) Schedule(ctx context.Context, env string, w Work) (int, error) {
	filter, err := state.ParseFilter(w.Filter)
	if err != nil {
		return 0, err
	}
	do := s.Env.Engine.Deploy
	if w.Repair {
		do = s.Env.Engine.Repair
	}
	n, err := do(ctx, env, deploy.Request{Filter: filter, RetryFailed: w.RetryFailed})
	s.Env.changed(env)
	return n, err
}

// Pause implements Home.
func (s *agentService) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	if err := mayNameAgents(agents); err != nil {
		return err
	}
	defer s.Env.changed(env)
	return s.Env.Engine.Pause(ctx, env, paused, agents...)
}

// mayNameAgents rejects names that no agent can have, as far as a schema can express the rule. A
// valid name without an agent pauses nothing.
func mayNameAgents(names []string) error {
	for _, name := range names {
		if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return fault.New(fault.Invalid, "pause", "%q cannot name an agent", name).
				WithHint("leave out line breaks and other control characters")
		}
	}
	return nil
}

// Halt implements Home.
func (s *environmentService) Halt(ctx context.Context, env string, halted bool) error {
	defer s.changed(env)
	return s.Engine.Halt(ctx, env, halted)
}

// Collect implements Home.
func (s *environmentService) Collect(
	ctx context.Context, env string, grace time.Duration,
) (deploy.Collected, error) {
	return s.Engine.Collect(ctx, env, grace)
}

// Prune implements Home.
func (s *agentService) Prune(ctx context.Context, env string, remove bool) ([]Pruned, error) {
	if s.Unneeded == nil {
		return nil, nil
	}
	return s.Unneeded(ctx, env, remove)
}

// Parameters implements Home.
func (s *parameterService) Parameters(
	ctx context.Context, env string, facts bool,
) ([]state.Parameter, error) {
	ps, err := s.Env.Engine.State.Parameters(ctx, env, state.ParameterQuery{Facts: facts})
	return ps, fault.Wrap(fault.Unknown, "read parameters", err)
}

// Parameter implements Home.
func (s *parameterService) Parameter(ctx context.Context, env, name string) (state.Parameter, error) {
	ps, err := s.Env.Engine.State.Parameters(ctx, env,
		state.ParameterQuery{Keys: []state.ParameterKey{{Name: name}}})
	if err != nil {
		return state.Parameter{}, fault.Wrap(fault.Unknown, "read parameter", err)
	}
	if len(ps) == 0 {
		return state.Parameter{}, fault.New(fault.NotFound, "", "there is no parameter %q", name).
			WithHint("`southbound parameters` lists them")
	}
	return ps[0], nil
}

// ParameterHistory implements Home.
func (s *parameterService) ParameterHistory(
	ctx context.Context, env, name string,
) ([]state.ParameterChange, error) {
	if s.History == nil {
		return nil, fault.New(fault.Unsupported, "", "this home keeps no history of parameters")
	}
	out, err := s.History(ctx, env, name)
	return out, fault.Wrap(fault.Unknown, "read the history of a parameter", err)
}

// SetParameter implements Home.
func (s *parameterService) SetParameter(
	ctx context.Context, env, name, value string,
) (state.Parameter, error) {
	return s.setParameter(ctx, env, state.Parameter{Name: name, Value: value, Source: "user"})
}

func (s *parameterService) setParameter(
	ctx context.Context, env string, p state.Parameter,
) (state.Parameter, error) {
	if err := s.setParameters(ctx, env, p); err != nil {
		return state.Parameter{}, err
	}
	return s.Parameter(ctx, env, p.Name)
}

func (s *parameterService) setParameters(ctx context.Context, env string, ps ...state.Parameter) error {
	for i := range ps {
		if err := checkValue(ps[i].Name, ps[i].Value); err != nil {
			return err
		}
	}
	err := s.Env.Engine.SetParameters(ctx, env, ps...)
	if err == nil {
		s.Env.changed(env)
	}
	return err
}

// checkValue rejects text that is not UTF-8: JSON would change its bytes.
func checkValue(name, value string) error {
	if utf8.ValidString(value) {
		return nil
	}
	return fault.New(fault.Invalid, "set parameter", "the value of %q is not UTF-8", name).
		WithHint("encode bytes that are no text, as in base64")
}

// Suggest implements Home.
func (s *parameterService) Suggest(ctx context.Context, env, name string, values []any) error {
	p, err := suggesting(name, values)
	if err != nil {
		return err
	}
	have, err := s.Env.Engine.State.Parameters(ctx, env,
		state.ParameterQuery{Keys: []state.ParameterKey{{Name: name}}})
	if err != nil || len(have) > 0 && have[0].Value == p.Value && have[0].Source == p.Source {
		return fault.Wrap(fault.Unknown, "read parameter", err)
	}
	return s.setParameters(ctx, env, p)
}

// DeleteParameter implements Home.
func (s *parameterService) DeleteParameter(ctx context.Context, env, name string) error {
	return s.Env.Engine.DeleteParameters(ctx, env, state.ParameterKey{Name: name})
}
