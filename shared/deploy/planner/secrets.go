package planner

import (
	"context"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
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

// checkSetup returns a problem for each secret of a model that this process cannot read because its
// source is not set up. Secrets of other sources may be set later. exists is secretExists.
func checkSetup(m *model.Model, exists func(resource.Secret) error) diag.Problems {
	if !m.HasSetupSecrets() {
		return nil
	}
	return m.UnsetSecrets(func(ref resource.Secret) error {
		if kind, _ := resource.SecretSourceOf(ref.Source); !kind.Setup {
			return nil
		}
		return exists(ref)
	})
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
