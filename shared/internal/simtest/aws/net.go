package aws

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"southbound/shared/aws/awserr"
	"southbound/shared/aws/dynamo"
)

// attempts is how often the SDK sends a request.
const attempts = 3

var (
	errThrottled = &types.ProvisionedThroughputExceededException{Message: aws.String("slow down")}
	errBroken    = &types.InternalServerError{Message: aws.String("broken")}
	errNoAnswer  = &smithyhttp.RequestSendError{Err: io.ErrUnexpectedEOF}
)

// fate draws whether a fault affects an attempt. Its probability is the parameter of, in
// thousandths.
func (r *run) fate(of int) bool { return !r.calm && of > 0 && r.chance.IntN(1000) < of }

// kind classifies the effect of repeating a request.
type kind int

const (
	reads  kind = iota
	writes      // a repetition has the same effect or none, because of the token
	puts        // a repetition may fail because of the first attempt
)

// send sends a request as the SDK does, with retries. The request may take effect more than once,
// and after the sender has given up. An error that do returns is final; injected faults are
// retried.
func send[T any](r *run, what string, k kind, do func() (T, error)) (T, error) {
	var none T
	if r.still {
		return do()
	}
	p, o, f := r.cur.proc, r.cur.op, &r.plan.Faults
	var err error
	for try := range attempts {
		if try > 0 {
			r.pause(time.Duration(r.chance.IntN(100)) * time.Millisecond)
		}
		r.pause(0)
		switch {
		case r.fate(f.Slow):
			o.faults++
			r.happened("slow request")
			r.say("%s is slow", what)
			r.pause(time.Duration(20+r.chance.IntN(100)) * time.Second)
		case r.fate(f.CrashBefore):
			r.happened("crash before a request")
			r.crash(p)
		}
		switch {
		case r.fate(f.Throttle):
			r.happened("throttled")
			err = errThrottled
		case r.fate(f.Break):
			r.happened("broken service")
			err = errBroken
		case r.fate(f.Lose):
			r.happened("answer lost")
			if _, e := do(); e == nil && k == puts {
				o.lost = true
			}
			err = errNoAnswer
		case k != reads && r.fate(f.Late):
			o.lost = true // it may take effect after a later attempt failed
			r.late = append(r.late,
				lateEffect{r.now.Add(time.Duration(r.chance.IntN(30000)) * time.Millisecond),
					func() {
						cur := r.cur
						r.cur = &task{name: "late", proc: p, op: o}
						r.happened("late effect")
						_, e := do()
						r.say("late: %s: %v", what, e)
						r.cur = cur
					}})
			err = errNoAnswer
		default:
			out, e := do()
			r.say("%s: %v", what, errText(e))
			if r.fate(f.CrashAfter) {
				r.happened("crash after a request")
				r.crash(p)
			}
			return out, e
		}
		o.faults++
		r.say("%s: %v (sending %d)", what, err, try+1)
	}
	return none, err
}

func errText(err error) string {
	if err == nil {
		return "ok"
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// client is DynamoDB as a process sees it.
type client struct{ r *run }

// GetItem implements dynamo.API.
func (c *client) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return send(c.r, "get "+keyText(in.Key), reads,
		func() (*dynamodb.GetItemOutput, error) { return c.r.table.GetItem(ctx, in) })
}

// Query implements dynamo.API.
func (c *client) Query(
	ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	copied := *in // the port reuses in for the next page
	return send(c.r,
		"query "+aws.ToString(in.KeyConditionExpression)+valuesText(in.ExpressionAttributeValues),
		reads, func() (*dynamodb.QueryOutput, error) {
			return c.r.table.Query(ctx, &copied)
		})
}

// BatchGetItem implements dynamo.API.
func (c *client) BatchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	return send(c.r, "get many", reads,
		func() (*dynamodb.BatchGetItemOutput, error) { return c.r.table.BatchGetItem(ctx, in) })
}

// BatchWriteItem implements dynamo.API.
func (c *client) BatchWriteItem(
	ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	what := "remove"
	for _, list := range in.RequestItems {
		for _, w := range list {
			what += " " + keyText(w.DeleteRequest.Key)
		}
	}
	return send(c.r, what, writes,
		func() (*dynamodb.BatchWriteItemOutput, error) { return c.r.table.BatchWriteItem(ctx, in) })
}

