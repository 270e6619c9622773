package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// page returns how many of n items are processed now: at least one.
func (t *Table) page(n int) int {
	if t.Page == nil || n == 0 {
		return n
	}
	return max(1, min(n, t.Page()))
}

// Query implements dynamo.API.
func (t *Table) Query(
	_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.check(in.TableName); err != nil {
		return nil, err
	}
	if in.FilterExpression != nil || in.ProjectionExpression != nil || in.IndexName != nil ||
		len(in.ExpressionAttributeNames) > 0 || in.Select != "" {
		return nil, invalid("the model knows no such query")
	}
	part, wanted, err := keyCondition(in.KeyConditionExpression, in.ExpressionAttributeValues)
	if err != nil {
		return nil, err
	}
	sorts, err := t.from(in, part)
	if err != nil {
		return nil, err
	}
	limit := t.page(len(sorts))
	if in.Limit != nil {
		limit = min(limit, int(*in.Limit))
	}
	out, writes := &dynamodb.QueryOutput{}, t.sees(in.ConsistentRead)
	for _, sort := range sorts {
		if !wanted(sort) {
			continue
		}
		if i := t.at(part, sort, writes); i != nil {
			out.Items = append(out.Items, maps.Clone(i))
			if len(out.Items) == limit {
				out.LastEvaluatedKey = item{attrPart: i[attrPart], attrSort: i[attrSort]}
				break
			}
		}
	}
	out.Count = int32(len(out.Items)) // small
	return out, nil
}

// from returns the sort keys of a partition after the start of a query, in the order of the query.
func (t *Table) from(in *dynamodb.QueryInput, part string) ([]string, error) {
	var sorts []string
	if p := t.parts[part]; p != nil {
		sorts = p.sorts
	}
	forward := in.ScanIndexForward == nil || *in.ScanIndexForward
	if !forward {
		sorts = slices.Clone(sorts)
		slices.Reverse(sorts)
	}
	if len(in.ExclusiveStartKey) == 0 {
		return sorts, nil
	}
	startPart, start, err := keyOf(in.ExclusiveStartKey, true)
	if err != nil || startPart != part {
		return nil, invalid("The provided starting key is invalid")
	}
	for i, s := range sorts {
		if (forward && s > start) || (!forward && s < start) {
			return sorts[i:], nil
		}
	}
	return nil, nil
}

// BatchGetItem implements dynamo.API.
func (t *Table) BatchGetItem(
	_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ask, ok := in.RequestItems[t.Name]
	if !ok || len(in.RequestItems) != 1 {
		return nil,
			&types.ResourceNotFoundException{Message: aws.String("a batch asks for another table")}
	}
	if n := len(ask.Keys); n == 0 || n > maxOfBatchGet {
		return nil, invalid(fmt.Sprintf("a batch has %d keys", n))
	}
	seen := map[[2]string]bool{}
	for _, k := range ask.Keys {
		part, sort, err := keyOf(k, true)
		if err != nil {
			return nil, err
		}
		if seen[[2]string{part, sort}] {
			return nil, invalid("Provided list of item keys contains duplicates")
		}
		seen[[2]string{part, sort}] = true
	}
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]item{t.Name: {}},
		UnprocessedKeys: map[string]types.KeysAndAttributes{}}
	n, writes := t.page(len(ask.Keys)), t.sees(ask.ConsistentRead)
	for _, k := range ask.Keys[:n] {
		part, sort, _ := keyOf(k, true)
		if i := t.at(part, sort, writes); i != nil {
			out.Responses[t.Name] = append(out.Responses[t.Name], maps.Clone(i))
		}
	}
	if n < len(ask.Keys) {
		left := ask
		left.Keys = ask.Keys[n:]
		out.UnprocessedKeys[t.Name] = left
	}
	return out, nil
}

// BatchWriteItem implements dynamo.API.
func (t *Table) BatchWriteItem(
	_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ask, ok := in.RequestItems[t.Name]
	if !ok || len(in.RequestItems) != 1 {
		return nil,
			&types.ResourceNotFoundException{Message: aws.String("a batch asks for another table")}
	}
	if n := len(ask); n == 0 || n > maxOfBatchWrite {
		return nil, invalid(fmt.Sprintf("a batch has %d requests", n))
	}
	seen := map[[2]string]bool{}
	for _, w := range ask {
		if w.DeleteRequest == nil || w.PutRequest != nil {
			return nil, invalid("the model knows deletes only")
		}
		part, sort, err := keyOf(w.DeleteRequest.Key, true)
		if err != nil {
			return nil, err
		}
		if seen[[2]string{part, sort}] {
			return nil, invalid("Provided list of item keys contains duplicates")
		}
		seen[[2]string{part, sort}] = true
	}
	n := t.page(len(ask))
	for _, w := range ask[:n] {
		part, sort, _ := keyOf(w.DeleteRequest.Key, true)
		t.writes++
		t.set(part, sort, nil)
	}
	out := &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{}}
	if n < len(ask) {
		out.UnprocessedItems[t.Name] = ask[n:]
	}
	return out, nil
}
