package aws

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/dynamo"
	"southbound/shared/fault"
)

// mutant is a mutant with how many seeds are enough to find it.
type mutant struct {
	Mutant
	within uint64
}

// wrong is DynamoDB as a faulty port would use it, or a faulty DynamoDB.
type wrong struct {
	dynamo.API
	get      func(in *dynamodb.GetItemInput)
	query    func(in *dynamodb.QueryInput, out *dynamodb.QueryOutput)
	batch    func(in *dynamodb.BatchGetItemInput)
	put      func(ctx context.Context, in *dynamodb.PutItemInput) error
	transact func(ctx context.Context, in *dynamodb.TransactWriteItemsInput) error
	remove   func(in *dynamodb.BatchWriteItemInput) bool
}

func (w *wrong) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	if w.get != nil {
		w.get(in)
	}
	return w.API.GetItem(ctx, in)
}

func (w *wrong) Query(
	ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	if w.query != nil {
		w.query(in, nil)
	}
	out, err := w.API.Query(ctx, in)
	if err == nil && w.query != nil {
		w.query(in, out)
	}
	return out, err
}

func (w *wrong) BatchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	if w.batch != nil {
		w.batch(in)
	}
	return w.API.BatchGetItem(ctx, in)
}

func (w *wrong) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	if w.put != nil {
		if err := w.put(ctx, in); err != nil {
			return &dynamodb.PutItemOutput{}, nil
		}
	}
	return w.API.PutItem(ctx, in)
}

func (w *wrong) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	if w.transact != nil {
		if err := w.transact(ctx, in); err != nil {
			return &dynamodb.TransactWriteItemsOutput{}, nil
		}
	}
	return w.API.TransactWriteItems(ctx, in)
}

func (w *wrong) BatchWriteItem(
	ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	if w.remove != nil && !w.remove(in) {
		return &dynamodb.BatchWriteItemOutput{}, nil
	}
	return w.API.BatchWriteItem(ctx, in)
}

func api(name, why, check string, within uint64, w wrong) mutant {
	return mutant{Mutant{Name: name, Why: why, Check: check, API: func(to dynamo.API) dynamo.API {
		out := w
		out.API = to
		return &out
	}}, within}
}

// leftOut says that a request is not made.
var leftOut = fault.New(fault.Internal, "", "left out")

func isRecord(i item) bool {
	part, sort, _ := keyOf(i, false)
	return strings.HasPrefix(part, "L/") && strings.HasPrefix(sort, lanePrefix)
}

func isHead(i item) bool {
	part, _, _ := keyOf(i, false)
	return part == "env"
}

