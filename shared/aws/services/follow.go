package services

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/service/inventory"
)

// follows writes which resources an instance follows. A process that is notified of a run finds the
// following instances by these items, without reading all instances.
func (p *plan) follows(r *inventory.Record, was, is *facets) error {
	if was.follows == is.follows {
		return nil
	}
	of, some := r.Following()
	if !some {
		p.remove(followPart(p.env), r.ID)
		return nil
	}
	body, err := p.pack(of)
	if err != nil {
		return err
	}
	i := key(followPart(p.env), r.ID)
	i[attrBody] = body[attrBody]
	p.put(i, role{}, "", nil)
	return nil
}

// Followers implements inventory.Followers.
func (n *Instances) Followers(
	ctx context.Context, env string,
) (map[string]inventory.Following, error) {
	out := map[string]inventory.Following{}
	var damaged error
	err := n.query(ctx, nil, followPart(env), "", "", func(i item) bool {
		var of inventory.Following
		damaged = n.unpack(i, &of)
		out[attributevalue.TextOf(i, attrSort)] = of
		return damaged == nil
	})
	if err != nil {
		return nil, err
	}
	return out, damaged
}

// Followed reports whether an instance of an environment follows something.
func (n *Instances) Followed(ctx context.Context, env string) (bool, error) {
	some := false
	in := &dynamodb.QueryInput{Limit: aws.Int32(1), ProjectionExpression: aws.String(attrSort)}
	err := n.query(ctx, in, followPart(env), "", "", func(item) bool {
		some = true
		return false
	})
	return some, err
}
