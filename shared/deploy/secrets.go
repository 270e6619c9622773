package deploy

import (
	"bytes"
	"context"

	"southbound/shared/resource"
)

// SecretVersions may be implemented by Secrets that can tell the version of a secret without reading it, so that who exports needs no right to.
type SecretVersions interface {
	// Version returns the version that a reference means now; its errors are those of Resolve.
	Version(ctx context.Context, s resource.Secret) (string, error)
}

// SecretBatches may be implemented by Secrets that can fetch several at once.
type SecretBatches interface {
	// Prefetch fetches what the calls of Version, or with values those of Resolve, that follow will ask for. What goes wrong is left to these.
	Prefetch(ctx context.Context, refs []resource.Secret, values bool)
}

// secretVersion returns s with the version that it means now. One that cannot be told here stays as it is: it may well be readable where the handler runs.
func (e *Engine) secretVersion(ctx context.Context, s resource.Secret) resource.Secret {
	var version string
	var err error
	if v, ok := e.Secrets.(SecretVersions); ok {
		version, err = v.Version(ctx, s) // also for a version that is said: it may be a label, which comes to mean another version
	} else if s.Version == "" {
		_, version, err = e.Secrets.Resolve(ctx, s)
	}
	if err == nil && version != "" {
		s.Version = version
	}
	return s
}

// prefetchVersions prepares for secretVersion of all secrets among refs.
func (e *Engine) prefetchVersions(ctx context.Context, refs []any) {
	if b, ok := e.Secrets.(SecretBatches); ok {
		if secrets := secretsAmong(refs); len(secrets) > 1 {
			b.Prefetch(ctx, secrets, false)
		}
	}
}

// prefetchValues prepares for resolveSecrets of a group.
func (e *Engine) prefetchValues(ctx context.Context, group []*claim) {
	b, ok := e.Secrets.(SecretBatches)
	if !ok || len(group) < 2 {
		return
	}
	var secrets []resource.Secret
	for _, c := range group {
		if !bytes.Contains(c.row.Body, []byte(`"secret"`)) {
			continue // most have none, and need not be decoded twice
		}
		if r, err := resource.Decode(c.row.Body); err == nil {
			for _, v := range r.Attributes {
				secrets = append(secrets, secretsAmong(resource.References(v))...)
			}
		}
	}
	if len(secrets) > 1 {
		b.Prefetch(ctx, secrets, true)
	}
}

func secretsAmong(refs []any) []resource.Secret {
	var out []resource.Secret
	for _, ref := range refs {
		if s, ok := ref.(resource.Secret); ok {
			out = append(out, s)
		}
	}
	return out
}
