package aws

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/dynamo"
)

// The limits of DynamoDB.
const (
	maxOfTransaction = 100
	maxOfBatchGet    = 100
	maxOfBatchWrite  = 25
	maxItem          = 400 << 10
	maxTransaction   = 4 << 20 // bytes
	maxToken         = 36
	tokenLife        = 10 * time.Minute
)

// Table is a model of a DynamoDB table with string keys k and s. Each request takes effect
// immediately. It must not be used concurrently.
type Table struct {
	Name string
	// Now returns the time; nil: the system clock.
	Now func() time.Time
	// Page returns the maximum number of items of the next page of a query or a batch; nil:
	// unlimited.
	Page func() int
	// Lag returns by how many writes an eventually consistent read is behind; nil: none.
	Lag func() int

	mu     sync.Mutex // a request is answered whole; the suites send several at once
	parts  map[string]*partition
	writes int
	tokens map[string]answered
}

var _ dynamo.API = (*Table)(nil)

// partition holds items by sort key, with all their former revisions.
type partition struct {
	sorts []string // ascending; all sort keys that ever existed
	items map[string][]revision
}

// revision is an item after a write; a nil item was removed.
type revision struct {
	write int
	item  item
}

type answered struct {
	in *dynamodb.TransactWriteItemsInput
	at time.Time
}

// NewTable returns an empty table.
func NewTable(name string) *Table {
	return &Table{Name: name, parts: map[string]*partition{}, tokens: map[string]answered{}}
}

// At returns the table as it was after a number of writes, to be read.
func (t *Table) At(writes int) *Table {
	return &Table{Name: t.Name, parts: t.parts, writes: writes, tokens: map[string]answered{}}
}

// Writes returns the number of writes.
func (t *Table) Writes() int { return t.writes }

func (t *Table) now() time.Time {
	if t.Now != nil {
		return t.Now()
	}
	return time.Now()
}

func (t *Table) check(table *string) error {
	if aws.ToString(table) != t.Name {
		return &types.ResourceNotFoundException{Message: aws.String("there is no table " +
			aws.ToString(table))}
	}
	return nil
}

// keyOf returns the key of an item, or of a key. If only is set, i must not have other attributes.
func keyOf(i item, only bool) (part, sort string, err error) {
	p, ok1 := i[attrPart].(*types.AttributeValueMemberS)
	s, ok2 := i[attrSort].(*types.AttributeValueMemberS)
	if !ok1 || !ok2 || p.Value == "" || s.Value == "" || (only && len(i) != 2) {
		return "", "", invalid("The provided key element does not match the schema")
	}
	if len(p.Value) > 2048 || len(s.Value) > 1024 {
		return "", "",
			invalid("One or more parameter values were invalid: Size of key is too large")
	}
	return p.Value, s.Value, nil
}

// at returns an item as of a number of writes, or nil if it did not exist.
func (t *Table) at(part, sort string, writes int) item {
	p := t.parts[part]
	if p == nil {
		return nil
	}
	list := p.items[sort]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].write <= writes {
			return list[i].item
		}
	}
	return nil
}

// set writes an item, or removes it if i is nil. The caller has to increment t.writes before.
func (t *Table) set(part, sort string, i item) {
	p := t.parts[part]
	if p == nil {
		p = &partition{items: map[string][]revision{}}
		t.parts[part] = p
	}
	if at, have := slices.BinarySearch(p.sorts, sort); !have {
		p.sorts = slices.Insert(p.sorts, at, sort)
	}
	p.items[sort] = append(p.items[sort], revision{t.writes, i})
}

// sees returns the number of the last write that a read sees.
func (t *Table) sees(consistent *bool) int {
	if aws.ToBool(consistent) || t.Lag == nil {
		return t.writes
	}
	return t.writes - t.Lag()
}

// GetItem implements dynamo.API.
func (t *Table) GetItem(
	_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.check(in.TableName); err != nil {
		return nil, err
	}
	part, sort, err := keyOf(in.Key, true)
	if err != nil {
		return nil, err
	}
	return &dynamodb.GetItemOutput{Item: maps.Clone(t.at(part, sort, t.sees(in.ConsistentRead)))}, nil
}

// PutItem implements dynamo.API.
func (t *Table) PutItem(
	_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.check(in.TableName); err != nil {
		return nil, err
	}
	part, sort, err := keyOf(in.Item, false)
	if err != nil {
		return nil, err
	}
	if sizeOf(in.Item) > maxItem {
		return nil, invalid("Item size has exceeded the maximum allowed size")
	}
	have := t.at(part, sort, t.writes)
	ok, err := condition(in.ConditionExpression, in.ExpressionAttributeValues, have)
	if err != nil {
		return nil, err
	}
	if !ok {
		e := &types.ConditionalCheckFailedException{
			Message: aws.String("The conditional request failed")}
		if in.ReturnValuesOnConditionCheckFailure ==
			types.ReturnValuesOnConditionCheckFailureAllOld {
			e.Item = have
		}
		return nil, e
	}
	t.writes++
	t.set(part, sort, in.Item)
	return &dynamodb.PutItemOutput{}, nil
}

