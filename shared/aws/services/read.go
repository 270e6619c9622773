package services

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// Instance implements inventory.Store.
func (n *Instances) Instance(ctx context.Context, env, id string) (inventory.Record, error) {
	found, err := n.records(ctx, env, []string{id})
	if err != nil {
		return inventory.Record{}, err
	}
	r, ok := found[id]
	if !ok {
		return inventory.Record{}, fault.New(fault.NotFound, opRead, "there is no instance %s", id)
	}
	return r.Record, nil
}

// ByIdentity implements inventory.Store.
func (n *Instances) ByIdentity(
	ctx context.Context, env, service, identity string,
) (inventory.Record, error) {
	for try := 0; ; try++ {
		if err := n.pause(ctx, opRead, try); err != nil {
			return inventory.Record{}, err
		}
		i, err := n.get(ctx, identityPart(env, service, identity), recordSort)
		if err != nil {
			return inventory.Record{}, err
		}
		if i == nil {
			return inventory.Record{}, fault.New(fault.NotFound, opRead,
				"there is no instance of %s with the identity %s", service, identity)
		}
		r, err := n.Instance(ctx, env, attributevalue.TextOf(i, attrID))
		if err != nil {
			return inventory.Record{}, err
		}
		if r.Service == service && r.Identity == identity && !r.Deleted {
			return r, nil
		} // the instance gave up its identity between the two reads
	}
}

// ReferredBy implements inventory.Store.
func (n *Instances) ReferredBy(ctx context.Context, env, id string) ([]string, error) {
	var out []string
	err := n.query(ctx, nil, instancePart(env, id), leadSort, leadsEnd, func(i item) bool {
		out = append(out, strings.TrimPrefix(attributevalue.TextOf(i, attrSort), leadSort))
		return true
	})
	return out, err
}

// Owners implements inventory.Owners.
func (n *Instances) Owners(
	ctx context.Context, env string, ids []string,
) (live, gone []string, err error) {
	records, err := n.records(ctx, env, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		switch r, ok := records[id]; {
		case ok && r.Deleted:
			gone = append(gone, id)
		case ok:
			live = append(live, id)
		}
	}
	return live, gone, nil
}

// Versions implements inventory.Store.
func (n *Instances) Versions(
	ctx context.Context, env, id string, after int64, limit int,
) ([]inventory.Record, error) {
	var out []inventory.Record
	var damaged error
	limit = inventory.Versions(limit)
	in := &dynamodb.QueryInput{Limit: aws.Int32(int32(limit))} // at most a page
	err := n.query(ctx, in, instancePart(env, id), versionSort(max(after, 0)+1), wasEnd,
		func(i item) bool {
			var r inventory.Record
			damaged = n.unpack(i, &r)
			out = append(out, r)
			return damaged == nil && len(out) < limit
		})
	if err != nil {
		return nil, err
	}
	return out, damaged
}
