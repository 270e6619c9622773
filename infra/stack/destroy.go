package stack

import (
	"context"

	"southbound/shared/aws/provision"
	"southbound/shared/aws/stacks"
	"southbound/shared/fault"
)

// Left names the resources that Destroy did not remove, to report them to the user.
type Left struct {
	Table, Bucket string
	// Key is a key that the stack made. A key that the stack did not make is not reported.
	Key string
	// OwnTable is the table that the stack made, if it uses a restored table instead.
	OwnTable string
}

// Destroy removes the queues and mappings of agents, and then the stack. If data is set, it also
// removes the data that the stack retains. It keeps a key, because only AWS may delete a key, after
// a waiting time. It may be called again after it was interrupted. It may also be called for a
// stack that is already deleted.
func (s *Stack) Destroy(ctx context.Context, data bool) (Left, error) {
	all, err := stacks.Open(ctx, s.Endpoint)
	if err != nil {
		return Left{}, err
	}
	out, err := all.Outputs(ctx, s.Name)
	if fault.Is(err, fault.NotFound) { // an earlier call deleted it
		out, err = all.Gone(ctx, s.Name)
	}
	if err != nil {
		return Left{}, err
	}
	agents, err := provision.Open(ctx, provision.Target{Prefix: out["Prefix"],
		Function: out["HandlerFunction"], Python: out["PythonFunction"], DeadLetters: out["DeadLetters"], Endpoint: s.Endpoint})
	if err != nil {
		return Left{}, err
	}
	if _, err := agents.Destroy(ctx); err != nil {
		return Left{}, err
	}
	if err := all.Delete(ctx, s.Name); err != nil {
		return Left{}, err
	}
	if _, err := agents.Destroy(ctx); err != nil { // queues that the last sweep made concurrently
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
