package stack

import (
	"context"

	"southbound/shared/aws/provision"
	"southbound/shared/aws/stacks"
)

// Left is what Destroy left behind, to be told to the person who asked for it.
type Left struct {
	Table, Bucket, Key string
}

// Destroy removes the queues and mappings that were made for agents, and then the stack. Data: what
// the stack retains as well, except for a key, which only AWS may delete, after a time. It may be
// called again after it was interrupted.
func (s *Stack) Destroy(ctx context.Context, data bool) (Left, error) {
	all, err := stacks.Open(ctx, s.Endpoint)
	if err != nil {
		return Left{}, err
	}
	out, err := all.Outputs(ctx, s.Name)
	if err != nil {
		return Left{}, err
	}
	agents, err := provision.Open(ctx, provision.Target{Prefix: out["Prefix"],
		Function: out["HandlerFunction"], DeadLetters: out["DeadLetters"], Endpoint: s.Endpoint})
	if err != nil {
		return Left{}, err
	}
	if _, err := agents.Destroy(ctx); err != nil {
		return Left{}, err
	}
	if err := all.Delete(ctx, s.Name); err != nil {
		return Left{}, err
	}
	if _, err := agents.Destroy(ctx); err != nil { // what the last sweep made meanwhile
		return Left{}, err
	}
	left := Left{Table: out["Table"], Bucket: out["Bucket"], Key: out["KeyArn"]}
	if !data {
		return left, nil
	}
	if err := all.Remains(left.Table, left.Bucket).Remove(ctx); err != nil {
		return left, err
	}
	return Left{Key: left.Key}, nil
}
