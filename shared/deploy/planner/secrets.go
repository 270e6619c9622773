package planner

import (
	"context"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// secretVersion returns s with its current version. If the version cannot be determined, s stays as
// it is: it may still be readable where the handler runs.
func (pl *Config) secretVersion(ctx context.Context, s resource.Secret) resource.Secret {
	var version string
	var err error
	if v, ok := pl.Secrets.(state.SecretVersions); ok {
		// even if s names a version: that may be a label, which can move to another one
		version, err = v.Version(ctx, s)
	} else if s.Version == "" {
		_, version, err = pl.Secrets.Resolve(ctx, s)
	}
	if err == nil && version != "" {
		s.Version = version
	}
	return s
}

// prefetchVersions prefetches the versions that secretVersion will read, for all secrets among
// refs.
func (pl *Config) prefetchVersions(ctx context.Context, refs []any) {
	if b, ok := pl.Secrets.(state.SecretBatches); ok {
		if secrets := model.SecretsAmong(refs); len(secrets) > 1 {
			b.Prefetch(ctx, secrets, false)
		}
	}
}

// checkSecrets returns the problems of a model with its secrets, as diag.Problems. all also reports
// secrets that do not exist; otherwise only sources that need a setup are read, as other secrets may
// be set later.
func (pl *Config) checkSecrets(ctx context.Context, env string, x Export, all bool) error {
	problems, err := pl.unreadable(ctx, env, x)
	switch {
	case err != nil:
		return err
	case len(problems) > 0:
		return problems.Err()
	}
	exists := pl.secretExists(ctx)
	switch {
	case all:
		problems = x.Model.UnsetSecrets(exists)
	case x.Model.HasSetupSecrets():
		problems = x.Model.UnsetSecrets(func(ref resource.Secret) error {
			if kind, _ := resource.SecretSourceOf(ref.Source); !kind.Setup {
				return nil
			}
			return exists(ref)
		})
	}
	return problems.Err()
}

// unreadable returns a problem for each kind of source that the process that serves an agent cannot
// read.
func (pl *Config) unreadable(ctx context.Context, env string, x Export) (diag.Problems, error) {
	if pl.Readable == nil || !x.Model.HasMachineSecrets() {
		return nil, nil
	}
	agents := x.Model.Agents
	if x.Partial { // other parts of the version may describe agents
		stored, err := pl.State.Env(ctx, env)
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read environment", err)
		}
		last, err := pl.State.Versions(ctx, env, stored.Last)
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read version", err)
		}
		for _, v := range last {
			agents = MergeAgents(v.Agents, agents)
		}
	}
	return x.Model.UnreadableSecrets(agents, pl.Readable), nil
}

// secretExists returns a function that returns an error if a secret does not exist.
func (pl *Config) secretExists(ctx context.Context) func(resource.Secret) error {
	return func(ref resource.Secret) error {
		if v, ok := pl.Secrets.(state.SecretVersions); ok {
			_, err := v.Version(ctx, ref)
			return err
		}
		_, _, err := pl.Secrets.Resolve(ctx, ref)
		return err
	}
}
