package services

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/pack"
	"southbound/shared/fault"
)

type item = attributevalue.Item

// table sends requests to the table. All its reads are strongly consistent.
type table struct {
	Config
	packer *pack.Packer
}

const opRead = "read services"

func key(part, sort string) item {
	return item{attrPart: attributevalue.Text(part), attrSort: attributevalue.Text(sort)}
}

// get reads an item. If the item does not exist, get returns nil.
func (t *table) get(ctx context.Context, part, sort string) (item, error) {
	out, err := t.API.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.Table, Key: key(part, sort), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, awserr.Fault(opRead, err)
	}
	return out.Item, nil
}

// getMany reads items, in any order, and omits items that do not exist.
func (t *table) getMany(ctx context.Context, keys []item) ([]item, error) {
	const limit = 100
	var out []item
	for len(keys) > 0 {
		n := min(limit, len(keys))
		ask := map[string]types.KeysAndAttributes{
			t.Table: {Keys: keys[:n], ConsistentRead: aws.Bool(true)},
		}
		keys = keys[n:]
		for try := 0; len(ask) > 0; try++ {
			if err := t.pause(ctx, opRead, try); err != nil {
				return nil, err
			}
			got, err := t.API.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: ask})
			if err != nil {
				return nil, awserr.Fault(opRead, err)
			}
			if found := got.Responses[t.Table]; len(found) > 0 {
				out, try = append(out, found...), 0 // there was progress
			}
			ask = got.UnprocessedKeys
		}
	}
	return out, nil
}

// getWithCallbacks reads items. The same request reads whether the environment has callbacks.
func (t *table) getWithCallbacks(ctx context.Context, env string, keys []item) ([]item, error) {
	items, err := t.getMany(ctx, append([]item{callbacksKey(env)}, keys...))
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(items,
		func(i item) bool { return attributevalue.TextOf(i, attrPart) == callbacksPart })
	if n < 0 {
		t.Cache.note(env, nil)
		return items, nil
	}
	t.Cache.note(env, items[n])
	return slices.Delete(items, n, n+1), nil
}

// batch sends at most 25 independent write requests. If it fails, some of them may have been done.
func (t *table) batch(ctx context.Context, reqs []types.WriteRequest) error {
	for try := 0; len(reqs) > 0; try++ {
		if err := t.pause(ctx, opWrite, try); err != nil {
			return err
		}
		out, err := t.API.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{t.Table: reqs},
		})
		if err != nil {
			return awserr.Fault(opWrite, err)
		}
		reqs = out.UnprocessedItems[t.Table]
	}
	return nil
}

// query calls f for the items of a partition until f returns false. If to is not empty, it covers
// the sort keys from from to to, inclusive; otherwise it covers all items. The input may add
// further parameters, such as a limit or a filter. It may be nil.
func (t *table) query(
	ctx context.Context, in *dynamodb.QueryInput, part, from, to string, f func(item) bool,
) error {
	if in == nil {
		in = &dynamodb.QueryInput{}
	}
	in.TableName, in.ConsistentRead = &t.Table, aws.Bool(true)
	in.KeyConditionExpression = aws.String("k = :k")
	if in.ExpressionAttributeValues == nil {
		in.ExpressionAttributeValues = item{}
	}
	in.ExpressionAttributeValues[":k"] = attributevalue.Text(part)
	if to != "" {
		in.KeyConditionExpression = aws.String("k = :k AND s BETWEEN :from AND :to")
		in.ExpressionAttributeValues[":from"] = attributevalue.Text(from)
		in.ExpressionAttributeValues[":to"] = attributevalue.Text(to)
	}
	for {
		out, err := t.API.Query(ctx, in)
		if err != nil {
			return awserr.Fault(opRead, err)
		}
		for _, i := range out.Items {
			if !f(i) {
				return nil
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// maxTries limits the tries of a request that conflicts with others: they last some seconds.
const maxTries = 60

// pause backs off before another try, longer each time, and fails at try maxTries. Before the first
// try, number 0, it does not wait.
func (t *table) pause(ctx context.Context, op string, try int) error {
	const longest = 100 * time.Millisecond
	switch {
	case try == 0:
		return nil
	case try == maxTries:
		return fault.New(fault.Unavailable, op,
			"%d attempts ended in a conflict or were throttled by DynamoDB", try)
	}
	limit := min(time.Millisecond<<min(try, 10), longest)
	d := rand.N(limit) + 1 // jitter, not a secret
	if err := t.Sleep(ctx, d); err != nil {
		return fault.Wrap(fault.KindOf(err), op, err)
	}
	return nil
}

// pack returns the body of an item.
func (t *table) pack(v any) (item, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, opWrite, err)
	}
	return item{attrBody: attributevalue.Blob(t.packer.Pack(raw))}, nil
}

// unpack decodes the body of an item. It decodes numbers as json.Number.
func (t *table) unpack(i item, v any) error {
	raw, err := t.packer.Unpack(attributevalue.BytesOf(i, attrBody))
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		err = d.Decode(v)
	}
	if err != nil {
		return fault.New(fault.Damaged, opRead, "the item %s of %s does not decode: %v",
			attributevalue.TextOf(i, attrSort), attributevalue.TextOf(i, attrPart), err).
			WithHint("the table was changed by something else; restore it to a point in time")
	}
	return nil
}

// transact runs a transaction. If DynamoDB cancels the transaction, transact returns the reasons; a
// canceled transaction has no effect. DynamoDB recognizes the token of a transaction for ten
// minutes. So a transaction whose response was lost is sent again, and runs once.
func (t *table) transact(
	ctx context.Context, items []types.TransactWriteItem,
) ([]types.CancellationReason, error) {
	const maxAsked = 4
	in := &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String(newToken()), TransactItems: items,
	}
	for try := 1; ; try++ {
		_, err := t.API.TransactWriteItems(ctx, in)
		var canceled *types.TransactionCanceledException
		switch {
		case err == nil:
			return nil, nil
		case errors.As(err, &canceled):
			return canceled.CancellationReasons, nil
		case awserr.Is(err, awserr.TransactionConflict):
			return []types.CancellationReason{{Code: aws.String(codeConflict)}}, nil
		case !awserr.Passing(err) || try == maxAsked:
			return nil, awserr.Fault(opWrite, err)
		}
		if err := t.pause(ctx, opWrite, try); err != nil {
			return nil, err
		}
	}
}

// The reasons of a canceled transaction.
const (
	codeNone      = "None"
	codeCondition = "ConditionalCheckFailed"
	codeConflict  = "TransactionConflict"
	codeThrottled = "ThrottlingError"
	codeExceeded  = "ProvisionedThroughputExceeded"
	codeFull      = "ItemCollectionSizeLimitExceeded"
)

// failed returns the error of a reason that another try cannot cure. For a failed condition, a
// conflict or throttling it returns nil.
func failed(r types.CancellationReason) error {
	switch code := aws.ToString(r.Code); code {
	case "", codeNone, codeCondition, codeConflict, codeThrottled, codeExceeded:
		return nil
	case codeFull:
		return fault.New(fault.Full, opWrite, "%s", aws.ToString(r.Message))
	default:
		return fault.New(fault.Internal, opWrite, "%s: %s", code, aws.ToString(r.Message))
	}
}
