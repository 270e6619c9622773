package services

import (
	"context"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/inventory"
)

// generations adds the items that increment the generations which the changes require, and returns
// their number.
func (p *plan) generations() (int, error) {
	revs := make([]int64, len(p.after))
	for i := range p.after {
		revs[i] = p.after[i].rev
	}
	all, err := inventory.Generations(p.changes, revs)
	if err != nil {
		return 0, err
	}
	for i := range all {
		g := &all[i]
		body, err := p.pack(g)
		if err != nil {
			return 0, err
		}
		it := key(generationPart(p.env), g.Service)
		it[attrSeq], it[attrBody] = attributevalue.Number(g.Number), body[attrBody]
		condition, values := "attribute_not_exists(k)", item(nil)
		if g.Number > 1 {
			condition, values = "n = :n", item{":n": attributevalue.Number(g.Number - 1)}
		}
		p.put(it, role{kind: isGeneration, target: g.Service}, condition, values)
	}
	return len(all), nil
}

// Generation implements inventory.Store.
func (n *Instances) Generation(
	ctx context.Context, env, service string,
) (inventory.Generation, error) {
	out := inventory.Generation{Service: service}
	i, err := n.get(ctx, generationPart(env), service)
	if err != nil || i == nil {
		return out, err
	}
	return out, n.unpack(i, &out)
}
