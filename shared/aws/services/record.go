package services

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/aws/attr"
	"southbound/shared/service/inventory"
)

// facets are what the items beside a record follow from: what a Write must know of the record as it
// was.
type facets struct {
	rev, events int64
	service     string
	created     int64 // microseconds since 1970
	version     int   // of the service
	state       string
	deleted     bool
	shut        bool // nobody may refer to it
	identity    string
	waits       bool // it has tasks
	due         int64
	leads       []string
}

// facetsOf returns what a record comes to after a Write.
func facetsOf(r *inventory.Record, events int64) facets {
	f := facets{
		rev: r.Rev, events: events, service: r.Service, created: r.Created.UnixMicro(),
		version: r.ServiceVersion, state: r.State, deleted: r.Deleted, shut: r.Closed || r.Deleted, leads: r.Leads(),
	}
	if !r.Deleted {
		f.identity = r.Identity
	}
	if len(r.Tasks) > 0 {
		f.waits, f.due = true, r.Due.UnixMicro()
	}
	return f
}

const mostKnown = 4096

// remember keeps what was read or written. It is used only while it has the revision that somebody
// else has read, or for what never changes.
func (n *Instances) remember(env, id string, f facets) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= mostKnown {
		clear(n.known)
	}
	n.known[instanceKey{env, id}] = f
}

func (n *Instances) remembered(env, id string) (facets, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f, ok := n.known[instanceKey{env, id}]
	return f, ok
}

// stored is a record as it was read.
type stored struct {
	inventory.Record
	facets
}

// decode reads the record of an item, and remembers it.
func (n *Instances) decode(env string, i item) (stored, error) {
	var out stored
	if err := n.unpack(i, &out.Record); err != nil {
		return out, err
	}
	out.Rev = attr.NumberOf(i, attrSeq)
	out.facets = facetsOf(&out.Record, attr.NumberOf(i, attrEvents))
	n.remember(env, out.ID, out.facets)
	return out, nil
}

// records reads records, by their ids; those that do not exist are left out.
func (n *Instances) records(
	ctx context.Context, env string, ids []string,
) (map[string]stored, error) {
	var keys []item
	for _, id := range ids {
		keys = append(keys, key(instancePart(env, id), recordSort))
	}
	items, err := n.getMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := map[string]stored{}
	for _, i := range items {
		r, err := n.decode(env, i)
		if err != nil {
			return nil, err
		}
		out[r.ID] = r
	}
	return out, nil
}

// recordItem returns the item of a record.
func (n *Instances) recordItem(env string, r *inventory.Record, f *facets) (item, error) {
	body, err := n.pack(r)
	if err != nil {
		return nil, err
	}
	i := key(instancePart(env, r.ID), recordSort)
	i[attrSeq], i[attrEvents] = attr.Number(f.rev), attr.Number(f.events)
	i[attrBody] = body[attrBody]
	return i, nil
}

// eventsItem returns the item of events, the last of which has a number.
func (n *Instances) eventsItem(
	env, id string, events []inventory.Event, last int64,
) (item, error) {
	numbered := slices.Clone(events)
	for i := range numbered {
		numbered[i].Seq = last - int64(len(numbered)-1-i)
	}
	body, err := n.pack(numbered)
	if err != nil {
		return nil, err
	}
	out := key(instancePart(env, id), eventsSort(last))
	maps.Copy(out, body)
	return out, nil
}
