package deploy

import (
	"bytes"
	"context"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// secretVersion returns s with the version that it means now. If that cannot be told, s stays as it is: it may still be readable where the
// handler runs.
func (e *Engine) secretVersion(ctx context.Context, s resource.Secret) resource.Secret {
	var version string
	var err error
	if v, ok := e.Secrets.(state.SecretVersions); ok {
		version, err = v.Version(ctx, s) // even if s names a version: that may be a label, which can move to another one
	} else if s.Version == "" {
		_, version, err = e.Secrets.Resolve(ctx, s)
	}
	if err == nil && version != "" {
		s.Version = version
	}
	return s
}

// prefetchVersions fetches ahead what secretVersion will ask for, for all secrets among refs.
func (e *Engine) prefetchVersions(ctx context.Context, refs []any) {
	if b, ok := e.Secrets.(state.SecretBatches); ok {
		if secrets := model.SecretsAmong(refs); len(secrets) > 1 {
			b.Prefetch(ctx, secrets, false)
		}
	}
}

// prefetchSecrets fetches ahead what resolveSecrets will ask for, for rows that run together.
func (e *Engine) prefetchSecrets(ctx context.Context, rows []*state.Row) {
	b, ok := e.Secrets.(state.SecretBatches)
	if !ok || len(rows) < 2 {
		return
	}
	var secrets []resource.Secret
	for _, row := range rows {
		if !bytes.Contains(row.Body, []byte(`"secret"`)) {
			continue // most have none, and need not be decoded twice
		}
		if r, err := resource.Decode(row.Body); err == nil {
			for _, v := range r.Attributes {
				secrets = append(secrets, model.SecretsAmong(resource.References(v))...)
			}
		}
	}
	if len(secrets) > 1 {
		b.Prefetch(ctx, secrets, true)
	}
}

// lookUp finds out whether a secret exists.
func (e *Engine) lookUp(ctx context.Context) func(resource.Secret) error {
	return func(ref resource.Secret) error {
		if v, ok := e.Secrets.(state.SecretVersions); ok {
			_, err := v.Version(ctx, ref)
			return err
		}
		_, _, err := e.Secrets.Resolve(ctx, ref)
		return err
	}
}
