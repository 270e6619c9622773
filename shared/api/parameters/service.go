// Package parameters serves parameters and facts, also in the form of public clients of the peer.
package parameters

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"southbound/shared/api/environments"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Parameters implements Home.
func (s *Service) Parameters(
	ctx context.Context, env string, facts bool,
) ([]state.Parameter, error) {
	ps, err := s.Env.Engine.State.Parameters(ctx, env, state.ParameterQuery{Facts: facts})
	return ps, fault.Wrap(fault.Unknown, "read parameters", err)
}

// Parameter implements Home.
func (s *Service) Parameter(ctx context.Context, env, name string) (state.Parameter, error) {
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
func (s *Service) ParameterHistory(
	ctx context.Context, env, name string,
) ([]state.ParameterChange, error) {
	if s.History == nil {
		return nil, fault.New(fault.Unsupported, "", "this home keeps no history of parameters")
	}
	out, err := s.History(ctx, env, name)
	return out, fault.Wrap(fault.Unknown, "read the history of a parameter", err)
}

// SetParameter implements Home.
func (s *Service) SetParameter(
	ctx context.Context, env, name, value string,
) (state.Parameter, error) {
	return s.setParameter(ctx, env, state.Parameter{Name: name, Value: value, Source: "user"})
}

func (s *Service) setParameter(
	ctx context.Context, env string, p state.Parameter,
) (state.Parameter, error) {
	if err := s.setAudited(ctx, env, p); err != nil {
		return state.Parameter{}, err
	}
	return s.Parameter(ctx, env, p.Name)
}

func (s *Service) setParameters(ctx context.Context, env string, ps ...state.Parameter) error {
	for i := range ps {
		if err := checkValue(ps[i].Name, ps[i].Value); err != nil {
			return err
		}
	}
	err := s.Env.Engine.SetParameters(ctx, env, ps...)
	if err == nil {
		s.Env.Changed(env)
	}
	return err
}

// setAudited is setParameters for a request of a caller.
func (s *Service) setAudited(ctx context.Context, env string, ps ...state.Parameter) error {
	names := make([]string, len(ps))
	for i := range ps {
		names[i] = ps[i].Name
	}
	return s.Env.Act(ctx, env, environments.ActSetParameter, "", names, func() error {
		return s.setParameters(ctx, env, ps...)
	})
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
func (s *Service) Suggest(ctx context.Context, env, name string, values []any) error {
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
func (s *Service) DeleteParameter(ctx context.Context, env, name string) error {
	return s.Env.Act(ctx, env, environments.ActDeleteParameter, "", []string{name}, func() error {
		return s.Env.Engine.DeleteParameters(ctx, env, state.ParameterKey{Name: name})
	})
}

// Sources of parameters: sourceModel for suggested values, which a model or a user has set, and
// sourceUser for all others.
const (
	sourceModel = "model"
	sourceUser  = "user"
)

// suggesting returns a parameter that suggests values.
func suggesting[T any](name string, values []T) (state.Parameter, error) {
	list, err := json.Marshal(values)
	return state.Parameter{Name: name, Value: string(list), Source: sourceModel},
		fault.Wrap(fault.Invalid, "set parameter", err)
}

type Service struct {
	Env *environments.Service
	// History, if not nil, implements ParameterHistory.
	History func(ctx context.Context, env, name string) ([]state.ParameterChange, error)
}
