package dynamo

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Agents implements deploy.State. All agents are one item, in a list of lists of what encodeAgent makes.
func (s *State) Agents(ctx context.Context, env string) (map[string]deploy.Agent, error) {
	out, err := s.agents(ctx, env)
	if fault.Is(err, fault.NotFound) { // replaced while it was read
		out, err = s.agents(ctx, env)
	}
	return out, err
}

func (s *State) agents(ctx context.Context, env string) (map[string]deploy.Agent, error) {
	items, err := s.getMany(ctx, []item{keyItem(headPart, headPrefix+env), keyItem(recordPart(env), agentsSort)})
	if err != nil {
		return nil, err
	}
	out := map[string]deploy.Agent{}
	var paused []string
	for _, i := range items {
		if textOf(i, attrPart) == headPart {
			h, err := headOf(env, i)
			if err != nil {
				return nil, err
			}
			paused = h.paused
			continue
		}
		agents, _, err := s.agentsIn(ctx, i)
		if err != nil {
			return nil, err
		}
		for name, a := range agents {
			out[name] = deploy.Agent{Agent: a}
		}
	}
	for _, name := range paused {
		a := out[name]
		a.Name, a.Paused = name, true
		out[name] = a
	}
	return out, nil
}

// agentsIn decodes the item of the agents.
func (s *State) agentsIn(ctx context.Context, i item) (map[string]resource.Agent, entry, error) {
	out := map[string]resource.Agent{}
	if i == nil {
		return out, entry{}, nil
	}
	doc, err := documentIn(i)
	if err != nil {
		return nil, doc, err
	}
	got := []entry{doc}
	if err := s.fetch(ctx, got); err != nil {
		return nil, doc, err
	}
	raw, err := s.pack.unpack(got[0].data)
	if err != nil {
		return nil, doc, err
	}
	d := &dec{b: raw}
	for n := d.len(); n > 0 && !d.bad; n-- {
		a, err := decodeAgent(d.bytes())
		if err != nil {
			return nil, doc, err
		}
		out[a.Name] = a
	}
	if d.bad {
		return nil, doc, damaged("the agents do not decode")
	}
	return out, doc, nil
}

// PutAgents implements deploy.State.
func (s *State) PutAgents(ctx context.Context, env string, agents ...resource.Agent) error {
	if len(agents) == 0 {
		return nil
	}
	return contend(ctx, func() error {
		now, err := s.get(ctx, recordPart(env), agentsSort)
		if err != nil {
			return err
		}
		all, old, err := s.agentsIn(ctx, now)
		if err != nil {
			return err
		}
		for _, a := range agents {
			all[a.Name] = a
		}
		e := &enc{}
		e.len(len(all))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			b, err := encodeAgent(all[name])
			if err != nil {
				return err
			}
			e.bytes(b)
		}
		doc, err := s.documentOf(ctx, e.b)
		if err != nil {
			return err
		}
		seq := numberOf(now, attrSeq)
		i := keyItem(recordPart(env), agentsSort)
		i[attrSeq], i[attrBody] = number(seq+1), blob(doc.encode())
		now, err = s.putOne(ctx, put{seq: seq, item: i})
		if err == errLost && now != nil { //nolint:errorlint // it is never wrapped
			if have, e := documentIn(now); e == nil && have.is(doc.entry) {
				err = nil // our own write, repeated by the SDK
			}
		}
		if err != nil {
			return err
		}
		s.dropObjects(ctx, old)
		return nil
	})
}
