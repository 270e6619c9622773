package services

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/inventory"
)

// plan is what a Write changes: items of one transaction, which say what was wrong when their
// condition fails.
type plan struct {
	*recordItems

	env     string
	order   *inventory.Order // that is placed with the changes; nil: none
	changes []inventory.Change
	index   map[string]int // of a change, by the id of its instance
	before  []facets       // of each change; nothing where the instance is new
	after   []facets
	targets map[string]bool // that exist, as was read
	noted   bool            // callbacks are to be told something
	items   []types.TransactWriteItem
	roles   []role
}

// role says what it means when the condition of an item fails.
type role struct {
	kind   kind
	change int
	target string // that may not be referred to; the service of a generation
}

type kind int

const (
	noCondition  kind = iota
	isOrder           // there is one of the id
	isRecord          // it has another revision
	isIdentity        // another instance has it
	isGeneration      // values were chosen for instances of the target meanwhile
	isOpen            // the target may not be referred to
	isShut            // somebody came to refer to the instance meanwhile
)

// prepare finds out what was, and makes the items.
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
	return p.fits()
}

// load finds out what the instances were, and whether what they lead to exists: what this process
// does not know is read in one request.
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

// without returns those of a sorted list that are not in another one.
func without(list, other []string) []string {
	var out []string
	for _, s := range list {
		if _, ok := slices.BinarySearch(other, s); !ok {
			out = append(out, s)
		}
	}
	return out
}

// instance writes what an instance alone has: its record, its events, and its places in lists.
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
		events, err := p.eventsItem(p.env, id, c.Events, is.events)
		if err != nil {
			return err
		}
		p.put(events, role{}, "", nil)
	}
	p.lists(id, was, is)
	return p.follows(&c.Record, was, is)
}

// lists writes where an instance stands in lists, and since when it waits.
func (p *plan) lists(id string, was, is *facets) {
	shard, sort := shardOf(id), listSort(is.service, place(is.created, id))
	moved := was.rev > 0 && was.deleted != is.deleted
	if moved {
		p.remove(listPart(p.env, shard, was.deleted), sort)
	}
	if moved || was.rev == 0 || was.state != is.state || was.version != is.version {
		entry := key(listPart(p.env, shard, is.deleted), sort)
		entry[attrState], entry[attrVer] = attributevalue.Text(is.state),
			attributevalue.Number(is.version)
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

// identities gives instances their identities, which others may give up in the same transaction.
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

// put adds an item. Without a condition it is written whatever is there.
func (p *plan) put(i item, r role, condition string, values item) {
	put := &types.Put{TableName: &p.Table, Item: i}
	if condition != "" {
		put.ConditionExpression = aws.String(condition)
		put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureNone
	}
	if r.kind == isIdentity { // it is small, and says who has it
		put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	}
	if len(values) > 0 {
		put.ExpressionAttributeValues = values
	}
	p.items = append(p.items, types.TransactWriteItem{Put: put})
	p.roles = append(p.roles, r)
}

// remove adds the removal of an item, which may be absent.
func (p *plan) remove(part, sort string) {
	p.items = append(p.items, types.TransactWriteItem{
		Delete: &types.Delete{TableName: &p.Table, Key: key(part, sort)},
	})
	p.roles = append(p.roles, role{})
}
