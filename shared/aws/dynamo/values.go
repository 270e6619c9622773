package dynamo

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/attributevalue"
)

// partSize is the size in bytes of a part of a large value.
const partSize = 300 << 10

// partKey returns the key of a part of the value of an item. Parts are in a partition of their own,
// so that queries do not read them.
func partKey(of key, name string, n int) key {
	return key{"p" + of.part, fmt.Sprintf("%s/%03d", name, n)}
}

// value names the attributes of a value: its bytes or, if it is stored in parts, their name and
// number.
type value struct{ bytes, name, count string }

// values are the values that may be stored in parts.
func values() []value {
	return []value{{attrBody, attrWide, attrCount}, {attrLists, attrListsWide, attrListsCount}}
}

// wide moves large values out of an item that is about to be written, and returns the writes of
// their parts.
func (s *store) wide(i item) []op {
	var out []op
	for _, v := range values() {
		b := attributevalue.BytesOf(i, v.bytes)
		limit := s.limits.Value
		if v.bytes == attrLists {
			limit = min(limit, maxLists)
		}
		if len(b) <= limit {
			continue
		}
		name, of := s.newName(), keyOf(i)
		delete(i, v.bytes)
		i[v.name] = attributevalue.Text(name)
		i[v.count] = attributevalue.Number((len(b) + partSize - 1) / partSize)
		for n := 0; len(b) > 0; n++ {
			size := min(partSize, len(b))
			part := partKey(of, name, n).item()
			part[attrBody] = attributevalue.Blob(b[:size])
			out = append(out, op{key: keyOf(part), item: part, always: true})
			b = b[size:]
		}
	}
	return out
}

// of returns the keys of the parts of a value of a stored item.
func (v *value) of(i item) []key {
	name := attributevalue.TextOf(i, v.name)
	if name == "" {
		return nil
	}
	out := make([]key, attributevalue.NumberOf(i, v.count))
	for n := range out {
		out[n] = partKey(keyOf(i), name, n)
	}
	return out
}

// parts returns the keys of all parts of a stored item.
func parts(i item) []key {
	var out []key
	for _, v := range values() {
		out = append(out, v.of(i)...)
	}
	return out
}

// replace returns the writes that replace the item old, which may be nil, by the item of a write of
// the same key, or remove it. The parts of values belong to them; parts that both items name stay.
func (s *store) replace(old item, o op) []op {
	var out []op
	if o.item != nil {
		out = s.wide(o.item)
	}
	kept := parts(o.item)
	for _, k := range parts(old) {
		if !slices.Contains(kept, k) {
			out = append(out, op{key: k, always: true})
		}
	}
	return append(out, o)
}

// whole adds the values of items that are stored in parts. If a part is missing, the item was
// replaced during the read, and whole returns errLost.
func (s *store) whole(ctx context.Context, list []item) error {
	var keys []key
	for _, i := range list {
		keys = append(keys, parts(i)...)
	}
	if len(keys) == 0 {
		return nil
	}
	got, err := s.getMany(ctx, keys)
	if err != nil {
		return err
	}
	for _, i := range list {
		for _, v := range values() {
			var b []byte
			for _, k := range v.of(i) {
				part := got[k]
				if part == nil {
					return errLost
				}
				b = append(b, attributevalue.BytesOf(part, attrBody)...)
			}
			if b != nil {
				i[v.bytes] = attributevalue.Blob(b)
			}
		}
	}
	return nil
}

// get reads items strongly, with their values, by key.
func (s *store) get(ctx context.Context, keys ...key) (out map[key]item, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	err = s.contend(ctx, func() error {
		if out, err = s.getMany(ctx, keys); err != nil {
			return err
		}
		list := make([]item, 0, len(out))
		for _, i := range out {
			list = append(list, i)
		}
		return s.whole(ctx, list)
	})
	return out, err
}

// list reads the items of a partition whose sort key begins with a prefix, with their values, in
// order.
func (s *store) list(ctx context.Context, part, prefix string) ([]item, error) {
	return s.listBy(ctx, 0, func() *dynamodb.QueryInput { return partition(part, prefix, true) })
}

// listBy reads up to limit items of a query, with their values; 0: all.
func (s *store) listBy(
	ctx context.Context, limit int, query func() *dynamodb.QueryInput,
) (out []item, err error) {
	err = s.contend(ctx, func() error {
		out = nil
		err := s.query(ctx, query(), func(i item) (bool, error) {
			out = append(out, i)
			return len(out) != limit, nil
		})
		if err != nil {
			return err
		}
		return s.whole(ctx, out)
	})
	return out, err
}
