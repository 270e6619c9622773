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

// Instances implements inventory.Store. It reads entries, and the records of the page.
func (n *lists) Instances(
	ctx context.Context, env string, q inventory.Query,
) ([]inventory.Record, error) {
	want := inventory.Page(q.Limit)
	if q.Sort != inventory.ByCreation {
		found, err := n.sorted(ctx, env, &q)
		if err != nil {
			return nil, err
		}
		return n.page(ctx, env, &q, found, want)
	}
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
		page, err := n.page(ctx, env, &q, found, ask)
		if out = append(out, page...); err != nil || len(found) < ask || len(out) == want {
			return out, err
		}
		from = found[len(found)-1].place
	}
}

// page returns at most limit records of entries. It leaves out a record that no longer matches the
// query, or that has moved to another place since it was listed.
func (n *lists) page(
	ctx context.Context, env string, q *inventory.Query, found []entry, limit int,
) ([]inventory.Record, error) {
	var out []inventory.Record
	for len(found) > 0 && len(out) < limit {
		some := found[:min(limit-len(out), len(found))]
		found = found[len(some):]
		records, err := n.records(ctx, env, idsOf(some))
		if err != nil {
			return nil, err
		}
		for i := range some {
			r, ok := records[some[i].ID]
			at := inventory.PositionOf(&r.Record)
			if ok && q.Matches(&r.Record) && q.Compare(&at, &some[i].Position) == 0 {
				out = append(out, r.Record)
			}
		}
	}
	return out, nil
}

func idsOf(entries []entry) []string {
	var ids []string
	for i := range entries {
		ids = append(ids, entries[i].ID)
	}
	return ids
}

// entry is the entry of an instance in a list.
type entry struct {
	inventory.Position
	place   string
	version int // of the service
	due     int64
	terms   string // hashes of the terms
	// noIdentity and noTerms report that only the record has its identity or its attributes.
	noIdentity, noTerms bool
}

// sorted returns the entries after the start position of a query, in its order.
func (n *lists) sorted(ctx context.Context, env string, q *inventory.Query) ([]entry, error) {
	found, err := n.certain(ctx, env, q)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b entry) int { return q.Compare(&a.Position, &b.Position) })
	if q.After == nil {
		return found, nil
	}
	after := inventory.PositionOf(q.After)
	from, same := slices.BinarySearchFunc(found, &after, func(e entry, at *inventory.Position) int {
		return q.Compare(&e.Position, at)
	})
	if same {
		from++
	}
	return found[from:], nil
}

// certain returns the entries that match a query, without its start position. It reads the records
// of entries that cannot decide.
func (n *lists) certain(ctx context.Context, env string, q *inventory.Query) ([]entry, error) {
	found, err := n.entries(ctx, env, q, "", math.MaxInt32)
	if err != nil {
		return nil, err
	}
	var open []entry
	for i := range found {
		if !found[i].decides(q) {
			open = append(open, found[i])
		}
	}
	records, err := n.records(ctx, env, idsOf(open))
	if err != nil || len(open) == 0 {
		return found, err
	}
	out := found[:0]
	for _, e := range found {
		if !e.decides(q) {
			r, ok := records[e.ID]
			if !ok || !q.Matches(&r.Record) {
				continue
			}
			e.Identity = r.Identity
		}
		out = append(out, e)
	}
	return out, nil
}

// entries returns at most limit entries that may match a query and follow the place from, in the
// order of creation.
func (n *lists) entries(
	ctx context.Context, env string, q *inventory.Query, from string, limit int,
) ([]entry, error) {
	var parts []string
	for shard := range shards {
		if !q.OnlyDeleted {
			parts = append(parts, listPart(env, shard, false))
		}
		if q.Deleted || q.OnlyDeleted {
			parts = append(parts, listPart(env, shard, true))
		}
	}
	sought := soughtBy(q)
	found, err := together(parts, func(part string) ([]entry, error) {
		return n.listed(ctx, part, q, sought, from, limit)
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
	found = slices.CompactFunc(found, func(a, b entry) bool { return a.ID == b.ID })
	return found[:min(limit, len(found))], nil
}

// listed returns at most limit entries of a partition. The entries of one service are in order, so
// listed stops at the limit. A query for all services has to read the partition to its end.
func (n *lists) listed(
	ctx context.Context, part string, q *inventory.Query, sought [][]string, from string, limit int,
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
		if plain(q) && limit <= inventory.MaxPage {
			in.Limit = aws.Int32(int32(limit + 1)) // at most a page
		}
	}
	var out []entry
	err := n.query(ctx, in, part, lower, upper, func(i item) bool {
		e := entryOf(i)
		behind := from == "" || (e.place > from) == !q.NewestFirst && e.place != from
		if behind && e.candidate(q, sought) {
			out = append(out, e)
		}
		return q.Service == "" || len(out) < limit
	})
	return out, err
}

// plain reports whether a query has no filter but the service and whether instances are deleted.
func plain(q *inventory.Query) bool {
	return len(q.States) == 0 && q.Identity == "" && q.Name == "" && len(q.Attributes) == 0 &&
		q.Empty|q.NotEmpty == 0
}

// Count implements inventory.Store. It reads the entries of the lists, and hardly any record.
func (n *lists) Count(
	ctx context.Context, env string, q inventory.Query,
) (inventory.Count, error) {
	found, err := n.certain(ctx, env, &q)
	if err != nil {
		return inventory.Count{}, err
	}
	out := inventory.Count{Total: len(found)}
	if q.After == nil {
		return out, nil
	}
	after := inventory.PositionOf(q.After)
	for i := range found {
		if q.Compare(&found[i].Position, &after) <= 0 {
			out.Ahead++
		}
	}
	return out, nil
}

// ByState implements inventory.Store. It reads the entries of the lists, and no records.
func (n *lists) ByState(
	ctx context.Context, env, service string,
) (map[inventory.Standing]int, error) {
	found, err := n.entries(ctx, env, &inventory.Query{Service: service}, "", math.MaxInt32)
	if err != nil {
		return nil, err
	}
	out := map[inventory.Standing]int{}
	for i := range found {
		out[inventory.Standing{Version: found[i].version, State: found[i].State}]++
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
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.ID, b.ID))
	}
	slices.SortFunc(found, oldest)
	ids := idsOf(found[:min(inventory.Page(limit), len(found))])
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
		out = append(out, entry{
			Position: inventory.Position{ID: attributevalue.TextOf(i, attrSort)},
			due:      attributevalue.NumberOf(i, attrDue),
		})
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
