package services

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/inventory"
)

// Instances implements inventory.Store.
func (n *lists) Instances(
	ctx context.Context, env string, q inventory.Query,
) ([]inventory.Record, error) {
	want := inventory.Page(q.Limit)
	from := ""
	if q.After != nil {
		from = place(q.After.Created.UnixMicro(), q.After.ID)
	}
	var out []inventory.Record
	for {
		ask := want - len(out)
		found, err := n.entries(ctx, env, &q, from, ask)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, e := range found {
			ids = append(ids, e.id)
		}
		records, err := n.records(ctx, env, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			// A record that changed since it was listed may no longer match the query.
			if r, ok := records[id]; ok && asked(&q, &r.Record) {
				out = append(out, r.Record)
			}
		}
		if len(found) < ask || len(out) == want {
			return out, nil
		}
		from = found[len(found)-1].place
	}
}

// asked reports whether a record matches a query.
func asked(q *inventory.Query, r *inventory.Record) bool {
	return (q.Deleted || !r.Deleted) && inState(q, r.State)
}

func inState(q *inventory.Query, state string) bool {
	return len(q.States) == 0 || slices.Contains(q.States, state)
}

// entry is the entry of an instance in a list.
type entry struct {
	id, place string
	due       int64
	state     string
}

// entries returns at most limit entries that match a query and follow the place from.
func (n *lists) entries(
	ctx context.Context, env string, q *inventory.Query, from string, limit int,
) ([]entry, error) {
	var parts []string
	for shard := range shards {
		parts = append(parts, listPart(env, shard, false))
		if q.Deleted {
			parts = append(parts, listPart(env, shard, true))
		}
	}
	found, err := together(parts, func(part string) ([]entry, error) {
		return n.listed(ctx, part, q, from, limit)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b entry) int {
		if q.NewestFirst {
			a, b = b, a
		}
		return cmp.Compare(a.place, b.place)
	})
	// An instance that was deleted during the queries is in both lists.
	found = slices.CompactFunc(found, func(a, b entry) bool { return a.id == b.id })
	return found[:min(limit, len(found))], nil
}

// listed returns at most limit entries of a partition. The entries of one service are in order, so
// listed stops at the limit. A query for all services has to read the partition to its end.
func (n *lists) listed(
	ctx context.Context, part string, q *inventory.Query, from string, limit int,
) ([]entry, error) {
	in := &dynamodb.QueryInput{ScanIndexForward: aws.Bool(!q.NewestFirst)}
	lower, upper := "", ""
	if q.Service != "" {
		lower, upper = listSort(q.Service, ""), q.Service+"0" // "0" sorts directly after the slash
		switch {
		case from != "" && q.NewestFirst:
			upper = listSort(q.Service, from)
		case from != "":
			lower = listSort(q.Service, from)
		}
		if len(q.States) == 0 && limit <= inventory.MaxPage {
			in.Limit = aws.Int32(int32(limit + 1)) // at most a page
		}
	}
	var out []entry
	err := n.query(ctx, in, part, lower, upper, func(i item) bool {
		_, at, id := listed(attributevalue.TextOf(i, attrSort))
		behind := from == "" || (at > from) == !q.NewestFirst && at != from
		if behind && inState(q, attributevalue.TextOf(i, attrState)) {
			out = append(out, entry{id: id, place: at, state: attributevalue.TextOf(i, attrState)})
		}
		return q.Service == "" || len(out) < limit
	})
	return out, err
}

// Count implements inventory.Store. It reads the entries of the lists, and no records.
func (n *lists) Count(
	ctx context.Context, env string, q inventory.Query,
) (inventory.Count, error) {
	at := q.After
	q.After = nil
	found, err := n.entries(ctx, env, &q, "", math.MaxInt32)
	if err != nil {
		return inventory.Count{}, err
	}
	out := inventory.Count{Total: len(found)}
	if at == nil {
		return out, nil
	}
	from := place(at.Created.UnixMicro(), at.ID)
	for _, e := range found {
		if e.place == from || (e.place < from) == !q.NewestFirst {
			out.Ahead++
		}
	}
	return out, nil
}

// ByState implements inventory.StateCounter. It reads the entries of the lists, and no records.
func (n *lists) ByState(ctx context.Context, env, service string) (map[string]int, error) {
	found, err := n.entries(ctx, env, &inventory.Query{Service: service}, "", math.MaxInt32)
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, e := range found {
		out[e.state]++
	}
	return out, nil
}

// Due implements inventory.Store.
func (n *lists) Due(
	ctx context.Context, env string, now time.Time, limit int,
) ([]inventory.Record, error) {
	var parts []string
	for shard := range shards {
		parts = append(parts, duePart(env, shard))
	}
	found, err := together(parts, func(part string) ([]entry, error) {
		return n.waiting(ctx, part, now)
	})
	if err != nil {
		return nil, err
	}
	oldest := func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.id, b.id))
	}
	slices.SortFunc(found, oldest)
	var ids []string
	for _, e := range found[:min(inventory.Page(limit), len(found))] {
		ids = append(ids, e.id)
	}
	records, err := n.records(ctx, env, ids)
	if err != nil {
		return nil, err
	}
	var out []inventory.Record
	for _, id := range ids {
		if r := records[id]; r.waits && r.facets.due <= now.UnixMicro() {
			out = append(out, r.Record)
		}
	}
	return out, nil
}

// Waits reports whether instances of an environment have tasks, due or not.
func (n *lists) Waits(ctx context.Context, env string) (bool, error) {
	var parts []string
	for shard := range shards {
		parts = append(parts, duePart(env, shard))
	}
	found, err := together(parts, func(part string) ([]entry, error) {
		var out []entry
		in := &dynamodb.QueryInput{Limit: aws.Int32(1)}
		err := n.query(ctx, in, part, "", "", func(item) bool {
			out = append(out, entry{})
			return false
		})
		return out, err
	})
	return len(found) > 0, err
}

// waiting returns the instances of a partition that have tasks due at now.
func (n *lists) waiting(ctx context.Context, part string, now time.Time) ([]entry, error) {
	in := &dynamodb.QueryInput{
		FilterExpression:          aws.String("d <= :now"),
		ExpressionAttributeValues: item{":now": attributevalue.Number(now.UnixMicro())},
	}
	var out []entry
	err := n.query(ctx, in, part, "", "", func(i item) bool {
		out = append(out,
			entry{id: attributevalue.TextOf(i, attrSort), due: attributevalue.NumberOf(i, attrDue)})
		return true
	})
	return out, err
}

// together queries partitions concurrently.
func together(parts []string, ask func(part string) ([]entry, error)) ([]entry, error) {
	found := make([][]entry, len(parts))
	var asks errgroup.Group
	for i, part := range parts {
		asks.Go(func() (err error) {
			found[i], err = ask(part)
			return err
		})
	}
	if err := asks.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}
