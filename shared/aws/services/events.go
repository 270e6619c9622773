package services

import (
	"context"
	"maps"
	"strings"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/inventory"
)

// textsOf ends the sort key of the texts of an item of events. One query reads both, and the texts
// follow the events.
const textsOf = "/t"

// eventsItems returns the item of events, and the item of the texts of their compiles, which
// DynamoDB removes when they are old; nil if there are none. The last event has the number last.
func (n *recordItems) eventsItems(
	env, id string, events []inventory.Event, last int64,
) (happened, said item, err error) {
	var numbered []inventory.Event
	var texts []inventory.Texts
	for i, e := range events {
		e.Seq = last - int64(len(events)-1-i)
		e, t, some := e.Apart()
		numbered = append(numbered, e)
		if some {
			texts = append(texts, t)
		}
	}
	body, err := n.pack(numbered)
	if err != nil {
		return nil, nil, err
	}
	happened = key(instancePart(env, id), eventsSort(last))
	maps.Copy(happened, body)
	if len(texts) == 0 {
		return happened, nil, nil
	}
	if body, err = n.pack(texts); err != nil {
		return nil, nil, err
	}
	said = key(instancePart(env, id), eventsSort(last)+textsOf)
	maps.Copy(said, body)
	expires := texts[len(texts)-1].At.Add(inventory.CompileKept).Unix() + 1
	said[attrExpires] = attributevalue.Number(expires)
	return happened, said, nil
}

// Events implements inventory.Store.
func (n *Instances) Events(
	ctx context.Context, env, id string, after int64, limit int,
) ([]inventory.Event, error) {
	var out []inventory.Event
	var damaged error
	limit = inventory.Page(limit)
	err := n.query(ctx, nil, instancePart(env, id), eventsSort(max(after, 0)+1), eventsEnd,
		func(i item) bool {
			if strings.HasSuffix(attributevalue.TextOf(i, attrSort), textsOf) {
				damaged = n.join(i, out)
				return damaged == nil
			}
			if len(out) >= limit {
				return false
			}
			var events []inventory.Event
			damaged = n.unpack(i, &events)
			for _, e := range events { // the first may precede the place
				if e.Seq > after && len(out) < limit {
					out = append(out, e)
				}
			}
			return damaged == nil
		})
	if err != nil {
		return nil, err
	}
	return out, damaged
}

// join gives events their texts of an item. Events have no gaps.
func (n *recordItems) join(i item, events []inventory.Event) error {
	var texts []inventory.Texts
	if err := n.unpack(i, &texts); err != nil || len(events) == 0 {
		return err
	}
	for _, t := range texts {
		if at := t.Seq - events[0].Seq; at >= 0 && at < int64(len(events)) {
			events[at] = events[at].With(t)
		}
	}
	return nil
}
