package dynamo

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
	"southbound/shared/platform"
)

// items reads and writes the items of the table. It is the only layer that calls DynamoDB for reads
// and for conditional writes.
type items struct {
	api   API
	table string
	host  Host
}

// The attributes of items. They are short because each write of a record is charged by its bytes.
const (
	attrPart = "k" // partition key
	attrSort = "s" // sort key
	attrSeq  = "n" // number of the last change of the item
	attrBody = "b"
	attrTime = "t" // when the item was written, in seconds since 1970; only for possible orphans
)

type item = attributevalue.Item

// Keys. Each begins with the kind of the item; the rest is stored as it is.
const (
	headPart     = "env"
	headPrefix   = "."
	recordPrefix = "l/"
	lanePrefix   = "l/="
	paramsKey    = "b/params"
	agentsSort   = "b/agents"
	txSort       = "l/" // sorts before all lanes
	shards       = 8
)

func recordPart(env string) string { return "L/" + env }

func versionPart(env string) string { return "V/" + env }

func versionSort(n int) string { return fmt.Sprintf("%010d", n) }

func versionNumber(sort string) int {
	n, _ := strconv.Atoi(sort)
	return n
}

func itemPart(env string) string { return "R/" + env }

func pagePart(env string, shard uint32) string { return fmt.Sprintf("P%d/%s", shard, env) }

func shardOf(key string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return h.Sum32() % shards
}

// pageSort returns the sort key of a page. It orders the pages of a tablet by the last change in
// them.
func pageSort(key string, last int64) string { return fmt.Sprintf("%s/%016x", key, last) }

// pageOf returns the key of the tablet of a page, and the last change in the page.
func pageOf(sort string) (key string, last int64) {
	i := strings.LastIndexByte(sort, '/')
	if i < 0 {
		return "", 0
	}
	last, _ = strconv.ParseInt(sort[i+1:], 16, 64)
	return sort[:i], last
}

// keyOf returns the sort key of the record of a lease, and laneOf parses the sort key of a record.
func keyOf(lease string) string { return lanePrefix + lease }

func laneOf(key string) (string, bool) {
	lane, ok := strings.CutPrefix(key, lanePrefix)
	return lane, ok
}

func keyItem(part, sort string) item {
	return item{attrPart: attributevalue.Text(part), attrSort: attributevalue.Text(sort)}
}

// get reads one item strongly. If the item does not exist, get returns nil.
func (s *items) get(ctx context.Context, part, sort string) (item, error) {
	out, err := s.api.GetItem(
		ctx,
		&dynamodb.GetItemInput{
			TableName:      &s.table,
			Key:            keyItem(part, sort),
			ConsistentRead: aws.Bool(true),
		},
	)
	if err != nil {
		return nil, awserr.Fault("read state", err)
	}
	return out.Item, nil
}

// getMany reads items strongly, in any order, and omits items that do not exist.
func (s *items) getMany(ctx context.Context, keys []item) ([]item, error) {
	const limit = 100
	var out []item
	for len(keys) > 0 {
		n := min(limit, len(keys))
		ask := map[string]types.KeysAndAttributes{
			s.table: {Keys: keys[:n], ConsistentRead: aws.Bool(true)},
		}
		keys = keys[n:]
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
	}
	return out, nil
}

// deleteMany removes items. An absent item is not an error.
func (s *items) deleteMany(ctx context.Context, keys []item) error {
	const limit = 25
	for len(keys) > 0 {
		n := min(limit, len(keys))
		var reqs []types.WriteRequest
		for _, k := range keys[:n] {
			reqs = append(reqs, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: k}})
		}
		keys = keys[n:]
		for try := 0; len(reqs) > 0; try++ {
			if err := s.again(ctx, try, "remove state"); err != nil {
				return err
			}
			out, err := s.api.BatchWriteItem(
				ctx,
				&dynamodb.BatchWriteItemInput{
					RequestItems: map[string][]types.WriteRequest{s.table: reqs},
				},
			)
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
	ctx context.Context,
	in *dynamodb.QueryInput,
	f func(item) (bool, error),
) error {
	in.TableName = &s.table
	for {
		out, err := s.api.Query(ctx, in)
		if err != nil {
			return awserr.Fault("read state", err)
		}
		for _, i := range out.Items {
			more, err := f(i)
			if err != nil || !more {
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

// newName returns a unique name for an object.
func (s *items) newName() string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:], s.host.Random())
	binary.BigEndian.PutUint64(raw[8:], s.host.Random())
	return hex.EncodeToString(raw[:])
}

// pauseFor returns a random time below a limit.
func (s *items) pauseFor(limit time.Duration) time.Duration {
	return time.Duration(s.host.Random() % uint64(max(limit, 1))) // positive
}

// put is a conditional write of an item: the stored number must be seq. If remove is set, it
// deletes the item. Then written, if not 0, must be the time when the item was written.
type put struct {
	part, sort string
	seq        int64
	item       item
	remove     bool
	written    int64
	always     bool // the item is written whatever is stored
}

// condition returns the condition that the item is as it was read.
func (p *put) condition() (expr string, values item) {
	if p.seq == 0 {
		return "attribute_not_exists(k)", nil
	}
	return "n = :n", item{":n": attributevalue.Number(p.seq)}
}

const oldItem = types.ReturnValuesOnConditionCheckFailureAllOld

// putOne writes one item. If another write came first, putOne returns errLost and the current item,
// or nil if the item is unknown.
func (s *items) putOne(ctx context.Context, p put) (item, error) {
	expr, values := p.condition()
	_, err := s.api.PutItem(
		ctx,
		&dynamodb.PutItemInput{TableName: &s.table, Item: p.item, ConditionExpression: &expr,
			ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: oldItem},
	)
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &failed):
		return failed.Item, errLost
	case awserr.Is(err, awserr.ConditionFailed, awserr.TransactionConflict):
		return nil, errLost
	}
	return nil, awserr.Fault("write state", err)
}

