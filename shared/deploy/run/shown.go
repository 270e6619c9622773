package run

import (
	"context"
	"encoding/json"
	"math/big"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/redact"
	"southbound/shared/resource"
)

// ShowKept returns the kept state of a row for people, without secrets. It is empty if the handler shows
// no states. If the state cannot be shown here, a note is the reason.
func (n *Runner) ShowKept(
	ctx context.Context, env string, row *state.Row, k *state.Kept,
) provider.ShownKept {
	var session Session
	defer session.Close()
	r := n.NewRun(ctx, env, row, nil, &session)
	if r.Over() {
		if r.res == nil {
			return notShown(r.Reason)
		}
		if _, declared := model.DeclaredBy(r.res); declared {
			return notShown(r.Reason)
		}
		return provider.ShownKept{}
	}
	shower, is := provider.As[provider.KeptShower](r.handler)
	if !is {
		return provider.ShownKept{}
	}
	if n.Sealer == nil {
		return notShown("this program has no key to open it")
	}
	opened, err := n.Sealer.Open(ctx, env, k.ID, k.Sealed)
	if err != nil {
		return notShown(err.Error())
	}
	plain, err := state.DecodePlain(opened)
	if err != nil {
		return notShown(err.Error())
	}
	of := provider.Resource{ID: r.res.ID, Type: r.res.Type, Agent: r.res.Agent,
		Attributes: r.res.Attributes, Purged: r.res.Purged}
	shown, err := shower.ShowKept(ctx, of, plain.State)
	if err != nil {
		return notShown(err.Error())
	}
	return withoutSecrets(shown, row, r.res, plain.Outputs)
}

func notShown(why string) provider.ShownKept {
	return provider.ShownKept{Notes: []string{"its contents are not shown: " + why}}
}

// withoutSecrets hides the attributes that have, or had, a secret in the documents, and their texts and
// those of the outputs wherever they are.
func withoutSecrets(
	shown provider.ShownKept, row *state.Row, res *resource.Resource, outputs []byte,
) provider.ShownKept {
	var secrets redact.Set
	var known any
	if len(outputs) > 0 && json.Unmarshal(outputs, &known) != nil {
		return notShown("its secret outputs are damaged")
	}
	add := func(v any) any {
		if text, is := v.(string); is {
			secrets.Add(text)
		}
		return v
	}
	resource.Map(known, add)
	out := provider.ShownKept{Attributes: map[string]any{}}
	for name, v := range shown.Attributes {
		if slices.Contains(row.Hidden, name) || resource.HasSecret(res.Attributes[name]) {
			resource.Map(v, add)
			v = provider.Hidden{}
		}
		out.Attributes[name] = v
	}
	for name, v := range out.Attributes {
		out.Attributes[name] = resource.Map(v, func(v any) any {
			switch v := v.(type) {
			case provider.Hidden:
				return diff.Redacted
			case string:
				return secrets.Clean(v, diff.Redacted)
			case *big.Int:
				return json.Number(v.String())
			}
			return v
		})
	}
	for _, note := range shown.Notes {
		out.Notes = append(out.Notes, secrets.Clean(note, diff.Redacted))
	}
	return out
}
