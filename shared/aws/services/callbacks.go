package services

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/callback"
)

// Callbacks stores the callbacks of environments, and the events to deliver to them, in a table. It
// implements callback.Store. Any number of goroutines and processes may use it.
type Callbacks struct{ table }

var _ callback.Store = (*Callbacks)(nil)

// NewCallbacks returns the callbacks in a table. The table has to exist.
func NewCallbacks(c Config) (*Callbacks, error) {
	t, err := newTable(c)
	return &Callbacks{t}, err
}

// callbacksPart has an item for each environment that has, or had, callbacks. The item holds all
// callbacks, their number, and a revision. It is never removed, so that no revision is used twice.
const callbacksPart = "K"

func callbacksKey(env string) item { return key(callbacksPart, env) }

// kept is a callback as the table stores it.
type kept struct {
	callback.Callback
	Health callback.Health `json:"health,omitzero"`
}

// Callbacks implements callback.Store.
func (b *Callbacks) Callbacks(ctx context.Context, env string) ([]callback.Callback, error) {
	all, _, err := b.read(ctx, env)
	out := make([]callback.Callback, len(all))
	for i := range all {
		out[i] = all[i].Callback
		out[i].Health = all[i].Health
	}
	return out, err
}

// read returns the callbacks of an environment, and the revision of the list.
func (b *Callbacks) read(ctx context.Context, env string) (all []kept, seq int64, err error) {
	i, err := b.get(ctx, callbacksPart, env)
	if err != nil {
		return nil, 0, err
	}
	b.Cache.note(env, i)
	if i == nil {
		return nil, 0, nil
	}
	return all, attributevalue.NumberOf(i, attrSeq), b.unpack(i, &all)
}

// change replaces the callbacks of an environment by the list that f returns for them. If f returns
// nil, change writes nothing. If another process changes the list concurrently, change retries.
func (b *Callbacks) change(
	ctx context.Context, env string, f func(all []kept) ([]kept, error),
) error {
	for try := 0; ; try++ {
		if err := b.pause(ctx, opWrite, try); err != nil {
			return err
		}
		all, seq, err := b.read(ctx, env)
		if err != nil {
			return err
		}
		next, err := f(slices.Clone(all))
		if err != nil || next == nil {
			return err
		}
		slices.SortFunc(next, func(x, y kept) int { return cmp.Compare(x.ID, y.ID) })
		i, err := b.pack(next)
		if err != nil {
			return err
		}
		maps.Copy(i, callbacksKey(env))
		i[attrSeq], i[attrEvents] = attributevalue.Number(seq+1), attributevalue.Number(len(next))
		again, err := b.transactOne(ctx, put(b.Table, i, seq))
		if !again {
			if err == nil {
				b.Cache.note(env, i)
			}
			return err
		}
	}
}

// put returns the write of an item with a revision. It requires that the stored item still has
// revision seq. If seq is 0, it requires that the item does not exist.
func put(table string, i item, seq int64) types.TransactWriteItem {
	p := &types.Put{
		TableName: &table, Item: i, ConditionExpression: aws.String("attribute_not_exists(k)"),
	}
	if seq > 0 {
		p.ConditionExpression = aws.String("n = :n")
		p.ExpressionAttributeValues = item{":n": attributevalue.Number(seq)}
	}
	return types.TransactWriteItem{Put: p}
}

// transactOne runs a transaction. If any of its conditions fails, another process wrote
// concurrently, and again is true.
func (t *table) transactOne(
	ctx context.Context, items ...types.TransactWriteItem,
) (again bool, err error) {
	reasons, err := t.transact(ctx, items)
	for _, r := range reasons {
		if err := failed(r); err != nil {
			return false, err
		}
	}
	return len(reasons) > 0, err
}

