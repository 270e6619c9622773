//go:build servers

package aws

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
)

// TestModelAnswersLikeDynamoDB sends the same random requests to the model and to DynamoDB Local
// and compares the answers, with what was refused and why.
func TestModelAnswersLikeDynamoDB(t *testing.T) {
	t.Parallel()
	s, err := server.Start(t.Context(), server.DynamoDB)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	db := dynamodb.NewFromConfig(awstest.Config(s.URL, nil))
	for seed := range uint64(6) {
		table := awstest.Unique(t)
		if _, err := db.CreateTable(t.Context(), dynamo.Table(table)); err != nil &&
			!awserr.Is(err, awserr.TableInUse) {
			t.Fatal(err)
		}
		// the same every time
		p := pair{t: t, rng: rand.New(rand.NewPCG(seed, 9)), table: table, real: db,
			model: NewTable(table)}
		for range 400 {
			p.request()
		}
		p.all()
	}
}

// pair asks both.
type pair struct {
	t      *testing.T
	rng    *rand.Rand
	table  string
	real   dynamo.API
	model  dynamo.API
	tokens []*dynamodb.TransactWriteItemsInput
}

func (p *pair) key() item {
	return item{attrPart: &types.AttributeValueMemberS{Value: fmt.Sprintf("p%d", p.rng.IntN(2))},
		attrSort: &types.AttributeValueMemberS{
			Value: []string{"a", "a/b", "a/c", "b", "l/", "l/=x"}[p.rng.IntN(6)]}}
}

func (p *pair) item() item {
	i := p.key()
	i["n"] = &types.AttributeValueMemberN{Value: fmt.Sprint(p.rng.IntN(3))}
	i["b"] = &types.AttributeValueMemberB{Value: []byte{byte(p.rng.IntN(9)), 1}}
	return i
}

// condition returns an expression and its values; now and then a wrong one.
func (p *pair) condition() (*string, item) {
	n := item{":n": &types.AttributeValueMemberN{Value: fmt.Sprint(p.rng.IntN(3))}}
	switch p.rng.IntN(12) {
	case 0, 1, 2:
		return aws.String("attribute_not_exists(k)"), nil
	case 3, 4, 5, 6, 7:
		return aws.String("n = :n"), n
	case 10:
		return aws.String("attribute_not_exists(k) OR n < :n"), n
	case 8:
		return aws.String("n = :m"), n // not defined
	case 9:
		return aws.String("attribute_not_exists(k)"), n // not used
	}
	return nil, nil
}

// wrong reports whether a condition does not fit its values.
func (p *pair) wrong(w *types.Put) bool {
	_, err := condition(w.ConditionExpression, w.ExpressionAttributeValues, nil)
	return err != nil
}

const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

func (p *pair) request() {
	ctx := p.t.Context()
	switch p.rng.IntN(8) {
	case 0, 1:
		in := &dynamodb.PutItemInput{TableName: &p.table, Item: p.item(),
			ReturnValuesOnConditionCheckFailure: allOld}
		in.ConditionExpression, in.ExpressionAttributeValues = p.condition()
		ask(p, in, func(api dynamo.API) (*dynamodb.PutItemOutput, error) {
			return api.PutItem(ctx, in)
		})
	case 2:
		in := &dynamodb.GetItemInput{TableName: &p.table, Key: p.key(),
			ConsistentRead: aws.Bool(true)}
		ask(p, in, func(api dynamo.API) (*dynamodb.GetItemOutput, error) {
			return api.GetItem(ctx, in)
		})
	case 3:
		p.query(ctx)
	case 4:
		var keys []item
		for range 1 + p.rng.IntN(3) {
			keys = append(keys, p.key())
		}
		in := &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{
				p.table: {Keys: keys, ConsistentRead: aws.Bool(true)}}}
		ask(p, in, func(api dynamo.API) (*dynamodb.BatchGetItemOutput, error) {
			return api.BatchGetItem(ctx, in)
		})
	case 5:
		var reqs []types.WriteRequest
		for range 1 + p.rng.IntN(2) {
			reqs = append(reqs,
				types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: p.key()}})
		}
		in := &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{p.table: reqs}}
		ask(p, in, func(api dynamo.API) (*dynamodb.BatchWriteItemOutput, error) {
			return api.BatchWriteItem(ctx, in)
		})
	default:
		p.transact(ctx)
	}
}

