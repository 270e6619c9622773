package local

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/service/inventory"
)

var _ inventory.OrderBook = (*Instances)(nil)

const (
	readOrders  = "read orders"
	writeOrders = "write orders"
)

// Place implements inventory.OrderBook.
func (n *Instances) Place(
	ctx context.Context, env string, o inventory.Order, changes []inventory.Change,
) ([]int64, error) {
	if err := inventory.CheckChanges(changes); err != nil {
		return nil, err
	}
	if err := inventory.CheckOrder(&o); err != nil {
		return nil, err
	}
	var revs []int64
	err := n.home.write(ctx, "write instances", func(c *sqlite.Conn) error {
		placed, err := one(c, "SELECT 1 FROM orders WHERE env = ? AND id = ?", present, env, o.ID)
		if err != nil {
			return err
		}
		if placed {
			return inventory.ErrPlaced(o.ID)
		}
		if revs, err = putChanges(c, env, changes, inventory.CheckOrderWeight); err != nil {
			return err
		}
		if err := feed(c, env, state.ChangedInstances|state.ChangedOrders); err != nil {
			return err
		}
		return query(c, "INSERT INTO orders (env, id, created, body) VALUES (?, ?, ?, ?)", nil,
			env, o.ID, o.Created.UnixMicro(), []byte(sealed(o, "orders", env, o.ID)))
	})
	if err != nil {
		return nil, err
	}
	return revs, nil
}

// Order implements inventory.OrderBook.
func (n *Instances) Order(ctx context.Context, env, id string) (inventory.Order, error) {
	list, err := readList(ctx, n.home, readOrders, selectOrder, storedOrder, env, id)
	if err == nil && len(list) == 0 {
		err = inventory.ErrNoOrder(id)
	}
	if err != nil {
		return inventory.Order{}, err
	}
	return list[0], nil
}

// Orders implements inventory.OrderBook.
func (n *Instances) Orders(
	ctx context.Context, env string, q inventory.OrderQuery,
) ([]inventory.Order, error) {
	w, order := whereEnv(env), orderOfOrders(&q)
	order.after(w)
	return readList(ctx, n.home, readOrders,
		"SELECT body, env, id FROM orders"+w.sql+order.by()+" LIMIT ?", storedOrder,
		append(w.args, inventory.OrderPage(q.Limit))...)
}

func orderOfOrders(q *inventory.OrderQuery) *order {
	o := &order{newest: q.NewestFirst}
	var at inventory.Order
	if o.started = q.After != nil; o.started {
		at = *q.After
	}
	o.add("created", at.Created.UnixMicro())
	o.add("id", at.ID)
	return o
}

// CountOrders implements inventory.OrderBook.
func (n *Instances) CountOrders(
	ctx context.Context, env string, q inventory.OrderQuery,
) (out inventory.Count, err error) {
	err = n.home.read(ctx, "count orders", func(c *sqlite.Conn) error {
		out, err = orderOfOrders(&q).count(c, "orders", whereEnv(env))
		return err
	})
	return out, err
}

const selectOrder = "SELECT body, env, id FROM orders WHERE env = ? AND id = ?"

func storedOrder(s *sqlite.Stmt) (o inventory.Order, err error) {
	err = unsealRow(s, 0, &o, "orders")
	return o, err
}

// Note implements inventory.OrderBook.
func (n *Instances) Note(
	ctx context.Context, env, id string, item int, outcome inventory.Outcome,
) error {
	return n.home.write(ctx, writeOrders, func(c *sqlite.Conn) error {
		o, err := one(c, selectOrder, storedOrder, env, id)
		if err != nil || !o.Note(item, outcome) {
			return err
		}
		if err := feed(c, env, state.ChangedOrders); err != nil {
			return err
		}
		return query(c, "UPDATE orders SET body = ? WHERE env = ? AND id = ?", nil,
			[]byte(sealed(o, "orders", env, id)), env, id)
	})
}

// Forget implements inventory.OrderBook.
func (n *Instances) Forget(ctx context.Context, env string, before time.Time) error {
	return n.home.write(ctx, writeOrders, func(c *sqlite.Conn) error {
		if err := query(c, "DELETE FROM orders WHERE env = ? AND created < ?", nil, env,
			before.UnixMicro()); err != nil || c.Changes() == 0 {
			return err
		}
		return feed(c, env, state.ChangedOrders)
	})
}

// Records implements inventory.OrderBook.
func (n *Instances) Records(
	ctx context.Context, env string, ids []string,
) (map[string]inventory.Record, error) {
	out := map[string]inventory.Record{}
	err := n.home.read(ctx, readInstances, func(c *sqlite.Conn) error {
		for _, id := range ids {
			r, err := list(c, selectInstances+"WHERE env = ? AND id = ?", storedInstance, env, id)
			if err != nil {
				return err
			}
			if len(r) > 0 {
				out[id] = r[0]
			}
		}
		return nil
	})
	return out, err
}
