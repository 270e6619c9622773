package stack

import (
	"context"
	"fmt"
	"strings"

	"southbound/shared/aws/home"
	"southbound/shared/aws/provision"
	"southbound/shared/aws/stacks"
)

// Left is what Destroy left behind, to be told to the person who asked for it.
type Left struct {
	Table, Bucket, Key string
}

// Destroy removes the queues and mappings that were made for agents, and then the stack. Data: what the stack retains as well, except for a key, which only
// AWS may delete, after a time. It may be called again after it was interrupted.
func (s *Stack) Destroy(ctx context.Context, data bool) (Left, error) {
	all, err := stacks.Open(ctx, s.Endpoint)
	if err != nil {
		return Left{}, err
	}
	out, err := all.Outputs(ctx, s.Name)
	if err != nil {
		return Left{}, err
	}
	agents, err := s.provisioner(ctx, out)
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

// provisioner returns what removes the queues of a stack.
func (s *Stack) provisioner(ctx context.Context, outputs map[string]string) (*provision.Provisioner, error) {
	values := map[string]string{}
	for _, v := range append(s.Variables(outputs), s.Environment...) {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	c, err := home.FromEnv(func(name string) string { return values[name] })
	if err != nil {
		return nil, fmt.Errorf("stack %s has no outputs: %w", s.Name, err)
	}
	c.Makes = true
	h, err := home.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.Provisioner, nil
}