func (p *pair) query(ctx context.Context) {
	in := &dynamodb.QueryInput{TableName: &p.table, KeyConditionExpression: aws.String("k = :k"),
		ConsistentRead:            aws.Bool(true),
		ExpressionAttributeValues: item{":k": p.key()[attrPart]}}
	switch p.rng.IntN(4) {
	case 0:
		in.KeyConditionExpression = aws.String("k = :k AND begins_with(s, :s)")
		in.ExpressionAttributeValues[":s"] = &types.AttributeValueMemberS{Value: "a/"}
	case 1:
		in.KeyConditionExpression = aws.String("k = :k AND s >= :s")
		in.ExpressionAttributeValues[":s"] = &types.AttributeValueMemberS{Value: "a/b"}
	case 2:
		in.KeyConditionExpression = aws.String("k = :k AND s BETWEEN :s AND :z")
		in.ExpressionAttributeValues[":s"] = &types.AttributeValueMemberS{Value: "a/b"}
		in.ExpressionAttributeValues[":z"] = &types.AttributeValueMemberS{Value: "l/"}
	}
	in.ScanIndexForward = aws.Bool(p.rng.IntN(2) == 0)
	if p.rng.IntN(2) == 0 {
		in.Limit = aws.Int32(1 + p.rng.Int32N(3))
	}
	for range 10 {
		copied := *in
		out, model := ask(p, in, func(api dynamo.API) (*dynamodb.QueryOutput, error) {
			return api.Query(ctx, &copied)
		})
		switch {
		case out == nil || len(out.LastEvaluatedKey)+len(model.LastEvaluatedKey) == 0:
			return
		// both may say that there is more where there is nothing
		case len(out.LastEvaluatedKey) == 0:
			copied.ExclusiveStartKey = model.LastEvaluatedKey
			if rest, err := p.model.Query(ctx, &copied); err != nil || len(rest.Items) > 0 {
				p.t.Fatalf("the model has more: %v, %v", rest, err)
			}
			return
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

func (p *pair) transact(ctx context.Context) {
	if len(p.tokens) > 0 && p.rng.IntN(4) == 0 { // once more, or another with the same token
		in := *p.tokens[p.rng.IntN(len(p.tokens))]
		if p.rng.IntN(4) == 0 {
			in.TransactItems = []types.TransactWriteItem{
				{Put: &types.Put{TableName: &p.table, Item: p.item()}}}
		}
		ask(p, &in, func(api dynamo.API) (*dynamodb.TransactWriteItemsOutput, error) {
			return api.TransactWriteItems(ctx, &in)
		})
		return
	}
	in := &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String(fmt.Sprintf("token-%d", p.rng.Uint64()))}
	seen := map[string]bool{}
	for range 1 + p.rng.IntN(3) {
		i := p.item()
		if seen[keyText(i)] {
			// DynamoDB Local looks at conditions before it looks at this, the service does not
			continue
		}
		seen[keyText(i)] = true
		if p.rng.IntN(4) == 0 {
			in.TransactItems = append(in.TransactItems,
				types.TransactWriteItem{Delete: &types.Delete{TableName: &p.table,
					Key: item{attrPart: i[attrPart], attrSort: i[attrSort]}}})
			continue
		}
		w := &types.Put{TableName: &p.table, Item: i, ReturnValuesOnConditionCheckFailure: allOld}
		if w.ConditionExpression, w.ExpressionAttributeValues = p.condition(); p.wrong(w) {
			w.ConditionExpression, w.ExpressionAttributeValues = nil, nil
		}
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: w})
	}
	p.tokens = append(p.tokens, in)
	ask(p, in, func(api dynamo.API) (*dynamodb.TransactWriteItemsOutput, error) {
		return api.TransactWriteItems(ctx, in)
	})
}

