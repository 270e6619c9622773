package services

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

var _ inventory.OrderBook = (*Instances)(nil)

func orderPart(env, id string) string { return "B/" + env + "/" + id }

// ordersPart is the partition that lists the orders of an environment by creation time.
func ordersPart(env string) string { return "B/" + env }

func orderPlace(o *inventory.Order) string { return place(o.Created.UnixMicro(), o.ID) }

// Place implements inventory.OrderBook. The order adds two items to the transaction.
func (n *orderList) Place(
	ctx context.Context, env string, o inventory.Order, changes []inventory.Change,
) ([]int64, error) {
	if err := inventory.CheckOrder(&o); err != nil {
		return nil, err
	}
	return n.write(ctx, env, &o, changes)
}

// orderItems adds the items of the order that the plan places, if there is an order.
func (p *plan) orderItems() error {
	if p.order == nil {
		return nil
	}
	i, err := p.orderItem(p.env, p.order, 1)
	if err != nil {
		return err
	}
	p.put(i, role{kind: isOrder}, "attribute_not_exists(k)", nil)
	p.put(key(ordersPart(p.env), orderPlace(p.order)), role{}, "", nil)
	return nil
}

func (n *recordItems) orderItem(env string, o *inventory.Order, rev int64) (item, error) {
	i, err := n.pack(o)
	if err != nil {
		return nil, err
	}
	i[attrPart], i[attrSort] = attributevalue.Text(orderPart(env, o.ID)),
		attributevalue.Text(recordSort)
	i[attrSeq] = attributevalue.Number(rev)
	return i, nil
}

// Order implements inventory.OrderBook.
func (n *orderList) Order(ctx context.Context, env, id string) (inventory.Order, error) {
	o, _, err := n.readOrder(ctx, env, id)
	return o, err
}

// readOrder returns an order with its revision.
func (n *orderList) readOrder(
	ctx context.Context, env, id string,
) (o inventory.Order, rev int64, err error) {
	i, err := n.get(ctx, orderPart(env, id), recordSort)
	if err == nil && i == nil {
		err = inventory.ErrNoOrder(id)
	}
	if err != nil {
		return o, 0, err
	}
	return o, attributevalue.NumberOf(i, attrSeq), n.unpack(i, &o)
}

// Orders implements inventory.OrderBook.
func (n *orderList) Orders(
	ctx context.Context, env string, q inventory.OrderQuery,
) ([]inventory.Order, error) {
	limit := inventory.OrderPage(q.Limit)
	from := ""
	if q.After != nil {
		from = orderPlace(q.After)
	}
	ids, err := n.placed(ctx, env, q.NewestFirst, from, limit)
	if err != nil {
		return nil, err
	}
	var keys []item
	for _, id := range ids {
		keys = append(keys, key(orderPart(env, id), recordSort))
	}
	items, err := n.getMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	byID := map[string]inventory.Order{}
	for _, i := range items {
		var o inventory.Order
		if err := n.unpack(i, &o); err != nil {
			return nil, err
		}
		byID[o.ID] = o
	}
	var out []inventory.Order
	for _, id := range ids {
		if o, ok := byID[id]; ok { // absent if another process removed the order since it was listed
			out = append(out, o)
		}
	}
	return out, nil
}

// placed returns the ids of orders after the place from.
func (n *orderList) placed(
	ctx context.Context, env string, newest bool, from string, limit int,
) ([]string, error) {
	in := &dynamodb.QueryInput{
		ScanIndexForward: aws.Bool(!newest),
		Limit:            aws.Int32(int32(limit + 1)), // at most a page
	}
	lower, upper := "", "~"
	switch {
	case from != "" && newest:
		upper = from
	case from != "":
		lower = from
	}
	if lower == "" {
		lower = "!" // before all hexadecimal numbers
	}
	var out []string
	err := n.query(ctx, in, ordersPart(env), lower, upper, func(i item) bool {
		if at := attributevalue.TextOf(i, attrSort); at != from {
			_, id, _ := strings.Cut(at, "/")
			out = append(out, id)
		}
		return len(out) < limit
	})
	return out, err
}

// CountOrders implements inventory.OrderBook. It reads the entries of the list, and no orders.
func (n *orderList) CountOrders(
	ctx context.Context, env string, q inventory.OrderQuery,
) (inventory.Count, error) {
	var out inventory.Count
	from := ""
	if q.After != nil {
		from = orderPlace(q.After)
	}
	err := n.query(ctx, nil, ordersPart(env), "!", "~", func(i item) bool {
		out.Total++
		at := attributevalue.TextOf(i, attrSort)
		if from != "" && (at == from || (at < from) == !q.NewestFirst) {
			out.Ahead++
		}
		return true
	})
	return out, err
}

// Note implements inventory.OrderBook.
func (n *orderList) Note(
	ctx context.Context, env, id string, number int, outcome inventory.Outcome,
) error {
	for try := 0; ; try++ {
		if err := n.pause(ctx, opWrite, try); err != nil {
			return err
		}
		o, rev, err := n.readOrder(ctx, env, id)
		if fault.Is(err, fault.NotFound) || err == nil && !o.Note(number, outcome) {
			return nil
		}
		if err != nil {
			return err
		}
		p := &plan{recordItems: n.recordItems, env: env}
		i, err := n.orderItem(env, &o, rev+1)
		if err != nil {
			return err
		}
		p.put(i, role{}, "n = :n", item{":n": attributevalue.Number(rev)})
		p.mark(id)
		reasons, err := n.transact(ctx, p.items)
		if err != nil || len(reasons) == 0 {
			return err
		}
		if err := failed(reasons[0]); err != nil {
			return err
		}
	}
}

// forgetAtOnce is how many orders one call of Forget removes. An order has two items.
const forgetAtOnce = 12

// Forget implements inventory.OrderBook.
func (n *orderList) Forget(ctx context.Context, env string, before time.Time) error {
	var old []string
	in := &dynamodb.QueryInput{Limit: aws.Int32(forgetAtOnce)}
	err := n.query(ctx, in, ordersPart(env), "!", place(before.UnixMicro(), ""), func(i item) bool {
		old = append(old, attributevalue.TextOf(i, attrSort))
		return len(old) < forgetAtOnce
	})
	if err != nil {
		return err
	}
	var writes []types.WriteRequest
	for _, at := range old {
		_, id, _ := strings.Cut(at, "/")
		for _, k := range []item{key(orderPart(env, id), recordSort), key(ordersPart(env), at)} {
			writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: k}})
		}
	}
	if err := n.batch(ctx, writes); err != nil || len(writes) == 0 {
		return err
	}
	n.markAfter(ctx, env)
	return nil
}

// Records implements inventory.OrderBook.
func (n *orderList) Records(
	ctx context.Context, env string, ids []string,
) (map[string]inventory.Record, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	found, err := n.records(ctx, env, slices.Compact(ids))
	out := map[string]inventory.Record{}
	for id := range found {
		out[id] = found[id].Record
	}
	return out, err
}