func mutants() []mutant {
	free := func(p *types.Put) { p.ConditionExpression, p.ExpressionAttributeValues = nil, nil }
	return []mutant{
		api("RecordUnconditional", "a record is written whatever it is now", "", 100,
			wrong{put: func(_ context.Context, in *dynamodb.PutItemInput) error {
				if isRecord(in.Item) {
					in.ConditionExpression = aws.String("attribute_not_exists(zz)")
					in.ExpressionAttributeValues = nil
				}
				return nil
			}}),
		api("HeadUnconditional", "a head in a transaction is written whatever it is now", "", 1000,
			wrong{transact: func(_ context.Context, in *dynamodb.TransactWriteItemsInput) error {
				for _, w := range in.TransactItems {
					if w.Put != nil && isHead(w.Put.Item) {
						free(w.Put)
					}
				}
				return nil
			}}),
		api("LanesUnconditional", "records in a transaction are written whatever they are now", "",
			200, wrong{transact: func(_ context.Context, in *dynamodb.TransactWriteItemsInput) error {
				for _, w := range in.TransactItems {
					if w.Put != nil && isRecord(w.Put.Item) {
						free(w.Put)
					}
				}
				return nil
			}}),
		api("VersionUnconditional", "a version is written although there is one", "commit", 1000,
			wrong{transact: func(_ context.Context, in *dynamodb.TransactWriteItemsInput) error {
				for _, w := range in.TransactItems {
					if w.Put != nil {
						if part, _, _ := keyOf(w.Put.Item, false); strings.HasPrefix(part, "V/") {
							free(w.Put)
						}
					}
				}
				return nil
			}}),
		api("NoToken", "a transaction that is repeated has another token", "", 300, wrong{}).
			again(),
		api("NoteNotWritten", "a commit that is rolled forward leaves no note", "", 1000,
			wrong{transact: func(_ context.Context, in *dynamodb.TransactWriteItemsInput) error {
				var kept []types.TransactWriteItem
				for _, w := range in.TransactItems {
					if w.Put != nil {
						if part, sort, _ := keyOf(w.Put.Item, false); strings.HasPrefix(part,
							"L/") &&
							sort == "l/" {
							continue
						}
					}
					kept = append(kept, w)
				}
				in.TransactItems = kept
				return nil
			}}),
		api("NoteIgnored",
			"who reads the records does not look at the note of a commit that is rolled forward",
			"roll", 500, wrong{query: func(_ *dynamodb.QueryInput, out *dynamodb.QueryOutput) {
				if out == nil {
					return
				}
				var kept []item
				for _, i := range out.Items {
					if part, sort, _ := keyOf(i, false); strings.HasPrefix(part, "L/") &&
						sort == "l/" {
						continue
					}
					kept = append(kept, i)
				}
				out.Items = kept
			}}),
		api("PartLeftOut", "a lane does not do its part of a commit", "", 200,
			wrong{put: func(ctx context.Context, _ *dynamodb.PutItemInput) error {
				if dynamo.PurposeOf(ctx).Name == "roll" {
					return leftOut
				}
				return nil
			}}),
		api("EventualHead", "the head is read eventually", "", 200,
			wrong{get: func(in *dynamodb.GetItemInput) {
				if part, _, _ := keyOf(in.Key, true); part == "env" {
					in.ConsistentRead = nil
				}
			}}),
		api("EventualRecord", "the record of a tablet is read eventually", "", 200,
			wrong{get: func(in *dynamodb.GetItemInput) {
				if part, _, _ := keyOf(in.Key, true); strings.HasPrefix(part, "L/") {
					in.ConsistentRead = nil
				}
			}}),
		api("EventualRecords", "all records are read eventually", "", 200,
			wrong{query: func(in *dynamodb.QueryInput, out *dynamodb.QueryOutput) {
				if v, ok := in.ExpressionAttributeValues[":k"].(*types.AttributeValueMemberS); ok &&
					strings.HasPrefix(v.Value, "L/") && out == nil {
					in.ConsistentRead = nil
				}
			}}),
		api("EventualPieces", "pages and runs are read eventually", "", 500,
			wrong{batch: func(in *dynamodb.BatchGetItemInput) {
				for table, ask := range in.RequestItems {
					ask.ConsistentRead = nil
					in.RequestItems[table] = ask
				}
			}}),
		api("UnprocessedForgotten", "what a batch left undone is not asked for again", "", 500,
			wrong{}).forgetting(),
		mutant{Mutant{Name: "RefusalTakenForSuccess",
			Why: "a write that lost is taken for one that was made",
			API: func(to dynamo.API) dynamo.API { return &deaf{wrong{API: to}} }}, 100},
		api("RestNotRemoved", "nobody ends a rest", "rest", 2000,
			wrong{put: func(ctx context.Context, _ *dynamodb.PutItemInput) error {
				if dynamo.PurposeOf(ctx).Name == "rest" {
					return leftOut
				}
				return nil
			}}),
		api("RefusalNotWritten", "what was refused to start stays noted as running", "", 200,
			wrong{put: func(ctx context.Context, in *dynamodb.PutItemInput) error {
				if dynamo.PurposeOf(ctx).Name == "refuse" && isRecord(in.Item) {
					return leftOut
				}
				return nil
			}}),
		objects("ObjectsDroppedEarly", "an object is removed as soon as it was read", "", 300,
			func(o *wrongObjects) { o.after = true }),
		objects("OrphansTooYoung", "objects are orphans at once", "audit", 500,
			func(o *wrongObjects) { o.old = true }),
		api("PiecesTooYoung", "pieces are orphans at once", "", 500, wrong{query: func(
			in *dynamodb.QueryInput, out *dynamodb.QueryOutput,
		) {
			if out == nil {
				return
			}
			for n, i := range out.Items {
				if part, _, _ := keyOf(i, false); strings.HasPrefix(part, "R/") {
					out.Items[n] = maps.Clone(i)
					delete(out.Items[n], "t")
				}
			}
		}}),
		api("OrphansStay", "pieces that nothing names stay", "orphans", 200,
			wrong{transact: func(_ context.Context, in *dynamodb.TransactWriteItemsInput) error {
				if d := in.TransactItems[0].Delete; d != nil && d.ConditionExpression != nil {
					return leftOut
				}
				return nil
			}}),
		objects("PutsLost", "an object is named before it is stored", "", 300,
			func(o *wrongObjects) { o.lose = true }),
	}
}

// deaf does not learn that a write was refused.
type deaf struct{ wrong }

func (d *deaf) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	out, err := d.API.PutItem(ctx, in)
	if errors.As(err, new(*types.ConditionalCheckFailedException)) {
		return &dynamodb.PutItemOutput{}, nil
	}
	return out, err
}

// again makes every repetition of a transaction by the SDK one of its own.
func (m mutant) again() mutant {
	m.Table = func(t *Table) { t.forgetTokens = true }
	return m
}

// forgetting drops what batches leave undone.
func (m mutant) forgetting() mutant {
	m.Table = func(t *Table) { t.forgetRest = true }
	return m
}

// wrongObjects is a bucket as a faulty port would use it.
type wrongObjects struct {
	dynamo.Objects
	after, old, lose bool
	n                int
}

func objects(name, why, check string, within uint64, f func(o *wrongObjects)) mutant {
	return mutant{Mutant{Name: name, Why: why, Check: check,
		Objects: func(to dynamo.Objects) dynamo.Objects {
			o := &wrongObjects{Objects: to}
			f(o)
			return o
		}}, within}
}

func (o *wrongObjects) Get(ctx context.Context, name string) ([]byte, error) {
	out, err := o.Objects.Get(ctx, name)
	if o.after && err == nil {
		_ = o.Objects.Delete(ctx, name)
	}
	return out, err
}

func (o *wrongObjects) Put(ctx context.Context, name string, data []byte) error {
	if o.n++; o.lose && o.n%7 == 0 {
		return nil
	}
	return o.Objects.Put(ctx, name, data)
}

func (o *wrongObjects) List(
	ctx context.Context, f func(name string, stored time.Time) error,
) error {
	return o.Objects.List(ctx, func(name string, stored time.Time) error {
		if o.old {
			stored = time.Time{}
		}
		return f(name, stored)
	})
}