// all compares everything that is there at the end.
func (p *pair) all() {
	for n := range 2 {
		in := &dynamodb.QueryInput{TableName: &p.table,
			KeyConditionExpression: aws.String("k = :k"), ConsistentRead: aws.Bool(true),
			ExpressionAttributeValues: item{
				":k": &types.AttributeValueMemberS{Value: fmt.Sprintf("p%d", n)}}}
		ask(p, in, func(api dynamo.API) (*dynamodb.QueryOutput, error) {
			return api.Query(p.t.Context(), in)
		})
	}
}

// ask asks both, compares the answers and returns them; nil when they refused.
func ask[T any](p *pair, in any, f func(api dynamo.API) (*T, error)) (want, got *T) {
	p.t.Helper()
	want, wantErr := f(p.real)
	got, err := f(p.model)
	if code(err) != code(wantErr) {
		p.t.Fatalf("%T %s: the model says %s (%v), DynamoDB says %s (%v)", in, show(in), code(err),
			err, code(wantErr), wantErr)
	}
	// Batches answer in any order.
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.SortSlices(less),
		ignored()); diff != "" && err == nil {
		p.t.Fatalf("%T %s: (-DynamoDB +model):\n%s", in, show(in), diff)
	}
	var wantFailed, failed *types.ConditionalCheckFailedException
	if errors.As(wantErr, &wantFailed) && errors.As(err, &failed) {
		if diff := cmp.Diff(wantFailed.Item, failed.Item, cmpopts.EquateEmpty(),
			ignored()); diff != "" {
			p.t.Fatalf("%T %s: what was in the way (-DynamoDB +model):\n%s", in, show(in), diff)
		}
	}
	var wantCanceled, canceled *types.TransactionCanceledException
	if errors.As(wantErr, &wantCanceled) && errors.As(err, &canceled) {
		if diff := cmp.Diff(wantCanceled.CancellationReasons, canceled.CancellationReasons,
			cmpopts.EquateEmpty(), ignored()); diff != "" {
			p.t.Fatalf("%T %s: reasons (-DynamoDB +model):\n%s", in, show(in), diff)
		}
	}
	return want, got
}

func show(in any) string {
	x, is := in.(*dynamodb.TransactWriteItemsInput)
	if !is {
		return fmt.Sprintf("%+v", in)
	}
	out := aws.ToString(x.ClientRequestToken)
	for _, w := range x.TransactItems {
		if w.Put != nil {
			out += " put " + keyText(w.Put.Item) + " if " + aws.ToString(w.Put.ConditionExpression)
		} else {
			out += " delete " + keyText(w.Delete.Key)
		}
	}
	return out
}

func less(a, b item) bool { return keyText(a) < keyText(b) }

// ignored leaves out what is not the answer.
func ignored() cmp.Option {
	return cmp.Options{
		cmp.FilterPath(func(path cmp.Path) bool {
			switch path.Last().String() {
			case ".LastEvaluatedKey", ".ResultMetadata", ".ScannedCount", ".ConsumedCapacity",
				".Message", ".noSmithyDocumentSerde":
				return true
			}
			return false
		}, cmp.Ignore()),
		cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{},
			types.AttributeValueMemberB{}),
	}
}

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return fmt.Sprint(err)
}

// keyText returns the key of an item, for comparisons.
func keyText(i item) string {
	part, sort, err := keyOf(item{attrPart: i[attrPart], attrSort: i[attrSort]}, true)
	return fmt.Sprint(part, "|", sort, err)
}
