package stack

import (
	"context"

	"southbound/shared/aws/provision"
	"southbound/shared/aws/stacks"
	"southbound/shared/fault"
)

// Left is what Destroy left behind, to be told to the person who asked for it.
type Left struct {
	Table, Bucket string
	// Key is one that the stack made; somebody else's is nothing that it leaves.
	Key string
	// OwnTable is the one that the stack made, where another was restored in its place.
	OwnTable string
}

// Destroy removes the queues and mappings that were made for agents, and then the stack. Data: what
// the stack retains as well, except for a key, which only AWS may delete, after a time. It may be
// called again after it was interrupted, and with data for a stack that is gone already.
func (s *Stack) Destroy(ctx context.Context, data bool) (Left, error) {
	all, err := stacks.Open(ctx, s.Endpoint)
	if err != nil {
		return Left{}, err
	}
	out, err := all.Outputs(ctx, s.Name)
	if fault.Is(err, fault.NotFound) { // an earlier call has deleted it
		out, err = all.Gone(ctx, s.Name)
	}
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
	left := Left{Table: out["Table"], Bucket: out["Bucket"], Key: out["OwnKey"],
		OwnTable: out["OwnTable"]}
	if !data {
		return left, nil
	}
	tables := []string{left.Table}
	if left.OwnTable != "" {
		tables = append(tables, left.OwnTable)
	}
	if err := all.Remains(left.Bucket, tables...).Remove(ctx); err != nil {
		return left, err
	}
	return Left{Key: left.Key}, nil
}
