package services

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/inventory"
)

const opWrite = "write instances"

// Write implements inventory.Store.
func (n *Instances) Write(
	ctx context.Context, env string, changes []inventory.Change,
) ([]int64, error) {
	return n.write(ctx, env, nil, changes)
}

// write writes changes, and with them an order if there is one.
func (n *recordItems) write(
	ctx context.Context, env string, o *inventory.Order, changes []inventory.Change,
) ([]int64, error) {
	if err := inventory.CheckChanges(changes); err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		if err := n.pause(ctx, opWrite, try); err != nil {
			return nil, err
		}
		p := &plan{recordItems: n, env: env, order: o, changes: changes}
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

// done caches the facets that were written, and returns the new revisions.
func (p *plan) done() []int64 {
	if p.noted {
		p.Cache.noted(p.env)
	}
	revs := make([]int64, len(p.changes))
	for i := range p.changes {
		p.remember(p.env, p.changes[i].Record.ID, p.after[i])
		revs[i] = p.after[i].rev
	}
	return revs
}

// commit runs the transaction, and reports whether the plan has to be prepared again.
func (p *plan) commit(ctx context.Context) (again bool, err error) {
	reasons, err := p.transact(ctx, p.items)
	if err != nil || len(reasons) == 0 {
		return false, err
	}
	worst := role{}
	var taken item
	for i, r := range reasons {
		if err := failed(r); err != nil {
			return false, err
		}
		if aws.ToString(r.Code) != codeCondition {
			continue
		}
		if now := p.roles[i]; worst.kind == noCondition || now.kind < worst.kind {
			worst, taken = now, r.Item
		}
	}
	r := &p.changes[worst.change].Record
	switch worst.kind {
	case isOrder:
		return false, inventory.ErrPlaced(p.order.ID)
	case isRecord:
		return false, inventory.ErrChanged(r)
	case isIdentity:
		return false, inventory.ErrTaken(r, attributevalue.TextOf(taken, attrID))
	case isGeneration:
		return false, inventory.ErrMoved(worst.target)
	case isOpen:
		return false, inventory.ErrLost(r, worst.target)
	}
	return true, nil // another process wrote concurrently, or DynamoDB throttled the requests
}
