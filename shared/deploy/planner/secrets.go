package planner

import (
	"context"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
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
