package deploy

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
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
		if secrets := secretsAmong(refs); len(secrets) > 1 {
			b.Prefetch(ctx, secrets, false)
		}
	}
}

// prefetchValues fetches ahead what resolveSecrets will ask for, for a group of claims.
func (e *Engine) prefetchValues(ctx context.Context, group []*claim) {
	b, ok := e.Secrets.(state.SecretBatches)
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

// UnsetSecrets returns a problem for each place where a model refers to a secret that does not
// exist: one of which look says that it is NotFound. What look cannot tell is not a problem.
func (m *Model) UnsetSecrets(look func(resource.Secret) error) diag.Problems {
	known := map[resource.Secret]error{}
	find := func(ref resource.Secret) error {
		err, asked := known[ref]
		if !asked {
			if err = look(ref); !fault.Is(err, fault.NotFound) {
				err = nil
			}
			known[ref] = err
		}
		return err
	}
	var problems diag.Problems
	for i := range m.Resources {
		r := &m.Resources[i]
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			for _, ref := range secretsAmong(resource.References(r.Attributes[name])) {
				if err := find(ref); err != nil {
					problems.Add(unset(err, m.at(i, name), string(r.ID), name))
				}
			}
		}
	}
	for _, a := range m.Agents {
		for _, ref := range secretsAmong(resource.References(a.Options)) {
			if err := find(ref); err != nil {
				problems.Add(unset(fmt.Errorf("agent %q: %w", a.Name, err), diag.Pos{}, "", ""))
			}
		}
	}
	return problems
}

func unset(err error, at diag.Pos, id, attribute string) diag.Problem {
	return diag.Problem{Pos: at, Resource: id, Attribute: attribute, Message: err.Error(),
		Hint: "set the secret where this command runs, or name another"}
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
