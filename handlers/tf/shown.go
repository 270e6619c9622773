package tf

import (
	"context"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/redact"
	"southbound/shared/resource"
)

// ShowKept implements provider.KeptShower. It shows the state in the schema of the installed provider,
// which it does not start.
func (h *handler) ShowKept(
	ctx context.Context, _ provider.Resource, state []byte,
) (provider.ShownKept, error) {
	var out provider.ShownKept
	k, err := readKept(state)
	if err != nil {
		return out, err
	}
	if n := len(k.Deposed); n > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d objects were replaced and have to be deleted", n))
	}
	r := k.Current
	if r == nil {
		return out, nil
	}
	if r.Tainted {
		out.Notes = append(out.Notes, "the object is tainted: the next run replaces it")
	}
	if r.Doubtful {
		out.Notes = append(out.Notes, "the last change failed: the state may be a planned one, and the next run reads it")
	}
	p, err := h.bridge.program(ctx, &h.meta)
	if err != nil {
		return out, broken(err)
	}
	ty, err := p.compiled("resource", h.meta.theirs)
	if err != nil {
		return out, broken(err)
	}
	if err := r.check(&h.meta, ty.Version); err != nil {
		return out, err
	}
	if r.Version != ty.Version {
		out.Notes = append(out.Notes, fmt.Sprintf("the state has version %d of the schema, and the provider "+
			"has version %d: it can be shown after the next run", r.Version, ty.Version))
		return out, nil
	}
	v, err := ty.FromJSON(r.State)
	if err != nil {
		return out, broken(err)
	}
	var secrets redact.Set
	for _, text := range secretTexts(ty, v) {
		secrets.Add(text)
	}
	all := ty.Attributes(v)
	for _, path := range ty.Sensitive(v) {
		all[top(path)] = hiddenAt(all[top(path)], path[1:])
	}
	cleaned := resource.Map(h.meta.reported(all), func(v any) any {
		if text, is := v.(string); is {
			return secrets.Clean(text, diff.Redacted)
		}
		return v
	})
	out.Attributes, _ = cleaned.(map[string]any)
	return out, nil
}

// hiddenAt returns a value whose part at a path is hidden. If there is no such part, all of it is.
func hiddenAt(v any, path cty.Path) any {
	if len(path) == 0 {
		return provider.Hidden{}
	}
	switch v := v.(type) {
	case map[string]any:
		name := ""
		switch step := path[0].(type) {
		case cty.GetAttrStep:
			name = step.Name
		case cty.IndexStep:
			if step.Key.Type() == cty.String {
				name = step.Key.AsString()
			}
		}
		if _, there := v[name]; !there {
			return provider.Hidden{}
		}
		v[name] = hiddenAt(v[name], path[1:])
		return v
	case []any:
		step, is := path[0].(cty.IndexStep)
		if !is || step.Key.Type() != cty.Number {
			return provider.Hidden{}
		}
		i, _ := step.Key.AsBigFloat().Int64()
		if i < 0 || i >= int64(len(v)) {
			return provider.Hidden{}
		}
		v[i] = hiddenAt(v[i], path[1:])
		return v
	}
	return provider.Hidden{}
}
