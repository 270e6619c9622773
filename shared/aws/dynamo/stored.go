package dynamo

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Outbox implements state.State.
func (s *rows) Outbox(ctx context.Context, env string, limit int) ([]state.Outbox, error) {
	list, err := s.list(ctx, outboxPart(env), "")
	if err != nil {
		return nil, err
	}
	out, err := readAll[state.Outbox](s.store, list)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b state.Outbox) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(limit, len(out))], nil
}

// Parameters implements state.State.
func (s *rows) Parameters(
	ctx context.Context, env string, q state.ParameterQuery,
) ([]state.Parameter, error) {
	list, err := s.parameterItems(ctx, env, &q)
	if err != nil {
		return nil, err
	}
	var out []state.Parameter
	for _, i := range list {
		var p state.Parameter
		if err := s.readJSON(i, &p); err != nil {
			return nil, err
		}
		if q.Of == "" || p.Of == q.Of {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b state.Parameter) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

func (s *rows) parameterItems(
	ctx context.Context, env string, q *state.ParameterQuery,
) ([]item, error) {
	if len(q.Keys) > 0 {
		keys := make([]key, len(q.Keys))
		for i, k := range q.Keys {
			keys[i] = parameterKey(env, k)
		}
		got, err := s.get(ctx, keys...)
		return slices.Collect(maps.Values(got)), err
	}
	begin := parameterPrefix
	if q.Facts {
		begin = factPrefix
		if of := factPrefix + string(q.Of); q.Of != "" && short(of+"\x00") == of+"\x00" {
			begin = of
		}
	}
	return s.list(ctx, parameterPart(env), begin)
}

// versions reads versions.
type versions struct{ *store }

// Versions implements state.State.
func (s *versions) Versions(
	ctx context.Context, env string, numbers ...int,
) ([]state.Version, error) {
	var list []item
	var err error
	if len(numbers) == 0 {
		list, err = s.list(ctx, versionPart(env), "")
	} else {
		keys := make([]key, len(numbers))
		for i, n := range numbers {
			keys[i] = versionKey(env, n)
		}
		var got map[key]item
		got, err = s.get(ctx, keys...)
		list = slices.Collect(maps.Values(got))
	}
	if err != nil {
		return nil, err
	}
	out, err := readAll[state.Version](s.store, list)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b state.Version) int { return a.Number - b.Number })
	return out, nil
}

// Agents implements state.State. One item holds all agents; the head holds the names of paused
// agents.
func (s *environments) Agents(
	ctx context.Context, env string, names ...string,
) (map[string]state.Agent, error) {
	_, out, err := s.headAndAgents(ctx, env, true)
	maps.DeleteFunc(out, func(name string, _ state.Agent) bool {
		return len(names) > 0 && !slices.Contains(names, name)
	})
	return out, err
}

// headAndAgents reads the head and, if describe is set, the agents in the same request.
func (s *store) headAndAgents(
	ctx context.Context, env string, describe bool,
) (*head, map[string]state.Agent, error) {
	keys := []key{headKey(env)}
	if describe {
		keys = append(keys, agentsKey(env))
	}
	got, err := s.get(ctx, keys...)
	if err != nil {
		return nil, nil, err
	}
	h, err := s.headOf(env, got[headKey(env)])
	if err != nil {
		return nil, nil, err
	}
	var list []resource.Agent
	if err := s.readJSON(got[agentsKey(env)], &list); err != nil {
		return nil, nil, err
	}
	out := map[string]state.Agent{}
	for _, a := range list {
		out[a.Name] = state.Agent{Agent: a}
	}
	for _, name := range h.Paused {
		a := out[name]
		a.Name, a.Paused = name, true
		out[name] = a
	}
	return h, out, nil
}

// keeps reads the states that handlers keep. The id and the revisions are attributes, the sealed
// state is the content.
type keeps struct{ *store }

const (
	attrKept     = "i" // the id of the resource
	attrRevision = "v"
	attrOutputs  = "o" // the revision of the secret outputs; absent: there are none
)

// keptItem returns the item of a kept state.
func (s *store) keptItem(env string, k *state.Kept) item {
	i := s.setBody(keptKey(env, k.ID).item(), k.Sealed)
	i[attrKept] = attributevalue.Text(string(k.ID))
	i[attrRevision] = attributevalue.Text(k.Revision)
	if k.Outputs != "" {
		i[attrOutputs] = attributevalue.Text(k.Outputs)
	}
	return i
}

func keptKeys(env string, ids []resource.ID) []key {
	out := make([]key, len(ids))
	for i, id := range ids {
		out[i] = keptKey(env, id)
	}
	return out
}

// Kept implements state.Keeps.
func (s *keeps) Kept(ctx context.Context, env string, ids []resource.ID) ([]state.Kept, error) {
	got, err := s.get(ctx, keptKeys(env, ids)...)
	if err != nil {
		return nil, err
	}
	var out []state.Kept
	for _, i := range got {
		k := state.Kept{ID: resource.ID(attributevalue.TextOf(i, attrKept)),
			Revision: attributevalue.TextOf(i, attrRevision),
			Outputs:  attributevalue.TextOf(i, attrOutputs)}
		if k.Sealed, err = s.body(i); err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// KeptOutputs implements state.Keeps.
func (s *keeps) KeptOutputs(
	ctx context.Context, env string, ids []resource.ID,
) (map[resource.ID]string, error) {
	got, err := s.getMany(ctx, keptKeys(env, ids))
	out := map[resource.ID]string{}
	for _, i := range got {
		if revision := attributevalue.TextOf(i, attrOutputs); revision != "" {
			out[resource.ID(attributevalue.TextOf(i, attrKept))] = revision
		}
	}
	return out, err
}

// KeptIDs implements state.Keeps.
func (s *keeps) KeptIDs(ctx context.Context, env string) ([]resource.ID, error) {
	var out []resource.ID
	err := s.query(ctx, partition(keptPart(env), "", true), func(i item) (bool, error) {
		out = append(out, resource.ID(attributevalue.TextOf(i, attrKept)))
		return true, nil
	})
	slices.Sort(out)
	return out, err
}
