package services

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attr"
	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

const opWrite = "write instances"

// Write implements inventory.Store.
func (n *Instances) Write(
	ctx context.Context, env string, changes []inventory.Change,
) ([]int64, error) {
	if err := inventory.CheckChanges(changes); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		if err := n.pause(ctx, opWrite, try); err != nil {
			return nil, err
		}
		p := &plan{Instances: n, env: env, changes: changes}
		if err := p.prepare(ctx); err != nil {
			return nil, err
		}
		again, err := p.commit(ctx)
		if err != nil {
			return nil, err
		}
		if !again {
			return p.done(), nil
		}
	}
}

// done remembers what was written, and returns the revisions.
func (p *plan) done() []int64 {
	revs := make([]int64, len(p.changes))
	for i := range p.changes {
		p.remember(p.env, p.changes[i].Record.ID, p.after[i])
		revs[i] = p.after[i].rev
	}
	return revs
}

// commit makes the transaction, and reports whether it has to be prepared anew. DynamoDB knows one
// by its token for ten minutes: one whose answer was lost is asked for again, and done once.
func (p *plan) commit(ctx context.Context) (again bool, err error) {
	const mostAsked = 4
	in := &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String(newToken()), TransactItems: p.items,
	}
	for try := 1; ; try++ {
		_, err := p.API.TransactWriteItems(ctx, in)
		var canceled *types.TransactionCanceledException
		switch {
		case err == nil:
			return false, nil
		case errors.As(err, &canceled):
			return p.canceled(canceled.CancellationReasons)
		case awserr.Is(err, awserr.TransactionConflict):
			return true, nil
		case !awserr.Passing(err) || try == mostAsked:
			return false, awserr.Fault(opWrite, err)
		}
		if err := p.pause(ctx, opWrite, try); err != nil {
			return false, err
		}
	}
}

// canceled tells a transaction that is refused from one that may be made again.
func (p *plan) canceled(reasons []types.CancellationReason) (again bool, err error) {
	worst := role{}
	var taken item
	for i, r := range reasons {
		switch code := aws.ToString(r.Code); code {
		case "None", "", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
		case "ConditionalCheckFailed":
			if now := p.roles[i]; worst.kind == noCondition || now.kind < worst.kind {
				worst, taken = now, r.Item
			}
		case "ItemCollectionSizeLimitExceeded":
			return false, fault.New(fault.Full, opWrite, "%s", aws.ToString(r.Message))
		default:
			return false, fault.New(
				fault.Internal,
				opWrite,
				"%s: %s",
				code,
				aws.ToString(r.Message),
			)
		}
	}
	r := &p.changes[worst.change].Record
	switch worst.kind {
	case isRecord:
		return false, inventory.ErrChanged(r)
	case isIdentity:
		return false, inventory.ErrTaken(r, attr.TextOf(taken, attrID))
	case isOpen:
		return false, inventory.ErrLost(r, worst.target)
	}
	return true, nil // others were in the way, or the service was
}
