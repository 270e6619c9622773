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

// references writes the references between instances. An instance has a guard item once another
// instance refers to it, or once no instance may refer to it. A plan that adds a reference writes
// the guard if the guard is not shut. A plan that shuts the guard first checks that no instance
// refers to this one. It shuts the guard only if no other plan has written the guard since that
// check.
func (p *plan) references(ctx context.Context) error {
	dropped := map[string][]string{} // ids of instances that drop a reference, by the target
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
		case was.shut && !is.shut: // the revision's condition excludes other writers
			p.put(p.guard(id), role{}, "", nil)
		}
	}
	return nil
}

// open reports whether an instance may be referred to, as far as the plan read before the
// transaction.
func (p *plan) open(target string) bool {
	if i, ok := p.index[target]; ok {
		return !p.after[i].shut
	}
	return p.targets[target]
}

// guard returns the item of an open guard.
func (p *plan) guard(id string) item {
	i := key(instancePart(p.env, id), guardSort)
	i[attrGuard] = attributevalue.Text(newToken())
	return i
}

// shut forbids references to an instance. It fails if an instance refers to this one, except for
// instances that drop their reference in the same transaction.
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
