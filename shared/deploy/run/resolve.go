package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Resolve completes the resource that the handler gets with the texts of its files and with its
// secrets. The run ends if these are not available.
func (n *Runner) Resolve(ctx context.Context, r *Run, given Inputs) {
	r.given, r.Notified, r.host.need = given, given.Reload, given.Need
	n.resolveFiles(ctx, r)
	n.resolveSecrets(ctx, r)
	r.Bind(ctx)
}

// resolveSecrets replaces references to secrets in the resource that the handler gets.
func (n *Runner) resolveSecrets(ctx context.Context, r *Run) {
	for name, v := range r.want.Attributes {
		refs := resource.References(v)
		if len(refs) == 0 {
			continue
		}
		a, ok := r.typ.Attribute(name)
		if !ok {
			continue
		}
		values := map[resource.Secret]string{}
		var failed resource.Secret
		resolved, fits, err := a.WithSecrets(v, func(s resource.Secret) (string, error) {
			value, err := secretOf(ctx, n, r.host.env, s)
			if err == nil {
				r.host.Secret(value)
			} else {
				failed = s
			}
			values[s] = value
			return value, err
		})
		switch {
		case err != nil:
			class, why := provider.Retryable, err.Error()
			_, output := failed.Output()
			var text *resource.TextError
			switch {
			case fault.Is(err, fault.Unsupported) || fault.Is(err, fault.Denied):
				class = provider.Terminal
			case output && (fault.Is(err, fault.NotFound) || fault.Is(err, fault.Damaged)):
				class, why = provider.NeedsChange, hinted(err)
			case errors.As(err, &text):
				class = provider.NeedsChange
			}
			r.End(state.StatusFailed, class, fmt.Sprintf("attribute %s: %s", name, why))
			return
		case len(values) == 0:
			continue
		case !fits:
			r.End(state.StatusFailed, provider.NeedsChange,
				fmt.Sprintf("attribute %s: the value of its secret is not %s", name,
					schema.Unsealed(a.DataType).Describe()))
			return
		}
		if _, whole := v.(resource.Secret); whole { // a part of a secret is a secret
			r.host.secretsIn(resolved)
		}
		for _, t := range resource.Texts(v) {
			for _, line := range t.SecretLines(func(s resource.Secret) string {
				return schema.CutLineEnd(values[s])
			}) {
				r.host.Secret(line)
			}
		}
		r.host.Hide(name)
		r.want.Attributes[name] = resolved
	}
	for i := range r.typ.Attributes {
		if a := &r.typ.Attributes[i]; a.Sensitive {
			r.host.Hide(a.Name)
			r.host.secretsIn(r.want.Attributes[a.Name])
		}
	}
}

// MayHaveSecrets reports whether a row may refer to secrets, without decoding it.
func MayHaveSecrets(row *state.Row) bool { return bytes.Contains(row.Body, []byte(`"secret"`)) }

// PrefetchSecrets prefetches the secrets that resolveSecrets will read, for rows that run together.
func (n *Runner) PrefetchSecrets(ctx context.Context, rows []*state.Row) {
	b, ok := n.Secrets.(state.SecretBatches)
	if !ok || len(rows) < 2 {
		return
	}
	var secrets []resource.Secret
	for _, row := range rows {
		if !MayHaveSecrets(row) {
			continue // most rows have none, and need not be decoded twice
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

// resolveFiles replaces uploaded files by their text in the resource that the handler gets, unless
// the type takes files.
func (n *Runner) resolveFiles(ctx context.Context, r *Run) {
	if r.Over() || r.typ == nil || slices.Contains(r.typ.Features, schema.FeatureFiles) {
		return
	}
	for name, v := range r.want.Attributes {
		if len(resource.References(v)) == 0 {
			continue
		}
		changed := false
		resolved, err := resource.Walk(v, func(ref any) (any, error) {
			f, ok := ref.(resource.File)
			if !ok {
				return ref, nil
			}
			changed = true
			return fileText(ctx, r.host.Files(), f)
		})
		switch {
		case err != nil:
			r.End(
				state.StatusFailed,
				provider.ClassOf(err),
				fmt.Sprintf("attribute %s: %v", name, err),
			)
			return
		case !changed:
			continue
		}
		if a, ok := r.typ.Attribute(name); ok && a.DataType.Check(resolved) != nil {
			r.End(
				state.StatusFailed,
				provider.NeedsChange,
				fmt.Sprintf(
					"attribute %s: the text of the file is not %s",
					name,
					a.DataType.Describe(),
				),
			)
			return
		}
		r.want.Attributes[name] = resolved
	}
}
