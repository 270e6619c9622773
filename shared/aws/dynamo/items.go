package dynamo

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
	"southbound/shared/platform"
)

// items reads and writes the items of the table. It is the only layer that calls DynamoDB, except
// for jobs.
type items struct {
	api   API
	table string
	host  Host
}

// The attributes of items. They are short because each write is charged by its bytes.
const (
	attrPart  = "k" // partition key
	attrSort  = "s" // sort key
	attrSeq   = "n" // number of the last write of the item
	attrBody  = "b" // content
	attrNonce = "r" // of the last write that was no transaction; unique
	attrWide  = "w" // name of the parts of the content, if it is stored in items of its own
	attrCount = "c" // number of these parts
)

type item = attributevalue.Item

// key is the key of an item.
type key struct{ part, sort string }

func (k key) item() item {
	return item{attrPart: attributevalue.Text(k.part), attrSort: attributevalue.Text(k.sort)}
}

func keyOf(i item) key {
	return key{attributevalue.TextOf(i, attrPart), attributevalue.TextOf(i, attrSort)}
}

func seqOf(i item) int64 { return attributevalue.NumberOf(i, attrSeq) }

// getMany reads items strongly, and returns them by key. Absent items are omitted.
func (s *items) getMany(ctx context.Context, keys []key) (map[key]item, error) {
	const limit, width = 100, 8
	out := make(map[key]item, len(keys))
	unique := make([]item, 0, len(keys))
	for _, k := range keys {
		if _, twice := out[k]; !twice {
			out[k] = nil
			unique = append(unique, k.item())
		}
	}
	clear(out)
	batches := make([][]item, (len(unique)+limit-1)/limit)
	var calls errgroup.Group
	calls.SetLimit(width)
	for n := range batches {
		calls.Go(func() (err error) {
			batches[n], err = s.getBatch(ctx, unique[n*limit:min((n+1)*limit, len(unique))])
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, err
	}
	for _, batch := range batches {
		for _, i := range batch {
			out[keyOf(i)] = i
		}
	}
	return out, nil
}

// getBatch reads up to 100 items.
func (s *items) getBatch(ctx context.Context, keys []item) ([]item, error) {
	if len(keys) == 1 {
		out, err := s.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.table, Key: keys[0],
			ConsistentRead: aws.Bool(true)})
		if err != nil || out.Item == nil {
			return nil, awserr.Fault("read state", err)
		}
		return []item{out.Item}, nil
	}
	var out []item
	ask := map[string]types.KeysAndAttributes{
		s.table: {Keys: keys, ConsistentRead: aws.Bool(true)},
	}
	for try := 0; len(ask) > 0; try++ {
		if err := s.again(ctx, try, "read state"); err != nil {
			return nil, err
		}
		got, err := s.api.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: ask})
		if err != nil {
			return nil, awserr.Fault("read state", err)
		}
		out = append(out, got.Responses[s.table]...)
		if len(got.UnprocessedKeys[s.table].Keys) < len(ask[s.table].Keys) {
			try = 0 // there was progress, even if none of the keys has an item
		}
		ask = got.UnprocessedKeys
	}
	return out, nil
}

// deleteMany removes items. An absent item is not an error.
func (s *items) deleteMany(ctx context.Context, keys []key) error {
	const limit = 25
	for len(keys) > 0 {
		n := min(limit, len(keys))
		var reqs []types.WriteRequest
		for _, k := range keys[:n] {
			reqs = append(reqs, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: k.item()}})
		}
		keys = keys[n:]
		for try := 0; len(reqs) > 0; try++ {
			if err := s.again(ctx, try, "remove state"); err != nil {
				return err
			}
			out, err := s.api.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{s.table: reqs}})
			if err != nil {
				return awserr.Fault("remove state", err)
			}
			if left := out.UnprocessedItems[s.table]; len(left) < len(reqs) {
				try = 0
				reqs = left
			}
		}
	}
	return nil
}

// again backs off before another try of requests that DynamoDB left unprocessed. After a few tries
// without progress it fails.
func (s *items) again(ctx context.Context, try int, op string) error {
	const limit = 8
	switch {
	case try == 0:
		return nil
	case try > limit:
		return fault.New(fault.Unavailable, op, "DynamoDB left requests unprocessed %d times", try)
	}
	return s.host.Sleep(ctx, maxPause>>max(limit-2*try, 0))
}

