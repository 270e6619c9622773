package dynamo

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
)

// The attributes of items. They are short because every byte of a record is paid for at every
// write.
const (
	attrPart = "k" // partition key
	attrSort = "s" // sort key
	attrSeq  = "n" // number of the change that made the item what it is
	attrBody = "b"
)

type item = attributevalue.Item

// Keys. Each begins with what kind of item it is; what follows is kept as it is.
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

// pageSort orders the pages of a tablet by the last change in them.
func pageSort(key string, last int64) string { return fmt.Sprintf("%s/%016x", key, last) }

// pageOf returns the key of the tablet of a page, and the last change in it.
func pageOf(sort string) (key string, last int64) {
	i := strings.LastIndexByte(sort, '/')
	if i < 0 {
		return "", 0
	}
	last, _ = strconv.ParseInt(sort[i+1:], 16, 64)
	return sort[:i], last
}

// keyOf returns the sort key of the record of a lease, and laneOf what a record's sort key says.
func keyOf(lease string) string { return lanePrefix + lease }

func laneOf(key string) (string, bool) {
	lane, ok := strings.CutPrefix(key, lanePrefix)
	return lane, ok
}

func keyItem(part, sort string) item {
	return item{attrPart: attributevalue.Text(part), attrSort: attributevalue.Text(sort)}
}

// get reads one item strongly; nil when there is none.
func (s *State) get(ctx context.Context, part, sort string) (item, error) {
	out, err := s.API.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.Table, Key: keyItem(part, sort), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, awserr.Fault("read state", err)
	}
	return out.Item, nil
}

// getMany reads items strongly, in any order; those that do not exist are left out.
func (s *State) getMany(ctx context.Context, keys []item) ([]item, error) {
	const limit = 100
	var out []item
	for len(keys) > 0 {
		n := min(limit, len(keys))
		ask := map[string]types.KeysAndAttributes{s.Table: {Keys: keys[:n], ConsistentRead: aws.Bool(true)}}
		keys = keys[n:]
		for try := 0; len(ask) > 0; try++ {
			if err := s.again(ctx, try, "read state"); err != nil {
				return nil, err
			}
			got, err := s.API.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: ask})
			if err != nil {
				return nil, awserr.Fault("read state", err)
			}
			out = append(out, got.Responses[s.Table]...)
			if len(got.Responses[s.Table]) > 0 {
				try = 0 // there was progress
			}
			ask = got.UnprocessedKeys
		}
	}
	return out, nil
}

// deleteMany removes items; absent ones are no error.
func (s *State) deleteMany(ctx context.Context, keys []item) error {
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
			out, err := s.API.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{s.Table: reqs}})
			if err != nil {
				return awserr.Fault("remove state", err)
			}
			if left := out.UnprocessedItems[s.Table]; len(left) < len(reqs) {
				try = 0
				reqs = left
			}
		}
	}
	return nil
}

// again waits before another try of what DynamoDB left unprocessed, and gives up after a few
// without progress.
func (s *State) again(ctx context.Context, try int, op string) error {
	const limit = 8
	switch {
	case try == 0:
		return nil
	case try > limit:
		return fault.New(fault.Unavailable, op, "DynamoDB left requests unprocessed %d times", try)
	}
	return s.Host.Sleep(ctx, maxPause>>max(limit-2*try, 0))
}

// query calls f for the items of a partition that in asks for; more than one page when there are.
// It stops when f returns false.
func (s *State) query(ctx context.Context, in *dynamodb.QueryInput, f func(item) (bool, error)) error {
	in.TableName = &s.Table
	for {
		out, err := s.API.Query(ctx, in)
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

// partition asks for all items of a partition whose sort key begins with a prefix; strong or not.
func partition(part, prefix string, strong bool) *dynamodb.QueryInput {
	in := &dynamodb.QueryInput{KeyConditionExpression: aws.String("k = :k"), ConsistentRead: &strong,
		ExpressionAttributeValues: item{":k": attributevalue.Text(part)}}
	if prefix != "" {
		in.KeyConditionExpression = aws.String("k = :k AND begins_with(s, :s)")
		in.ExpressionAttributeValues[":s"] = attributevalue.Text(prefix)
	}
	return in
}