// Register implements callback.Store.
func (b *Callbacks) Register(ctx context.Context, env string, c callback.Callback) error {
	c.Health = callback.Health{}
	return b.change(ctx, env, func(all []kept) ([]kept, error) {
		for i := range all {
			switch {
			case all[i].ID != c.ID:
			case all[i].Same(&c):
				return nil, nil
			default:
				return nil, callback.ErrOther(c.ID)
			}
		}
		if len(all) >= callback.MaxCallbacks {
			return nil, callback.ErrMany()
		}
		return append(all, kept{Callback: c}), nil
	})
}

// Unregister implements callback.Store. It removes the callback first, then the pending events that
// no callback is to receive. In the other order, a crash would leave a callback without the events
// that it is to receive. A crash between the two leaves pending events. Without callbacks these
// events are never due. They are older than a callback that is registered later, so that callback
// skips them, which removes them. If a callback is registered while Unregister runs, Unregister
// keeps all pending events: some may be for that callback.
func (b *Callbacks) Unregister(ctx context.Context, env, id string) error {
	left := 0
	err := b.change(ctx, env, func(all []kept) ([]kept, error) {
		n := slices.IndexFunc(all, func(k kept) bool { return k.ID == id })
		if n < 0 {
			return nil, callback.ErrNone(id)
		}
		left = len(all) - 1
		return slices.Delete(all, n, n+1), nil
	})
	if err != nil || left > 0 {
		return err
	}
	var keys []item
	err = b.query(ctx, nil, pendingPart(env), "", "", func(i item) bool {
		keys = append(keys, item{attrPart: i[attrPart], attrSort: i[attrSort]})
		return true
	})
	if err != nil {
		return err
	}
	// This read follows the query of the pending events, so none of these events is for a callback
	// that is registered later.
	if now, _, err := b.read(ctx, env); err != nil || len(now) > 0 {
		return err
	}
	const limit = 25
	for part := range slices.Chunk(keys, limit) {
		var reqs []types.WriteRequest
		for _, k := range part {
			reqs = append(reqs, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: k}})
		}
		if err := b.batch(ctx, reqs); err != nil {
			return err
		}
	}
	return nil
}

// Report implements callback.Store.
func (b *Callbacks) Report(ctx context.Context, env, id string, h callback.Health) error {
	return b.change(ctx, env, func(all []kept) ([]kept, error) {
		n := slices.IndexFunc(all, func(k kept) bool { return k.ID == id })
		if n < 0 {
			return nil, nil
		}
		all[n].Health = h
		return all, nil
	})
}

// Noted reports whether this process has written events for the callbacks of an environment since
// the last call of Noted.
func (b *Callbacks) Noted(env string) bool { return b.Cache.take(env) }

// Waits reports whether an environment has callbacks and pending events for them.
func (b *Callbacks) Waits(ctx context.Context, env string) (bool, error) {
	return b.waits(ctx, env, func(*kept) bool { return true })
}

// Due reports whether an environment has pending events, and a callback that may be called now.
func (b *Callbacks) Due(ctx context.Context, env string, now time.Time) (bool, error) {
	return b.waits(ctx, env, func(k *kept) bool { return !k.Health.Next.After(now) })
}

// waits reports whether an environment has pending events, and a callback for which such returns
// true.
func (b *Callbacks) waits(
	ctx context.Context, env string, such func(k *kept) bool,
) (bool, error) {
	all, _, err := b.read(ctx, env)
	if err != nil || !slices.ContainsFunc(all, func(k kept) bool { return such(&k) }) {
		return false, err
	}
	page, err := b.pending(ctx, env, "", 1)
	return len(page) > 0, err
}

func pendingPart(env string) string { return callbacksPart + "/" + env }

// The partition of pending events has two kinds of items. Each Write with events of an instance
// puts an item without a condition, so that writes never wait for calls. A further item of the
// instance holds the last event that each callback received.
func pendingSort(id string, last int64) string { return fmt.Sprintf("%s/%016x", id, last) }

func deliveredSort(id string) string { return id + "/t" }
