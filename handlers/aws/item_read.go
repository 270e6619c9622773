package aws

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/platform"
	"southbound/shared/provider"
)

// ReadBatch implements provider.BatchReader: one consistent read of a hundred items.
func (item) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	tables := map[string][]int{}
	for i := range items {
		t := text(items[i].Resource, "table")
		tables[t] = append(tables[t], i)
	}
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		api, err := dynamoClient(items[tables[table][0]].Context, table)
		for part := range slices.Chunk(tables[table], itemsAtOnce) {
			if err != nil {
				for _, i := range part {
					out[i].Err = err
				}
				continue
			}
			readItems(ctx, api, table, items, part, out)
		}
	}
	return out
}

// readItems reads some items of a table. An item with a wrong key must not prevent the others.
func readItems(
	ctx context.Context, api *dynamodb.Client, table string, items []provider.BatchRead, part []int,
	out []provider.Reading,
) {
	keys, texts := map[string]map[string]types.AttributeValue{}, map[int]string{}
	for _, i := range part {
		key, err := keyOf(items[i].Resource)
		if out[i].Err = err; err == nil {
			texts[i] = keyText(key)
			keys[texts[i]] = key
		}
	}
	found, err := getItems(ctx, api, table, keys)
	if err != nil && len(part) > 1 && !awserr.Passing(err) && ctx.Err() == nil {
		for _, i := range part {
			readItems(ctx, api, table, items, []int{i}, out)
		}
		return
	}
	for _, i := range part {
		switch have, there := found[texts[i]]; {
		case out[i].Err != nil:
		case err != nil:
			out[i].Err = failure("read the item "+text(items[i].Resource, "name")+" of the table "+
				table, err)
		case there:
			out[i].Observation = seen(items[i].Resource, have)
		}
	}
}

// getItems returns the existing items of the keys, by the texts of their keys.
func getItems(
	ctx context.Context, api *dynamodb.Client, table string,
	keys map[string]map[string]types.AttributeValue,
) (map[string]map[string]types.AttributeValue, error) {
	found := map[string]map[string]types.AttributeValue{}
	consistent := true
	var names []string
	left := make([]map[string]types.AttributeValue, 0, len(keys))
	for _, k := range keys {
		left = append(left, k)
		names = slices.Collect(maps.Keys(k))
	}
	for try := 0; len(left) > 0; try++ {
		if try > 0 &&
			(platform.Clock{}).Sleep(ctx,
				min(50*time.Millisecond<<min(try, 8), 5*time.Second)) != nil {
			return nil, ctx.Err()
		}
		res, err := api.BatchGetItem(ctx,
			&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				table: {Keys: left, ConsistentRead: &consistent}}})
		if err != nil {
			return nil, err
		}
		for _, have := range res.Responses[table] {
			key := map[string]types.AttributeValue{}
			for _, n := range names {
				key[n] = have[n]
			}
			found[keyText(key)] = have
		}
		left = res.UnprocessedKeys[table].Keys // because of the limits of size or capacity
	}
	return found, nil
}
