package deploy

import (
	"bytes"
	"context"

	"southbound/shared/resource"
)

// SecretVersions may be implemented by Secrets that can tell the version of a secret without reading its value, so that exporting does not
// take the right to read it.
type SecretVersions interface {
	// Version returns the version that a reference means now. Its errors are those of Resolve.
	Version(ctx context.Context, s resource.Secret) (string, error)
}

// SecretBatches may be implemented by Secrets that can fetch several at once.
type SecretBatches interface {
	// Prefetch fetches what the following calls of Version, or if values is set of Resolve, will ask for. It leaves errors to those calls.
	Prefetch(ctx context.Context, refs []resource.Secret, values bool)
}

// secretVersion returns s with the version that it means now. If that cannot be told, s stays as it is: it may still be readable where the
// handler runs.
func (e *Engine) secretVersion(ctx context.Context, s resource.Secret) resource.Secret {
	var version string
	var err error
	if v, ok := e.Secrets.(SecretVersions); ok {
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
	if b, ok := e.Secrets.(SecretBatches); ok {
		if secrets := secretsAmong(refs); len(secrets) > 1 {
			b.Prefetch(ctx, secrets, false)
		}
	}
}

// prefetchValues fetches ahead what resolveSecrets will ask for, for a group of claims.
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
