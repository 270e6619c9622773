package dynamo

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Agents implements state.State. One item holds all agents; the head holds the names of paused
// agents.
func (s *environments) Agents(
	ctx context.Context,
	env string,
	names ...string,
) (map[string]state.Agent, error) {
	_, out, err := s.headAndAgents(ctx, env)
	maps.DeleteFunc(
		out,
		func(name string, _ state.Agent) bool {
			return len(names) > 0 && !slices.Contains(names, name)
		},
	)
	return out, err
}

// headAndAgents reads the head and the agents in one request. A commit may be in the middle of its
// roll-forward.
func (s *environments) headAndAgents(
	ctx context.Context, env string,
) (h *head, out map[string]state.Agent, err error) {
	err = s.reread(ctx, func() (docs []entry, err error) { // a document may be replaced
		h, out, docs, err = s.agents(ctx, env)
		return docs, err
	})
	return h, out, err
}

// settledHead returns the head without a pending roll-forward, and the agents of the same moment or
// later. If a commit is pending, settledHead finishes it. One request reads its items in any order.
// So the agents are known to be no older only if the head is the one that this process knew before.
// A process that has just taken a lease knows the head.
func (s *environments) settledHead(
	ctx context.Context, env string,
) (*head, map[string]state.Agent, error) {
	before := s.headKnown(env)
	h, out, err := s.headAndAgents(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	if before != nil && before.seq == h.seq && !h.pending {
		return h, out, nil
	}
	if h, err = s.readHead(ctx, env); err != nil {
		return nil, nil, err
	}
	_, out, err = s.headAndAgents(ctx, env)
	return h, out, err
}

// agents reads the head and the agents. If the document of the agents is missing, it also returns
// the entry that names it.
func (s *environments) agents(
	ctx context.Context,
	env string,
) (*head, map[string]state.Agent, []entry, error) {
	items, err := s.getMany(
		ctx,
		[]item{keyItem(headPart, headPrefix+env), keyItem(recordPart(env), agentsSort)},
	)
	if err != nil {
		return nil, nil, nil, err
	}
	h, out := &head{name: env}, map[string]state.Agent{}
	for _, i := range items {
		if attributevalue.TextOf(i, attrPart) == headPart {
			if h, err = headOf(env, i); err != nil {
				return nil, nil, nil, err
			}
			continue
		}
		list, doc, err := s.agentsIn(ctx, i)
		if err != nil {
			return nil, nil, []entry{doc}, err
		}
		for _, a := range list {
			out[a.Name] = state.Agent{Agent: a}
		}
	}
	for _, name := range h.paused {
		a := out[name]
		a.Name, a.Paused = name, true
		out[name] = a
	}
	return h, out, nil, nil
}

// agentsIn decodes the item of the agents.
func (s *storage) agentsIn(ctx context.Context, i item) ([]resource.Agent, entry, error) {
	if i == nil {
		return nil, entry{}, nil
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
	var out []resource.Agent
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, doc, damaged("the agents do not decode: %v", err)
	}
	return out, doc, nil
}

// agents prepares the item of the agents, with the changes of the commit.
func (d *draft) agents(ctx context.Context) error {
	if len(d.in.Agents)+len(d.in.DropAgents) == 0 {
		return nil
	}
	part, sort := recordPart(d.env), agentsSort
	now, err := d.s.get(ctx, part, sort)
	if err != nil {
		return err
	}
	list, old, err := d.s.agentsIn(ctx, now)
	if fault.Is(err, fault.NotFound) {
		return errLost // replaced during the read
	}
	if err != nil {
		return err
	}
	all := map[string]resource.Agent{}
	for _, a := range list {
		all[a.Name] = a
	}
	for _, name := range d.in.DropAgents {
		delete(all, name)
	}
	for _, a := range d.in.Agents {
		all[a.Name] = a
	}
	list = slices.SortedFunc(
		maps.Values(all),
		func(a, b resource.Agent) int { return strings.Compare(a.Name, b.Name) },
	)
	raw, err := json.Marshal(list)
	if err != nil {
		return fault.Wrap(fault.Internal, "encode agents", err)
	}
	doc, err := d.s.documentOf(ctx, raw)
	if err != nil {
		return err
	}
	seq := attributevalue.NumberOf(now, attrSeq)
	i := keyItem(part, sort)
	i[attrSeq], i[attrBody] = attributevalue.Number(seq+1), attributevalue.Blob(doc.encode())
	d.more = append(d.more, put{part: part, sort: sort, seq: seq, item: i})
	d.objects = append(d.objects, old)
	return nil
}
