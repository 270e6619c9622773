package services

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/inventory"
)

// references writes who refers to whom. An instance has a guard when somebody has come to refer to
// it, or when nobody may any more. Whoever comes writes the guard, if it is not shut; whoever shuts
// it finds nobody first, and shuts it only if nobody has written it since.
func (p *plan) references(ctx context.Context) error {
	dropped := map[string][]string{} // by the target
	opened := map[string]int{}
	for i := range p.changes {
		r := &p.changes[i].Record
		for _, target := range without(p.after[i].leads, p.before[i].leads) {
			if !p.open(target) {
				return inventory.ErrLost(r, target)
			}
			if _, ok := p.index[target]; !ok {
				opened[target] = i
			}
			p.put(key(instancePart(p.env, target), leadSort+r.ID), role{}, "", nil)
		}
		for _, target := range without(p.before[i].leads, p.after[i].leads) {
			dropped[target] = append(dropped[target], r.ID)
			p.remove(instancePart(p.env, target), leadSort+r.ID)
		}
	}
	for _, target := range slices.Sorted(maps.Keys(opened)) {
		p.put(p.guard(target), role{isOpen, opened[target], target}, "attribute_not_exists(c)", nil)
	}
	for i := range p.changes {
		was, is := &p.before[i], &p.after[i]
		switch id := p.changes[i].Record.ID; {
		case is.shut && !was.shut:
			if err := p.shut(ctx, i, dropped[id]); err != nil {
				return err
			}
		case was.shut && !is.shut: // its revision says that nobody else writes this
			p.put(p.guard(id), role{}, "", nil)
		}
	}
	return nil
}

// open reports whether an instance may be referred to, as far as is known before the transaction.
func (p *plan) open(target string) bool {
	if i, ok := p.index[target]; ok {
		return !p.after[i].shut
	}
	return p.targets[target]
}

// guard returns the item of a guard that is open.
func (p *plan) guard(id string) item {
	i := key(instancePart(p.env, id), guardSort)
	i[attrGuard] = attributevalue.Text(newToken())
	return i
}

// shut lets nobody refer to an instance any more, if nobody does but those who stop it in the same
// transaction.
func (p *plan) shut(ctx context.Context, change int, dropped []string) error {
	r := &p.changes[change].Record
	shut := p.guard(r.ID)
	shut[attrShut] = attributevalue.Number(1)
	seen, by := "", ""
	if p.before[change].rev > 0 {
		in := &dynamodb.QueryInput{Limit: aws.Int32(int32(len(dropped) + 2))} // few
		err := p.query(ctx, in, instancePart(p.env, r.ID), guardSort, leadsEnd,
			func(i item) bool {
				sort := attributevalue.TextOf(i, attrSort)
				if sort == guardSort {
					seen = attributevalue.TextOf(i, attrGuard)
				} else if id := strings.TrimPrefix(sort, leadSort); !slices.Contains(dropped, id) {
					by = id
				}
				return by == ""
			})
		if err != nil {
			return err
		}
	}
	if by != "" {
		return inventory.ErrNeeded(r, by)
	}
	if seen == "" {
		p.put(shut, role{kind: isShut, change: change}, "attribute_not_exists(k)", nil)
		return nil
	}
	p.put(shut, role{kind: isShut, change: change}, "v = :v", item{":v": attributevalue.Text(seen)})
	return nil
}
