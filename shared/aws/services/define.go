package services

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/definition"
)

// Put implements definition.Store. It writes two kinds of items before it replaces the offer: new
// texts, and notes about definitions that the new offer drops. Texts are invisible until the offer
// names them. The notes are true whether the offer is replaced or not.
func (d *Definitions) Put(
	ctx context.Context, env, bundle string, services []definition.Service,
) error {
	if err := definition.CheckPut(bundle, services); err != nil {
		return err
	}
	next, bodies := offer{Bundle: bundle}, map[string][]byte{}
	for i := range services {
		s := &services[i]
		digest, body, err := s.Text()
		if err != nil {
			return err
		}
		bodies[digest] = body
		next.Services = append(next.Services,
			offered{Name: s.Name, Version: s.Version, Default: s.Default, Digest: digest})
	}
	for try := 0; ; try++ {
		if err := d.pause(ctx, opWrite, try); err != nil {
			return err
		}
		now, err := d.offer(ctx, env)
		if err != nil {
			return err
		}
		if err := d.checkLive(ctx, env, now, &next); err != nil {
			return err
		}
		next.Models = definition.Newest(bundle, now.Models)
		if err := d.write(ctx, d.before(env, now, &next, bodies)); err != nil {
			return err
		}
		again, err := d.replace(ctx, env, now, next)
		if err == nil && !again {
			d.markAfter(ctx, env)
		}
		if err != nil || !again {
			return err
		}
	}
}

// checkLive rejects an offer that drops a version which instances have.
func (d *Definitions) checkLive(ctx context.Context, env string, now, next *offer) error {
	left := map[string][]int{} // versions, by the name of the service
	for i := range now.Services {
		was := &now.Services[i]
		if next.find(func(one *offered) bool {
			return one.Name == was.Name && one.Version == was.Version
		}) < 0 {
			left[was.Name] = append(left[was.Name], was.Version)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		live := map[int]int{}
		for shard := range shards {
			err := d.query(ctx, nil, listPart(env, shard, false), listSort(name, ""), name+"0",
				func(i item) bool {
					if service, _,
						_ := listed(attributevalue.TextOf(i, attrSort)); service == name {
						live[int(attributevalue.NumberOf(i, attrVer))]++
					}
					return true
				})
			if err != nil {
				return err
			}
		}
		slices.Sort(left[name])
		for _, version := range left[name] {
			if live[version] > 0 {
				return definition.ErrLive(name, version, live[version])
			}
		}
	}
	return nil
}

// before returns the items to write before the offer is replaced. They are new texts, and the
// bundle of each definition that the next offer drops.
func (d *Definitions) before(env string, now, next *offer, bodies map[string][]byte) []item {
	offers := func(o *offer, digest string) bool {
		return o.find(func(one *offered) bool { return one.Digest == digest }) >= 0
	}
	var out []item
	for _, digest := range slices.Sorted(maps.Keys(bodies)) {
		if !offers(now, digest) {
			i := key(textPart(env), textSort+digest)
			i[attrBody] = attributevalue.Blob(d.packer.Pack(bodies[digest]))
			out = append(out, i)
		}
		d.keep(digest, bodies[digest])
	}
	gone := map[string]bool{}
	for i := range now.Services {
		digest := now.Services[i].Digest
		if gone[digest] || offers(next, digest) {
			continue
		}
		gone[digest] = true
		i := droppedKey(env, digest, now.seq)
		i[attrID] = attributevalue.Text(now.Bundle)
		out = append(out, i)
	}
	return out
}

// write writes items that never change, in requests of up to 25 items and 4 MB each.
func (d *Definitions) write(ctx context.Context, items []item) error {
	const limit, bytes = 25, 4 << 20
	for len(items) > 0 {
		var reqs []types.WriteRequest
		for size := 0; len(items) > 0 && len(reqs) < limit; items = items[1:] {
			if size += len(attributevalue.BytesOf(items[0], attrBody)); size > bytes &&
				len(reqs) > 0 {
				break
			}
			reqs = append(reqs, types.WriteRequest{PutRequest: &types.PutRequest{Item: items[0]}})
		}
		if err := d.batch(ctx, reqs); err != nil {
			return err
		}
	}
	return nil
}

// replace replaces the offer of the environment. If another process has replaced the offer since it
// was read, again is true.
func (d *Definitions) replace(
	ctx context.Context, env string, now *offer, next offer,
) (again bool, err error) {
	i, err := d.pack(&next)
	if err != nil {
		return false, err
	}
	maps.Copy(i, key(offerPart, env))
	i[attrSeq] = attributevalue.Number(now.seq + 1)
	put := &types.Put{
		TableName: &d.Table, Item: i, ConditionExpression: aws.String("attribute_not_exists(k)"),
	}
	if now.seq > 0 {
		put.ConditionExpression = aws.String("n = :n")
		put.ExpressionAttributeValues = item{":n": attributevalue.Number(now.seq)}
	}
	reasons, err := d.transact(ctx, []types.TransactWriteItem{{Put: put}})
	for _, r := range reasons {
		if err := failed(r); err != nil {
			return false, err
		}
	}
	return len(reasons) > 0, err
}