// putAll writes items in one transaction. If another write came first, putAll returns errLost and
// the current items that caused it, by their index in puts.
func (s *items) putAll(ctx context.Context, puts []put) (map[int]item, error) {
	token := s.newName()
	in := &dynamodb.TransactWriteItemsInput{ClientRequestToken: &token}
	for i := range puts {
		if puts[i].remove {
			gone := types.Delete{TableName: &s.table, Key: keyItem(puts[i].part, puts[i].sort)}
			if puts[i].written != 0 {
				gone.ConditionExpression = aws.String("t = :t")
				gone.ExpressionAttributeValues = item{
					":t": attributevalue.Number(puts[i].written)}
			}
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Delete: &gone})
			continue
		}
		if puts[i].always {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{
				Put: &types.Put{TableName: &s.table, Item: puts[i].item}})
			continue
		}
		expr, values := puts[i].condition()
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
			TableName: &s.table, Item: puts[i].item,
			ConditionExpression: &expr, ExpressionAttributeValues: values,
			ReturnValuesOnConditionCheckFailure: oldItem,
		}})
	}
	_, err := s.api.TransactWriteItems(ctx, in)
	var canceled *types.TransactionCanceledException
	if !errors.As(err, &canceled) {
		if awserr.Is(err, awserr.TransactionConflict) {
			return nil, errLost
		}
		return nil, awserr.Fault("write state", err)
	}
	return lostTo(canceled)
}

// lostTo distinguishes a transaction that lost against another write from one that failed.
func lostTo(canceled *types.TransactionCanceledException) (map[int]item, error) {
	lost := map[int]item{}
	for i, r := range canceled.CancellationReasons {
		switch code := aws.ToString(r.Code); code {
		case "None", "":
		case "ConditionalCheckFailed":
			lost[i] = r.Item
		case "TransactionConflict":
			lost[i] = nil
		case "ThrottlingError", "ProvisionedThroughputExceeded":
			return nil, fault.New(fault.Unavailable, "write state", "DynamoDB is throttling: %s",
				aws.ToString(r.Message))
		case "ItemCollectionSizeLimitExceeded":
			return nil, fault.New(fault.Full, "write state", "%s", aws.ToString(r.Message))
		default:
			return nil, fault.New(fault.Internal, "write state", "%s: %s", code,
				aws.ToString(r.Message))
		}
	}
	return lost, errLost
}

// errLost means that a conditional write lost against another write, or that the values read are
// not of one moment. The caller has to read again.
var errLost = fault.New(fault.Conflict, "write state", "somebody else was faster")

// contend calls f until it returns anything but errLost, with growing random pauses.
func (s *items) contend(ctx context.Context, f func() error) error {
	for try := range maxTries {
		err := f()
		if err != errLost { // it is never wrapped
			return err
		}
		if try > 0 {
			limit := min(time.Millisecond<<min(try, 10), maxPause)
			if err := s.host.Sleep(ctx, s.pauseFor(limit)); err != nil {
				return err
			}
		}
	}
	return fault.New(fault.Unavailable, "state", "others changed it %d times meanwhile", maxTries)
}

func sleep(ctx context.Context, d time.Duration) error {
	err := platform.Clock{}.Sleep(ctx, d)
	return fault.Wrap(fault.KindOf(err), "write state", err)
}
