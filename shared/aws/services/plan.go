package services

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/inventory"
)

// plan holds the changes of a Write as the items of one transaction. Each item has a role, which
// explains a failed condition.
type plan struct {
	*recordItems

	env     string
	order   *inventory.Order // placed with the changes; nil: none
	changes []inventory.Change
	index   map[string]int // index of a change, by the id of its instance
	before  []facets       // of each change; zero if the instance is new
	after   []facets
	targets map[string]bool // ids of instances that exist and may be referred to, as read
	noted   bool            // the plan has events to deliver to callbacks
	items   []types.TransactWriteItem
	roles   []role
}

// role defines the meaning of a failed condition of an item.
type role struct {
	kind   kind
	change int
	target string // instance that may not be referred to, or service of a generation
}

type kind int

const (
	noCondition  kind = iota
	isOrder           // an order with this id exists
	isRecord          // the record has another revision
	isIdentity        // another instance has the identity
	isGeneration      // another process concurrently chose values for instances of the target
	isOpen            // the target may not be referred to
	isShut            // another instance concurrently began to refer to this one
)

// prepare reads the state before the changes, and makes the items.
func (p *plan) prepare(ctx context.Context) error {
	p.index = map[string]int{}
	for i := range p.changes {
		p.index[p.changes[i].Record.ID] = i
	}
	if err := p.load(ctx); err != nil {
		return err
	}
	come, gone := 0, 0
	for i := range p.changes {
		r := &p.changes[i].Record
		if p.before[i].rev > 0 {
			if err := inventory.Kept(r, p.before[i].service, p.before[i].created); err != nil {
				return err
			}
		}
		f := facetsOf(r, p.before[i].events+int64(len(p.changes[i].Events)))
		f.rev++
		p.after = append(p.after, f)
		come += len(without(f.leads, p.before[i].leads))
		gone += len(without(p.before[i].leads, f.leads))
		if err := p.instance(i); err != nil {
			return err
		}
	}
	weigh := inventory.CheckWeight
	if p.order != nil {
		weigh = inventory.CheckOrderWeight
	}
	generations, err := p.generations()
	if err != nil {
		return err
	}
	if err := weigh(len(p.changes), come, gone, generations); err != nil {
		return err
	}
	if err := p.orderItems(); err != nil {
		return err
	}
	if err := p.identities(); err != nil {
		return err
	}
	if err := p.references(ctx); err != nil {
		return err
	}
	if err := p.pending(ctx); err != nil {
		return err
	}
	p.mark(p.changes[0].Record.ID)
	return p.fits()
}

// load determines the facets of the instances before the changes, and whether the targets of their
// references exist. It reads all facets that are not cached in one request.
func (p *plan) load(ctx context.Context) error {
	p.before, p.targets = make([]facets, len(p.changes)), map[string]bool{}
	var unknown []string
	for i := range p.changes {
		r := &p.changes[i].Record
		f, ok := p.remembered(p.env, r.ID)
		if r.Rev != 0 && (!ok || f.rev != r.Rev) {
			unknown = append(unknown, r.ID)
		} else if r.Rev != 0 {
			p.before[i] = f
		}
		for _, target := range without(r.Leads(), p.before[i].leads) {
			if _, ok := p.index[target]; ok {
				continue
			}
			if _, p.targets[target] = p.remembered(p.env, target); !p.targets[target] {
				unknown = append(unknown, target)
			}
		}
	}
	slices.Sort(unknown)
	found, err := p.records(ctx, p.env, slices.Compact(unknown))
	if err != nil {
		return err
	}
	for i := range p.changes {
		r := &p.changes[i].Record
		if r.Rev == 0 || p.before[i].rev == r.Rev {
			continue
		}
		if p.before[i] = found[r.ID].facets; p.before[i].rev != r.Rev {
			return inventory.ErrChanged(r)
		}
	}
	for id := range found {
		p.targets[id] = !found[id].shut
	}
	return nil
}

// without returns the elements of a sorted list that are not in another sorted list.
func without(list, other []string) []string {
	var out []string
	for _, s := range list {
		if _, ok := slices.BinarySearch(other, s); !ok {
			out = append(out, s)
		}
	}
	return out
}

