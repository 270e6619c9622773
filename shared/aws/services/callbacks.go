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

// Callbacks are the callbacks of environments in a table, and what they are to be told. It
// implements callback.Store, and may be used by any number of goroutines and processes.
type Callbacks struct{ table }

var _ callback.Store = (*Callbacks)(nil)

// NewCallbacks returns the callbacks in a table that exists.
func NewCallbacks(c Config) (*Callbacks, error) {
	t, err := newTable(c)
	return &Callbacks{t}, err
}

// callbacksPart has an item for each environment that has, or had, callbacks: all of them, their
// number, and a revision. It is never removed, so that a revision never comes again.
const callbacksPart = "K"

func callbacksKey(env string) item { return key(callbacksPart, env) }

// kept is a callback as it is stored.
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

// change replaces the callbacks of an environment by what f makes of them, if that is not nothing,
// until nobody is in the way.
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

// put returns the write of an item with a revision, for the one that was read; 0: there was none.
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

// transactOne makes a transaction of which any condition that fails says that somebody was in the
// way.
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

// Unregister implements callback.Store. The callback goes first, then what nobody is to be told any
// more: in the other order a crash would leave a callback without the events that it was to be
// told. What a crash in between leaves is never due without callbacks, and older than any that is
// registered later, so that one passes it over, which removes it. Where one is registered meanwhile,
// all is left to it: some may be for it.
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
	// After these were read: none of them is for a callback that is registered later.
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

// Noted reports whether this process has written something that callbacks of an environment are to
// be told, since it was asked last.
func (b *Callbacks) Noted(env string) bool { return b.Cache.take(env) }

// Waits reports whether something is to be told in an environment.
func (b *Callbacks) Waits(ctx context.Context, env string) (bool, error) {
	return b.waits(ctx, env, func(*kept) bool { return true })
}

// Due reports whether something is to be told in an environment that some callback can be told now.
func (b *Callbacks) Due(ctx context.Context, env string, now time.Time) (bool, error) {
	return b.waits(ctx, env, func(k *kept) bool { return !k.Health.Next.After(now) })
}

// waits reports whether something is to be told, where one of the callbacks is such.
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

// What stands in the partition of what is to be told: for each Write with events of an instance an
// item, which is put whatever is there, so that writes never wait for calls; and one with what the
// callbacks were told of the instance.
func pendingSort(id string, last int64) string { return fmt.Sprintf("%s/%016x", id, last) }

func deliveredSort(id string) string { return id + "/t" }
