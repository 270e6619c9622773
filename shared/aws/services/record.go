package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// facets are the values of a record from which the other items of an instance are derived. A Write
// needs the facets of the record as it was before.
type facets struct {
	rev, events int64
	number      int64 // version of the record
	was         string
	service     string
	created     int64 // microseconds since 1970
	deleted     bool
	shut        bool // no instance may refer to it
	identity    string
	waits       bool // it has tasks
	due         int64
	leads       []string
	follows     string // hash of followed resources and outcome; "": none
	listed      listing
}

// facetsOf returns the facets of a record after a Write.
func facetsOf(r *inventory.Record, events int64) facets {
	f := facets{
		rev: r.Rev, events: events, service: r.Service, created: r.Created.UnixMicro(),
		number:  r.Version,
		deleted: r.Deleted, shut: r.Closed || r.Deleted, leads: r.Leads(), listed: listingOf(r),
	}
	if !r.Deleted {
		f.identity = r.Identity
	}
	if of, some := r.Following(); some {
		sum := sha256.Sum256([]byte(string(of.Outcome) + "\x00" +
			strings.Join(of.Resources, "\x00")))
		f.follows = string(sum[:8])
	}
	if len(r.Tasks) > 0 {
		f.waits, f.due = true, r.Due.UnixMicro()
	}
	return f
}

const maxKnown = 4096

// remember caches the facets of a record that was read or written. A plan uses the cached facets
// only if their revision is the one that the caller read. It also uses the fact that the instance
// exists, which never changes.
func (n *recordItems) remember(env, id string, f facets) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= maxKnown {
		clear(n.known)
	}
	n.known[instanceKey{env, id}] = f
}

func (n *recordItems) remembered(env, id string) (facets, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f, ok := n.known[instanceKey{env, id}]
	return f, ok
}

// stored is a record as it was read, with its facets.
type stored struct {
	inventory.Record
	facets
}

// decode decodes the record of an item, and caches its facets.
func (n *recordItems) decode(env string, i item) (stored, error) {
	var out stored
	if err := n.unpack(i, &out.Record); err != nil {
		return out, err
	}
	out.Rev = attributevalue.NumberOf(i, attrSeq)
	out.facets = facetsOf(&out.Record, attributevalue.NumberOf(i, attrEvents))
	out.was = attributevalue.TextOf(i, attrWas)
	n.remember(env, out.ID, out.facets)
	return out, nil
}

// records reads records by their ids, and omits ids that do not exist. The same request reads
// whether the environment has callbacks.
func (n *recordItems) records(
	ctx context.Context, env string, ids []string,
) (map[string]stored, error) {
	var keys []item
	for _, id := range ids {
		keys = append(keys, key(instancePart(env, id), recordSort))
	}
	if len(keys) == 0 {
		return map[string]stored{}, nil
	}
	items, err := n.getWithCallbacks(ctx, env, keys)
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
func (n *recordItems) recordItem(env string, r *inventory.Record, f *facets) (item, error) {
	body, err := n.pack(r)
	if err != nil {
		return nil, err
	}
	i := key(instancePart(env, r.ID), recordSort)
	i[attrSeq], i[attrEvents] = attributevalue.Number(f.rev), attributevalue.Number(f.events)
	i[attrBody], i[attrWas] = body[attrBody], attributevalue.Text(f.was)
	return i, nil
}

// versionItem returns the item that retains a record's version, and a hash of its content.
func (n *recordItems) versionItem(
	env string, r *inventory.Record,
) (i item, hash string, err error) {
	raw, err := json.Marshal(r.Was())
	if err != nil {
		return nil, "", fault.Wrap(fault.Invalid, opWrite, err)
	}
	sum := sha256.Sum256(raw)
	i = key(instancePart(env, r.ID), versionSort(r.Version))
	i[attrBody] = attributevalue.Blob(n.packer.Pack(raw))
	return i, hex.EncodeToString(sum[:8]), nil
}