// instance writes the items that belong to one instance: its record, its events, and its entries in
// lists.
func (p *plan) instance(i int) error {
	c, was, is := &p.changes[i], &p.before[i], &p.after[i]
	id := c.Record.ID
	version, hash, err := p.versionItem(p.env, &c.Record)
	if err != nil {
		return err
	}
	is.was = hash
	if was.rev == 0 || was.number != is.number || was.was != hash {
		p.put(version, role{}, "", nil)
	}
	record, err := p.recordItem(p.env, &c.Record, is)
	if err != nil {
		return err
	}
	if was.rev == 0 {
		p.put(record, role{kind: isRecord, change: i}, "attribute_not_exists(k)", nil)
	} else {
		p.put(record, role{kind: isRecord, change: i}, "n = :n",
			item{":n": attributevalue.Number(was.rev)})
	}
	if len(c.Events) > 0 {
		events, texts, err := p.eventsItems(p.env, id, c.Events, is.events)
		if err != nil {
			return err
		}
		p.put(events, role{}, "", nil)
		if texts != nil {
			p.put(texts, role{}, "", nil)
		}
	}
	p.lists(id, was, is)
	return p.follows(&c.Record, was, is)
}

// lists writes the entries of an instance in lists, and the time when its tasks are due.
func (p *plan) lists(id string, was, is *facets) {
	shard, sort := shardOf(id), listSort(is.service, place(is.created, id))
	moved := was.rev > 0 && was.deleted != is.deleted
	if moved {
		p.remove(listPart(p.env, shard, was.deleted), sort)
	}
	if moved || was.rev == 0 || was.listed != is.listed {
		entry := key(listPart(p.env, shard, is.deleted), sort)
		entry[attrState], entry[attrVer] = attributevalue.Text(is.listed.state),
			attributevalue.Number(is.listed.version)
		entry[attrListed] = attributevalue.Blob([]byte(is.listed.rest))
		p.put(entry, role{}, "", nil)
	}
	switch {
	case is.waits && (!was.waits || was.due != is.due):
		entry := key(duePart(p.env, shard), id)
		entry[attrDue] = attributevalue.Number(is.due)
		p.put(entry, role{}, "", nil)
	case was.waits && !is.waits:
		p.remove(duePart(p.env, shard), id)
	}
}

// identities writes the identities of instances. Other instances may give up these identities in
// the same transaction.
func (p *plan) identities() error {
	freed, wanted := map[string]string{}, map[string]int{}
	for i := range p.changes {
		r, was, is := &p.changes[i].Record, &p.before[i], &p.after[i]
		if was.identity == is.identity {
			continue
		}
		if was.identity != "" {
			freed[identityPart(p.env, was.service, was.identity)] = r.ID
		}
		if is.identity == "" {
			continue
		}
		part := identityPart(p.env, is.service, is.identity)
		if other, ok := wanted[part]; ok {
			return inventory.ErrTaken(r, p.changes[other].Record.ID)
		}
		wanted[part] = i
	}
	for part, i := range wanted {
		it := key(part, recordSort)
		it[attrID] = attributevalue.Text(p.changes[i].Record.ID)
		by, ok := freed[part]
		if ok {
			delete(freed, part)
			p.put(it, role{kind: isIdentity, change: i}, "i = :i",
				item{":i": attributevalue.Text(by)})
			continue
		}
		p.put(it, role{kind: isIdentity, change: i}, "attribute_not_exists(k)", nil)
	}
	for part := range freed {
		p.remove(part, recordSort)
	}
	return nil
}

// put adds the write of an item. If condition is empty, the write is unconditional.
func (p *plan) put(i item, r role, condition string, values item) {
	put := &types.Put{TableName: &p.Table, Item: i}
	if condition != "" {
		put.ConditionExpression = aws.String(condition)
		put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureNone
	}
	if r.kind == isIdentity { // the item is small, and names the instance with the identity
		put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	if len(values) > 0 {
		put.ExpressionAttributeValues = values
	}
	p.items = append(p.items, types.TransactWriteItem{Put: put})
	p.roles = append(p.roles, r)
}

// remove adds the removal of an item. The item may be absent.
func (p *plan) remove(part, sort string) {
	p.items = append(p.items, types.TransactWriteItem{
		Delete: &types.Delete{TableName: &p.Table, Key: key(part, sort)},
	})
	p.roles = append(p.roles, role{})
}