// query calls f for the items that in selects, over all pages of the result, until f returns false.
func (s *items) query(
	ctx context.Context, in *dynamodb.QueryInput, f func(item) (bool, error),
) error {
	in.TableName = &s.table
	for {
		out, err := s.api.Query(ctx, in)
		if err != nil {
			return awserr.Fault("read state", err)
		}
		for _, i := range out.Items {
			if more, err := f(i); err != nil || !more {
				return err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// partition returns a query for all items of a partition whose sort key begins with a prefix. If
// strong is set, the read is strongly consistent.
func partition(part, prefix string, strong bool) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("k = :k"),
		ConsistentRead:            &strong,
		ExpressionAttributeValues: item{":k": attributevalue.Text(part)},
	}
	if prefix != "" {
		in.KeyConditionExpression = aws.String("k = :k AND begins_with(s, :s)")
		in.ExpressionAttributeValues[":s"] = attributevalue.Text(prefix)
	}
	return in
}

// op is the write of an item in a transaction.
type op struct {
	key
	item item // nil: the item is removed
	// The stored item has to have the number seq; 0: there is no item. If always is set, any item
	// may be stored.
	seq    int64
	always bool
}

// put returns a write of an item with the next number.
func put(k key, seq int64, i item) op {
	i[attrSeq] = attributevalue.Number(seq + 1)
	return op{key: k, item: i, seq: seq}
}

// condition returns the condition that the item is as it was read.
func (o *op) condition() (expr *string, values item) {
	switch {
	case o.always:
		return nil, nil
	case o.seq == 0:
		return aws.String("attribute_not_exists(k)"), nil
	}
	return aws.String("n = :n"), item{":n": attributevalue.Number(o.seq)}
}

// write writes items in one transaction. If another write came first, it returns errLost.
func (s *items) write(ctx context.Context, ops ...op) error {
	if len(ops) == 1 && ops[0].item != nil {
		return s.writeOne(ctx, &ops[0])
	}
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(s.newName())}
	for i := range ops {
		o := &ops[i]
		expr, values := o.condition()
		if o.item == nil {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Delete: &types.Delete{
				TableName: &s.table, Key: o.key.item(), ConditionExpression: expr,
				ExpressionAttributeValues: values}})
			continue
		}
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
			TableName: &s.table, Item: o.item, ConditionExpression: expr,
			ExpressionAttributeValues: values}})
	}
	_, err := s.api.TransactWriteItems(ctx, in)
	var canceled *types.TransactionCanceledException
	switch {
	case errors.As(err, &canceled):
		return lostTo(canceled)
	case awserr.Is(err, awserr.TransactionConflict):
		return errLost
	case awserr.Is(err, "ValidationException"):
		return fault.New(fault.Full, "write state", "one record is too large for DynamoDB: %v", err)
	}
	return awserr.Fault("write state", err)
}

// writeOne writes one item without a transaction, at half its price. The SDK may repeat a request
// whose answer was lost: the nonce shows that the stored item is from the first one.
func (s *items) writeOne(ctx context.Context, o *op) error {
	nonce := int64(s.host.Random() >> 1) // 63 bits
	o.item[attrNonce] = attributevalue.Number(nonce)
	expr, values := o.condition()
	_, err := s.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: o.item,
		ConditionExpression: expr, ExpressionAttributeValues: values,
		ReturnValuesOnConditionCheckFailure: oldItem})
	var failed *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &failed) && attributevalue.NumberOf(failed.Item, attrNonce) == nonce:
		return nil
	case awserr.Is(err, awserr.ConditionFailed, awserr.TransactionConflict):
		return errLost
	}
	return awserr.Fault("write state", err)
}

const oldItem = types.ReturnValuesOnConditionCheckFailureAllOld

// lostTo distinguishes a transaction that lost against another write from one that failed.
func lostTo(canceled *types.TransactionCanceledException) error {
	for _, r := range canceled.CancellationReasons {
		switch code := aws.ToString(r.Code); code {
		case "None", "", "ConditionalCheckFailed", "TransactionConflict":
		case "ThrottlingError", "ProvisionedThroughputExceeded":
			return fault.New(fault.Unavailable, "write state", "DynamoDB is throttling: %s",
				aws.ToString(r.Message))
		case "ItemCollectionSizeLimitExceeded", "ValidationError":
			return fault.New(fault.Full, "write state", "%s", aws.ToString(r.Message))
		default:
			return fault.New(fault.Internal, "write state", "%s: %s", code, aws.ToString(r.Message))
		}
	}
	return errLost
}

// errLost means that a conditional write lost against another write, or that the values read are
// not of one moment. The caller has to read again. It is never wrapped.
var errLost = fault.New(fault.Conflict, "write state", "another process was faster")

// errNothing means that no change is required. It is never wrapped.
var errNothing = fault.New(fault.Internal, "", "nothing to change")

const (
	maxTries = 60
	maxPause = 100 * time.Millisecond
)

// contend calls f until it returns anything but errLost, with growing random pauses.
func (s *items) contend(ctx context.Context, f func() error) error {
	for try := range maxTries {
		err := f()
		if err != errLost {
			return err
		}
		if try > 0 {
			limit := min(time.Millisecond<<min(try, 10), maxPause)
			pause := time.Duration(s.host.Random() % uint64(limit)) // positive
			if err := s.host.Sleep(ctx, pause); err != nil {
				return err
			}
		}
	}
	return fault.New(fault.Unavailable, "state", "other processes changed it %d times", maxTries)
}

// newName returns a unique name.
func (s *items) newName() string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], s.host.Random())
	binary.BigEndian.PutUint64(raw[8:], s.host.Random())
	return hex.EncodeToString(raw[:])
}

func sleep(ctx context.Context, d time.Duration) error {
	err := platform.Clock{}.Sleep(ctx, d)
	return fault.Wrap(fault.KindOf(err), "write state", err)
}

func secret() uint64 {
	var raw [8]byte
	_, _ = crand.Read(raw[:]) // it never fails
	return binary.BigEndian.Uint64(raw[:])
}
