package aws

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/dynamo"
	"southbound/shared/fault"
)

// Fate is what happens to a request on its way.
type Fate int

// The fates.
const (
	Arrives Fate = iota
	Dropped      // it has no effect, and the caller gets an error
	Unknown      // it takes effect, and the caller gets an error
	Lost         // it loses against another write
	Twice        // its first answer is lost, and it is sent again
)

// Wire sends the requests of a process to a table.
type Wire struct {
	To *Table
	// Fate decides about each request. It may wait.
	Fate func(operation string) Fate
	// Change, when not nil, makes a mutant: it changes a transaction.
	Change func(in *dynamodb.TransactWriteItemsInput)

	mu    sync.Mutex
	calls map[string]int // by operation
}

var _ dynamo.API = (*Wire)(nil)

// Take returns the numbers of requests by operation since the last call.
func (w *Wire) Take() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.calls
	w.calls = nil
	return out
}

// Writes reports whether an operation writes.
func Writes(operation string) bool {
	return operation == "PutItem" || operation == "TransactWriteItems" ||
		operation == "BatchWriteItem"
}

// send sends a request.
func send[In, Out any](
	ctx context.Context, w *Wire, operation string, in *In,
	call func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error),
) (*Out, error) {
	w.mu.Lock()
	if w.calls == nil {
		w.calls = map[string]int{}
	}
	w.calls[operation]++
	w.mu.Unlock()
	fate := Arrives
	if w.Fate != nil {
		fate = w.Fate(operation)
	}
	broken := fault.New(fault.Unavailable, "request", "%s got no answer", operation)
	switch {
	case fate == Dropped:
		return nil, broken
	case fate == Lost && Writes(operation) && operation != "BatchWriteItem":
		return nil, conflict()
	}
	if fate == Twice {
		_, _ = call(ctx, in)
	}
	out, err := call(ctx, in)
	if fate == Unknown {
		return nil, broken
	}
	return out, err
}

// GetItem implements dynamo.API.
func (w *Wire) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	return send(ctx, w, "GetItem", in, w.To.GetItem)
}

// PutItem implements dynamo.API.
func (w *Wire) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return send(ctx, w, "PutItem", in, w.To.PutItem)
}

// Query implements dynamo.API.
func (w *Wire) Query(
	ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	return send(ctx, w, "Query", in, w.To.Query)
}

// BatchGetItem implements dynamo.API.
func (w *Wire) BatchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	return send(ctx, w, "BatchGetItem", in, w.To.BatchGetItem)
}

// BatchWriteItem implements dynamo.API.
func (w *Wire) BatchWriteItem(
	ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	return send(ctx, w, "BatchWriteItem", in, w.To.BatchWriteItem)
}

// TransactWriteItems implements dynamo.API.
func (w *Wire) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	if w.Change != nil {
		w.Change(in)
	}
	return send(ctx, w, "TransactWriteItems", in, w.To.TransactWriteItems)
}