// PutItem implements dynamo.API.
func (c *client) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	p := dynamo.PurposeOf(ctx)
	return send(c.r, "put "+p.Name+" "+keyText(in.Item), puts,
		func() (*dynamodb.PutItemOutput, error) {
			if shared(in.Item) && c.r.fate(c.r.plan.Faults.Conflict) {
				c.r.happened("conflict with a transaction")
				return nil,
					&types.TransactionConflictException{
						Message: aws.String("a transaction is under way")}
			}
			out, err := c.r.table.PutItem(ctx, in)
			if err == nil && in.ConditionExpression != nil {
				c.r.wrote(p, []types.TransactWriteItem{{Put: &types.Put{Item: in.Item}}})
			}
			return out, err
		})
}

// recordOfForwards is the key, as in traces, of the item with which a roll-forward begins.
const recordOfForwards = "L/" + env + "|l/"

// shared reports whether transactions also write an item: it is a record or a head.
func shared(i item) bool {
	part, _, _ := keyOf(i, false)
	return part == "env" || strings.HasPrefix(part, "L/")
}

// TransactWriteItems implements dynamo.API.
func (c *client) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	p := dynamo.PurposeOf(ctx)
	what := "transact " + p.Name
	for _, w := range in.TransactItems {
		if w.Put != nil {
			what += " " + keyText(w.Put.Item)
		} else if w.Delete != nil {
			what += " -" + keyText(w.Delete.Key)
		}
	}
	if c.r.plan.lingers && !c.r.still && strings.HasSuffix(what, " "+recordOfForwards) {
		c.r.pause(time.Duration(c.r.chance.IntN(10000)) * time.Millisecond)
	}
	return send(c.r, what, writes, func() (*dynamodb.TransactWriteItemsOutput, error) {
		if !c.r.table.knows(in) && c.r.fate(c.r.plan.Faults.Conflict) {
			c.r.happened("conflict of transactions")
			reasons := make([]types.CancellationReason, len(in.TransactItems))
			for i := range reasons {
				reasons[i].Code = aws.String("None")
			}
			reasons[c.r.chance.IntN(len(reasons))].Code = aws.String("TransactionConflict")
			return nil,
				&types.TransactionCanceledException{Message: aws.String("canceled"),
					CancellationReasons: reasons}
		}
		before := c.r.table.writes
		out, err := c.r.table.TransactWriteItems(ctx, in)
		if err == nil && c.r.table.writes > before { // otherwise it was a repetition
			c.r.wrote(p, in.TransactItems)
		}
		return out, err
	})
}

// bucketClient is S3 as a process sees it.
type bucketClient struct{ r *run }

// Put implements dynamo.Objects.
func (b *bucketClient) Put(ctx context.Context, name string, data []byte) error {
	_, err := send(b.r, "store "+name, writes,
		func() (struct{}, error) { return struct{}{}, b.r.objects.Put(ctx, name, data) })
	return unanswered(err)
}

// Get implements dynamo.Objects.
func (b *bucketClient) Get(ctx context.Context, name string) ([]byte, error) {
	out, err := send(b.r, "fetch "+name, reads,
		func() ([]byte, error) { return b.r.objects.Get(ctx, name) })
	return out, unanswered(err)
}

// Delete implements dynamo.Objects.
func (b *bucketClient) Delete(ctx context.Context, names ...string) error {
	_, err := send(b.r, "discard "+strings.Join(names, " "), writes,
		func() (struct{}, error) { return struct{}{}, b.r.objects.Delete(ctx, names...) })
	return unanswered(err)
}

// List implements dynamo.Objects.
func (b *bucketClient) List(
	ctx context.Context, f func(name string, stored time.Time) error,
) error {
	_, err := send(b.r, "list", reads,
		func() (struct{}, error) { return struct{}{}, b.r.objects.List(ctx, f) })
	return unanswered(err)
}

func keyText(i item) string {
	part, sort, err := keyOf(item{attrPart: i[attrPart], attrSort: i[attrSort]}, true)
	return part + "|" + sort + errSuffix(err)
}

func errSuffix(err error) string {
	if err == nil {
		return ""
	}
	return "?"
}

func valuesText(i item) string {
	out := ""
	for _, name := range []string{":k", ":s"} {
		if v, ok := i[name].(*types.AttributeValueMemberS); ok {
			out += " " + v.Value
		}
	}
	return out
}

// unanswered converts a network error as package bucket does.
func unanswered(err error) error {
	if err == nil ||
		!(errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, new(*types.InternalServerError)) ||
			errors.As(err, new(*types.ProvisionedThroughputExceededException))) {
		return err
	}
	return awserr.Fault("reach the bucket", err)
}
