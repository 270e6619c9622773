package services

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/fault"
	"southbound/shared/service/callback"
	"southbound/shared/service/inventory"
)

// maxItems is the maximum number of items in a transaction.
const maxItems = 100

// hasCallbacks reports whether the environment of a plan has callbacks. If the cache has no entry
// for the environment, hasCallbacks reads the table.
func (p *plan) hasCallbacks(ctx context.Context) (bool, error) {
	some, ok := p.Cache.known(p.env)
	if ok {
		return some, nil
	}
	i, err := p.get(ctx, callbacksPart, p.env)
	if err != nil {
		return false, err
	}
	p.Cache.note(p.env, i)
	some, _ = p.Cache.known(p.env)
	return some, nil
}

// pending adds the items of pending events, if the environment has callbacks.
func (p *plan) pending(ctx context.Context) error {
	some, err := p.hasCallbacks(ctx)
	if !some || err != nil {
		return err
	}
	for i := range p.changes {
		if len(p.changes[i].Events) == 0 {
			continue
		}
		r, last := &p.changes[i].Record, p.after[i].events
		it := key(pendingPart(p.env), pendingSort(r.ID, last))
		it[attrService], it[attrSeq] = attributevalue.Text(r.Service),
			attributevalue.Number(p.before[i].events)
		p.put(it, role{}, "", nil)
		p.noted = true
	}
	return nil
}

// fits rejects a plan with more items than a transaction can hold.
func (p *plan) fits() error {
	if len(p.items) <= maxItems {
		return nil
	}
	return fault.New(fault.Invalid, opWrite,
		"%d instances with their pending callbacks are %d items of the table, more than the "+
			"limit of %d", len(p.changes), len(p.items), maxItems).WithHint(inventory.HintFewer)
}

// waiting holds the pending events of an instance, as the table stores them.
type waiting struct {
	callback.Pending
	rows []int64 // last event of each item
	seq  int64   // revision of the item of delivered events; 0: there is none
}

// add adds an item of the partition of pending events.
func (w *waiting) add(t *table, i item) error {
	id, end, _ := strings.Cut(attributevalue.TextOf(i, attrSort), "/")
	w.Instance = id
	if end == "t" {
		w.seq = attributevalue.NumberOf(i, attrSeq)
		return t.unpack(i, &w.Delivered)
	}
	last, err := strconv.ParseInt(end, 16, 64)
	if err != nil {
		return fault.New(fault.Damaged, opRead, "the item %s of %s is none of a callback",
			attributevalue.TextOf(i, attrSort), attributevalue.TextOf(i, attrPart)).
			WithHint("the table was changed by something else; restore it to a point in time")
	}
	if len(w.rows) == 0 {
		w.From, w.Service = attributevalue.NumberOf(i, attrSeq),
			attributevalue.TextOf(i, attrService)
	}
	w.Last, w.rows = last, append(w.rows, last) // items come in the order of their sort keys
	return nil
}

// gather reads pending events, grouped by instance, and calls f for each instance until f returns
// false.
func (t *table) gather(
	ctx context.Context, in *dynamodb.QueryInput, env, from, to string, f func(w *waiting) bool,
) error {
	var now *waiting
	var damaged error
	on := true
	flush := func() {
		if on && now != nil && len(now.rows) > 0 {
			on = f(now)
		}
		now = nil
	}
	err := t.query(ctx, in, pendingPart(env), from, to, func(i item) bool {
		id, _, _ := strings.Cut(attributevalue.TextOf(i, attrSort), "/")
		if now != nil && now.Instance != id {
			flush()
		}
		if now == nil {
			now = &waiting{Pending: callback.Pending{Delivered: map[string]int64{}}}
		}
		damaged = now.add(t, i)
		return on && damaged == nil
	})
	if err != nil || damaged != nil {
		return firstOf(err, damaged)
	}
	flush()
	return nil
}

// Pending implements callback.Store.
func (b *Callbacks) Pending(
	ctx context.Context, env, after string,
) ([]callback.Pending, error) {
	return b.pending(ctx, env, after, callback.MaxPending)
}

func (b *Callbacks) pending(
	ctx context.Context, env, after string, limit int,
) ([]callback.Pending, error) {
	from, to := "", ""
	if after != "" {
		from, to = after+"0", string(rune(0x10ffff)) // after all items of the instance
	}
	in := &dynamodb.QueryInput{Limit: aws.Int32(int32(2*limit + 1))} // at most a page
	var out []callback.Pending
	err := b.gather(ctx, in, env, from, to, func(w *waiting) bool {
		out = append(out, w.Pending)
		return len(out) < limit
	})
	return out, err
}

// Delivered implements callback.Store. It removes the items whose events all callbacks have
// received. With the last of them it removes the item of delivered events.
func (b *Callbacks) Delivered(
	ctx context.Context, env, instance, id string, seq int64, all []string,
) error {
	for try := 0; ; try++ {
		if err := b.pause(ctx, opWrite, try); err != nil {
			return err
		}
		var w *waiting
		err := b.gather(ctx, nil, env, instance+"/", instance+"/~", func(found *waiting) bool {
			w = found
			return true
		})
		if err != nil || w == nil {
			return err
		}
		later := seq > w.Of(id)
		w.Delivered[id] = max(w.Delivered[id], seq)
		items, err := b.deliveredItems(env, w, all)
		if err != nil || len(items) == 0 || len(items) == 1 && items[0].Put != nil && !later {
			return err
		}
		if again, err := b.transactOne(ctx, items...); !again {
			return err
		}
	}
}

// deliveredItems returns the writes to the items of an instance after callbacks received some of
// its events.
func (b *Callbacks) deliveredItems(
	env string, w *waiting, all []string,
) ([]types.TransactWriteItem, error) {
	lowest := w.Last
	for _, id := range all {
		lowest = min(lowest, w.Of(id))
	}
	var out []types.TransactWriteItem
	remove := func(sort string) *types.Delete {
		d := &types.Delete{TableName: &b.Table, Key: key(pendingPart(env), sort)}
		out = append(out, types.TransactWriteItem{Delete: d})
		return d
	}
	for _, last := range w.rows {
		if last <= lowest && len(out) < maxItems-1 {
			remove(pendingSort(w.Instance, last))
		}
	}
	if len(out) == len(w.rows) {
		if w.seq > 0 {
			d := remove(deliveredSort(w.Instance))
			d.ConditionExpression = aws.String("n = :n")
			d.ExpressionAttributeValues = item{":n": attributevalue.Number(w.seq)}
		}
		return out, nil
	}
	i, err := b.pack(w.Delivered)
	if err != nil {
		return nil, err
	}
	maps.Copy(i, key(pendingPart(env), deliveredSort(w.Instance)))
	i[attrSeq] = attributevalue.Number(w.seq + 1)
	return append(out, put(b.Table, i, w.seq)), nil
}
