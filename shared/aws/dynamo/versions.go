package dynamo

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// document is a value in an item of its own: compressed, in an object when it is large.
type document struct{ entry }

// documentOf packs raw; a large one is put into an object.
func (s *State) documentOf(ctx context.Context, raw []byte) (document, error) {
	d := document{entry{seq: 1, data: s.pack.pack(raw)}}
	if len(d.data) <= s.limits.inline {
		return d, nil
	}
	d.object = &object{name: newName(), size: len(d.data)}
	if err := s.Objects.Put(ctx, d.name, d.data); err != nil {
		return d, fault.Wrap(fault.Unknown, "write state", err)
	}
	d.data = nil
	return d, nil
}

func (d *document) encode() []byte {
	e := &enc{}
	e.entries([]entry{d.entry})
	return e.b
}

// documentIn returns the document of an item, not yet fetched.
func documentIn(i item) (entry, error) {
	list, err := pageEntries(i)
	if err != nil || len(list) != 1 {
		return entry{}, damaged("item %s does not decode", textOf(i, attrSort))
	}
	return list[0], nil
}

// is reports whether two entries are one write; small ones are when they are equal.
func (x entry) is(y entry) bool {
	if x.object == nil || y.object == nil {
		return x.object == nil && y.object == nil && bytes.Equal(x.data, y.data)
	}
	return x.name == y.name
}

// dropObjects removes the object of a document that is not used any more, if it has one.
func (s *State) dropObjects(ctx context.Context, entries ...entry) {
	var names []string
	for _, x := range entries {
		if x.object != nil && x.name != "" {
			names = append(names, x.name)
		}
	}
	if len(names) > 0 {
		_ = s.Objects.Delete(context.WithoutCancel(ctx), names...) // what stays is named by nothing
	}
}

// PutVersion implements deploy.State.
func (s *State) PutVersion(ctx context.Context, env string, v deploy.Version) error {
	raw, err := encodeVersion(v)
	if err != nil {
		return err
	}
	d, err := s.documentOf(ctx, raw)
	if err != nil {
		return err
	}
	i := keyItem(versionPart(env), versionSort(v.Number))
	i[attrSeq], i[attrBody] = number(1), blob(d.encode())
	now, err := s.putOne(ctx, put{item: i})
	if err != errLost { //nolint:errorlint // it is never wrapped
		return err
	}
	if have, e := documentIn(now); now != nil && e == nil && have.is(d.entry) {
		return nil // our own write, repeated by the SDK
	}
	return fault.New(fault.Conflict, "write version", "version %d exists", v.Number)
}

// storedVersion is a version with the options of its agents in a form that keeps every kind of value.
type storedVersion struct {
	deploy.Version
	Agents []string
}

func encodeVersion(v deploy.Version) ([]byte, error) {
	out := storedVersion{Version: v}
	for _, a := range v.Agents {
		b, err := encodeAgent(a)
		if err != nil {
			return nil, err
		}
		out.Agents = append(out.Agents, string(b))
	}
	raw, err := json.Marshal(out)
	return raw, fault.Wrap(fault.Internal, "encode version", err)
}

func decodeVersion(raw []byte) (deploy.Version, error) {
	var in storedVersion
	if err := json.Unmarshal(raw, &in); err != nil {
		return in.Version, damaged("a version does not decode: %v", err)
	}
	out := in.Version
	out.Agents = nil
	for _, text := range in.Agents {
		a, err := decodeAgent([]byte(text))
		if err != nil {
			return out, err
		}
		out.Agents = append(out.Agents, a)
	}
	return out, nil
}

// encodeAgent and decodeAgent keep references to secrets and the kinds of numbers.
func encodeAgent(a resource.Agent) ([]byte, error) {
	record := map[string]any{"name": a.Name, "transport": a.Transport, "lanes": int64(a.Lanes)}
	if a.Options != nil {
		record["options"] = a.Options
	}
	b, err := resource.CanonicalValue(record)
	return b, fault.Wrap(fault.Internal, "encode agent", err)
}

func decodeAgent(b []byte) (resource.Agent, error) {
	raw, err := resource.DecodeValue(b)
	m, ok := raw.(map[string]any)
	if err != nil || !ok {
		return resource.Agent{}, damaged("an agent does not decode: %v", err)
	}
	var a resource.Agent
	a.Name, _ = m["name"].(string)
	a.Transport, _ = m["transport"].(string)
	lanes, _ := m["lanes"].(int64)
	a.Lanes = int(lanes)
	a.Options, _ = m["options"].(map[string]any)
	return a, nil
}

// Versions implements deploy.State.
func (s *State) Versions(ctx context.Context, env string, numbers ...int) ([]deploy.Version, error) {
	items, err := s.versionItems(ctx, env, numbers)
	if err != nil {
		return nil, err
	}
	docs := make([]entry, len(items))
	for i := range items {
		if docs[i], err = documentIn(items[i]); err != nil {
			return nil, err
		}
	}
	if err := s.fetch(ctx, docs); err != nil {
		return nil, err
	}
	var out []deploy.Version
	for _, d := range docs {
		raw, err := s.pack.unpack(d.data)
		if err != nil {
			return nil, err
		}
		v, err := decodeVersion(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b deploy.Version) int { return a.Number - b.Number })
	return out, nil
}

func (s *State) versionItems(ctx context.Context, env string, numbers []int) ([]item, error) {
	var out []item
	switch len(numbers) {
	case 0:
		err := s.query(ctx, partition(versionPart(env), "", true), func(i item) (bool, error) {
			out = append(out, i)
			return true, nil
		})
		return out, err
	case 1:
		i, err := s.get(ctx, versionPart(env), versionSort(numbers[0]))
		if i != nil {
			out = append(out, i)
		}
		return out, err
	}
	return s.getMany(ctx, versionKeys(env, numbers))
}

func versionKeys(env string, numbers []int) []item {
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	keys := make([]item, len(numbers))
	for i, n := range numbers {
		keys[i] = keyItem(versionPart(env), versionSort(n))
	}
	return keys
}

// DropVersions implements deploy.State.
func (s *State) DropVersions(ctx context.Context, env string, numbers ...int) error {
	if len(numbers) == 0 {
		return nil
	}
	items, err := s.versionItems(ctx, env, numbers)
	if err != nil {
		return err
	}
	if err := s.deleteMany(ctx, versionKeys(env, numbers)); err != nil {
		return err
	}
	for _, i := range items {
		if d, err := documentIn(i); err == nil {
			s.dropObjects(ctx, d)
		}
	}
	return nil
}
