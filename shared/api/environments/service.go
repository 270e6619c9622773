// Package environments serves environments as a whole: their names, their progress, halting them,
// and the removal of old data. Every other kind of resource uses it to find its environment.
package environments

import (
	"context"
	"slices"
	"time"

	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// Halt implements Home.
func (s *Service) Halt(ctx context.Context, env string, halted bool) error {
	act := ActHalt
	if !halted {
		act = ActUnhalt
	}
	defer s.Changed(env)
	return s.Act(ctx, env, act, "", nil, func() error { return s.Engine.Halt(ctx, env, halted) })
}

// Collect implements Home.
func (s *Service) Collect(
	ctx context.Context, env string, grace time.Duration,
) (deploy.Collected, error) {
	return s.Engine.Collect(ctx, env, grace)
}

// Environments implements Home.
func (s *Service) Environments(ctx context.Context) ([]string, error) {
	names, err := s.Engine.State.Envs(ctx)
	return names, fault.Wrap(fault.Unknown, "list environments", err)
}

// Require rejects an environment that was never used.
func (s *Service) Require(ctx context.Context, env string) error {
	names, err := s.Environments(ctx)
	if err != nil || slices.Contains(names, env) {
		return err
	}
	return fault.New(fault.NotFound, "", "there is no environment %q", env).
		WithHint("GET /v1/environments lists them; an export makes one")
}

// CheckFound returns err. If nothing was found, it rejects an environment that does not exist: a
// misspelt name is an error, and not an empty environment.
func (s *Service) CheckFound(ctx context.Context, env string, found int, err error) error {
	if err != nil || found > 0 {
		return err
	}
	return s.Require(ctx, env)
}

type Service struct {
	Engine *deploy.Engine
	// Notify, if not nil, is called when an environment may have new work.
	Notify func(env string)
	// Stopping, if not nil, ends when the server stops: calls that wait for a change then return.
	Stopping context.Context
	// Waits, if not nil, returns why agents of an environment are waited for, limited to agents
	// that this process serves.
	Waits func(env string) map[string]string
	// Audit, if not nil, records what callers request. Caller is the caller of requests whose
	// context names none.
	Audit  state.AuditLog
	Caller wire.Caller
	// Identity, if not nil, returns the identity of an instance of a service; "" if it has none.
	Identity func(ctx context.Context, env, id string) (string, error)
}

// Named returns an error with the identities of the instances that its problems name. It returns
// the error unchanged if they cannot be read.
func (s *Service) Named(ctx context.Context, env string, err error) error {
	problems, more := diag.Of(err)
	if s.Identity == nil || !slices.ContainsFunc(problems, hasInstance) {
		return err
	}
	named := slices.Clone(problems)
	for i := range named {
		if !hasInstance(named[i]) {
			continue
		}
		name, failed := s.Identity(ctx, env, named[i].Instance)
		if failed != nil {
			return err
		}
		named[i].Identity = name
	}
	return named.ErrAnd(more)
}

func hasInstance(p diag.Problem) bool { return p.Instance != "" }

// Changed reports that an environment may have new work.
func (s *Service) Changed(env string) {
	if s.Notify != nil {
		s.Notify(env)
	}
}

// Progress implements Home.
func (s *Service) Progress(ctx context.Context, env string) (Progress, error) {
	p, err := s.Engine.Progress(ctx, env)
	if err != nil {
		return Progress{}, err
	}
	out := ProgressOf(env, p)
	if s.Waits != nil {
		out.Waiting = s.Waits(env)
	}
	return out, nil
}