func sizeOf(i item) int {
	n := 0
	for name, v := range i {
		n += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			n += len(v.Value)
		case *types.AttributeValueMemberB:
			n += len(v.Value)
		case *types.AttributeValueMemberN:
			n += len(v.Value)/2 + 1
		}
	}
	return n
}

// step is one part of a transaction.
type step struct {
	part, sort string
	item       item
	expression *string
	values     item
	returnOld  bool
}

func (t *Table) step(w *types.TransactWriteItem) (step, error) {
	var out step
	var table *string
	var err error
	switch {
	case w.Put != nil && w.Delete == nil && w.Update == nil && w.ConditionCheck == nil:
		p := w.Put
		table = p.TableName
		out = step{item: p.Item, expression: p.ConditionExpression,
			values: p.ExpressionAttributeValues}
		out.returnOld = p.ReturnValuesOnConditionCheckFailure ==
			types.ReturnValuesOnConditionCheckFailureAllOld
		out.part, out.sort, err = keyOf(p.Item, false)
		if err == nil && sizeOf(p.Item) > maxItem {
			err = invalid("Item size has exceeded the maximum allowed size")
		}
	case w.Delete != nil && w.Put == nil && w.Update == nil && w.ConditionCheck == nil:
		d := w.Delete
		table = d.TableName
		out = step{expression: d.ConditionExpression, values: d.ExpressionAttributeValues}
		out.returnOld = d.ReturnValuesOnConditionCheckFailure ==
			types.ReturnValuesOnConditionCheckFailureAllOld
		out.part, out.sort, err = keyOf(d.Key, true)
	default:
		err = invalid("the model knows puts and deletes only")
	}
	if err == nil {
		err = t.check(table)
	}
	return out, err
}

// knows reports whether a transaction is a repetition.
func (t *Table) knows(in *dynamodb.TransactWriteItemsInput) bool {
	before, ok := t.tokens[aws.ToString(in.ClientRequestToken)]
	return ok && t.now().Sub(before.at) < tokenLife
}

// TransactWriteItems implements dynamo.API.
func (t *Table) TransactWriteItems(
	_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(in.TransactItems); n == 0 || n > maxOfTransaction {
		return nil, invalid(fmt.Sprintf("a transaction has %d items", n))
	}
	token := aws.ToString(in.ClientRequestToken)
	if len(token) == 0 || len(token) > maxToken {
		return nil, invalid("the token of a transaction has a wrong length")
	}
	if t.knows(in) {
		if !reflect.DeepEqual(t.tokens[token].in.TransactItems, in.TransactItems) {
			return nil,
				&types.IdempotentParameterMismatchException{
					Message: aws.String("another transaction had this token")}
		}
		return &dynamodb.TransactWriteItemsOutput{}, nil
	}
	steps := make([]step, len(in.TransactItems))
	reasons := make([]types.CancellationReason, len(steps))
	failed := false
	seen, size := map[[2]string]bool{}, 0
	for i := range in.TransactItems {
		s, err := t.step(&in.TransactItems[i])
		if err != nil {
			return nil, err
		}
		if seen[[2]string{s.part, s.sort}] {
			return nil,
				invalid("Transaction request cannot include multiple operations on one item")
		}
		seen[[2]string{s.part, s.sort}] = true
		steps[i] = s
		if size += sizeOf(s.item); size > maxTransaction {
			return nil, invalid("Transaction payload size cannot exceed 4MB")
		}
		have := t.at(s.part, s.sort, t.writes)
		ok, err := condition(s.expression, s.values, have)
		if err != nil {
			return nil, err
		}
		reasons[i].Code = aws.String("None")
		if !ok {
			failed = true
			reasons[i].Code, reasons[i].Message = aws.String("ConditionalCheckFailed"),
				aws.String("The conditional request failed")
			if s.returnOld {
				reasons[i].Item = have
			}
		}
	}
	if failed {
		return nil,
			&types.TransactionCanceledException{Message: aws.String("Transaction cancelled"),
				CancellationReasons: reasons}
	}
	t.writes++
	for _, s := range steps {
		t.set(s.part, s.sort, s.item)
	}
	t.tokens[token] = answered{in, t.now()}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}
