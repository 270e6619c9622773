// Package meter counts the requests of a program to AWS: calls by operation, attempts, and the
// capacity that DynamoDB reports. Costs are computed from these counts.
package meter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// Count holds the counts of one operation.
type Count struct {
	Calls    int     // by the program
	Attempts int     // on the wire: calls and repetitions by the SDK
	WCU      float64 // write units, transactions at their double price
	RCU      float64 // read units; an eventually consistent read counts half
}

// Meter counts requests. The zero value is ready for use. Any number of goroutines may use it.
type Meter struct {
	mu     sync.Mutex
	counts map[string]Count
}

// Install makes the meter count the requests of every client that is made from c afterwards.
func (m *Meter) Install(c *aws.Config) {
	c.APIOptions = append(c.APIOptions, m.add)
}

func (m *Meter) add(s *middleware.Stack) error {
	if err := s.Initialize.Add(middleware.InitializeMiddlewareFunc("southbound:meter-call", m.call),
		middleware.After); err != nil {
		return err
	}
	return s.Finalize.Add(middleware.FinalizeMiddlewareFunc("southbound:meter-attempt", m.attempt),
		middleware.After)
}

// name returns the name of an operation with its service, such as "DynamoDB.PutItem".
func name(ctx context.Context) string {
	return awsmiddleware.GetServiceID(ctx) + "." + awsmiddleware.GetOperationName(ctx)
}

func (m *Meter) call(
	ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
) (middleware.InitializeOutput, middleware.Metadata, error) {
	askCapacity(in.Parameters)
	out, meta, err := next.HandleInitialize(ctx, in)
	c := Count{Calls: 1}
	for _, used := range capacity(out.Result) {
		w, r := aws.ToFloat64(used.WriteCapacityUnits), aws.ToFloat64(used.ReadCapacityUnits)
		if all := aws.ToFloat64(used.CapacityUnits); w == 0 && r == 0 {
			if writes(in.Parameters) {
				w = all
			} else {
				r = all
			}
		}
		c.WCU += w
		c.RCU += r
	}
	if in, is := in.Parameters.(*dynamodb.TransactWriteItemsInput); is {
		c.WCU = unitsOf(in)
	}
	m.count(name(ctx), c)
	return out, meta, err
}

// unitsOf returns the write units of a transaction as DynamoDB counts them: the size of each item
// is rounded up, and counts twice. DynamoDB Local rounds the sum. A removed item counts as one unit.
func unitsOf(in *dynamodb.TransactWriteItemsInput) float64 {
	const unit = 1024
	units := 0
	for _, w := range in.TransactItems {
		size := 1
		if w.Put != nil {
			size = max(size, sizeOf(w.Put.Item))
		}
		units += 2 * ((size + unit - 1) / unit)
	}
	return float64(units)
}

func sizeOf(item map[string]types.AttributeValue) int {
	n := 0
	for name, v := range item {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		default:
			n += 8
		}
	}
	return n
}

func (m *Meter) attempt(
	ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
) (middleware.FinalizeOutput, middleware.Metadata, error) {
	m.count(name(ctx), Count{Attempts: 1})
	return next.HandleFinalize(ctx, in)
}

func (m *Meter) count(name string, c Count) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts = map[string]Count{}
	}
	m.counts[name] = m.counts[name].plus(c)
}

func (c Count) plus(d Count) Count {
	return Count{Calls: c.Calls + d.Calls, Attempts: c.Attempts + d.Attempts, WCU: c.WCU + d.WCU,
		RCU: c.RCU + d.RCU}
}

// Take returns the counts since the last Take, by operation.
func (m *Meter) Take() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.counts
	m.counts = nil
	return out
}

// Counts are counts by operation, such as "DynamoDB.PutItem" or "S3.GetObject".
type Counts map[string]Count

// Sum adds the counts of the operations whose names begin with one of prefixes, or of all
// operations if there are no prefixes.
func (c Counts) Sum(prefixes ...string) Count {
	var out Count
	for name, n := range c {
		if len(prefixes) == 0 ||
			slices.ContainsFunc(prefixes,
				func(p string) bool { return strings.HasPrefix(name, p) }) {
			out = out.plus(n)
		}
	}
	return out
}

// String lists the counts, one line an operation.
func (c Counts) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		n := c[name]
		fmt.Fprintf(&b, "%-32s calls %6d  attempts %6d  WCU %9.1f  RCU %9.1f\n", name, n.Calls,
			n.Attempts, n.WCU, n.RCU)
	}
	return b.String()
}

// askCapacity makes a request return the capacity that it consumed.
func askCapacity(in any) {
	const total = types.ReturnConsumedCapacityTotal
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.UpdateItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.DeleteItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.GetItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.QueryInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.ScanInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.BatchGetItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.BatchWriteItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.TransactWriteItemsInput:
		in.ReturnConsumedCapacity = total
	}
}

func capacity(out any) []types.ConsumedCapacity {
	one := func(c *types.ConsumedCapacity) []types.ConsumedCapacity {
		if c == nil {
			return nil
		}
		return []types.ConsumedCapacity{*c}
	}
	switch out := out.(type) {
	case *dynamodb.PutItemOutput:
		return one(out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		return one(out.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		return one(out.ConsumedCapacity)
	case *dynamodb.GetItemOutput:
		return one(out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		return one(out.ConsumedCapacity)
	case *dynamodb.ScanOutput:
		return one(out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		return out.ConsumedCapacity
	case *dynamodb.BatchWriteItemOutput:
		return out.ConsumedCapacity
	case *dynamodb.TransactWriteItemsOutput:
		return out.ConsumedCapacity
	}
	return nil
}

func writes(in any) bool {
	switch in.(type) {
	case *dynamodb.PutItemInput, *dynamodb.UpdateItemInput, *dynamodb.DeleteItemInput,
		*dynamodb.BatchWriteItemInput, *dynamodb.TransactWriteItemsInput:
		return true
	}
	return false
}
