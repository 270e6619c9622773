package dynamo

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// rows answers queries for rows and for the schedule.
//
// Large: each query of the port is a method.
type rows struct{ *store }

// decoded decodes the items of rows.
func (s *store) decoded(list []item) ([]state.Row, error) {
	out := make([]state.Row, 0, len(list))
	for _, i := range list {
		r, err := s.row(i)
		if err != nil {
			return nil, err
		}
		out = append(out, *r)
	}
	return out, nil
}

// Rows implements state.State.
func (s *rows) Rows(ctx context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	const some = 2000 // an item takes several times the memory of its row
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	out := make([]state.Row, 0, len(ids))
	for chunk := range slices.Chunk(ids, some) {
		got, err := s.get(ctx, rowKeys(env, chunk)...)
		if err != nil {
			return nil, err
		}
		found, err := s.decoded(slices.Collect(maps.Values(got)))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// ScanRows implements state.State.
func (s *rows) ScanRows(
	ctx context.Context, env string, after resource.ID, limit int,
) ([]state.Row, error) {
	list, err := s.listBy(ctx, limit, func() *dynamodb.QueryInput {
		in := partition(rowPart(env), "", true)
		in.Limit = aws.Int32(int32(min(limit, 1<<20)))
		if after != "" {
			in.KeyConditionExpression = aws.String("k = :k AND s > :s")
			in.ExpressionAttributeValues[":s"] = attributevalue.Text(short(string(after)))
		}
		return in
	})
	if err != nil {
		return nil, err
	}
	return s.decoded(list)
}

// AgentRows implements state.State.
func (s *rows) AgentRows(ctx context.Context, env, agent string, all bool) ([]state.Row, error) {
	if !all {
		found, _, err := s.active(ctx, env, agent)
		return slices.DeleteFunc(found, func(r state.Row) bool {
			return r.Agent != agent || r.Ticket() == 0
		}), err
	}
	return s.laneRows(ctx, env, agent)
}

// laneRows returns all rows of an agent. The counters name the types of the agent, and ids begin with
// the type and the agent. If rows are missing, ids with escapes begin otherwise, and laneRows reads
// all rows.
func (s *rows) laneRows(ctx context.Context, env, agent string) ([]state.Row, error) {
	leases, err := s.tallied(ctx, env)
	if err != nil {
		return nil, err
	}
	types, total := leases.kinds(agent)
	if total == 0 {
		return nil, nil
	}
	var out []state.Row
	for _, begin := range append(prefixes(types, []string{agent}), "") {
		if begin == "" {
			out = nil
		}
		list, err := s.list(ctx, rowPart(env), begin)
		if err != nil {
			return nil, err
		}
		found, err := s.decoded(list)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if found[i].Agent == agent {
				out = append(out, found[i])
			}
		}
		if len(out) >= total {
			break
		}
	}
	return out, nil
}

// prefixes returns how the ids of types and agents begin.
func prefixes(types, agents []string) []string {
	var out []string
	for _, of := range types {
		for _, agent := range agents {
			id := resource.NewID(of, agent, resource.Key{})
			out = append(out, strings.TrimSuffix(string(id), "=]"))
		}
	}
	return out
}

// FindRows implements state.RowFinder. It reads the rows of the filter's type and agents, or all
// rows.
func (s *rows) FindRows(ctx context.Context, env string, q state.RowQuery) (state.RowPage, error) {
	begins, err := s.begins(ctx, env, &q.Filter)
	if err != nil {
		return state.RowPage{}, err
	}
	search := state.NewRowSearch(q)
	for _, begin := range begins {
		in := partition(rowPart(env), begin, true)
		if err := s.query(ctx, in, func(i item) (bool, error) {
			r, err := s.wholeRow(ctx, i)
			if r != nil {
				search.Add(r)
			}
			return !(len(begins) == 1 && search.Done()), err
		}); err != nil {
			return state.RowPage{}, err
		}
	}
	return search.Page(), nil
}

// wholeRow decodes the item of a row that a query has returned. If the row was replaced during the
// read, it reads it again.
func (s *rows) wholeRow(ctx context.Context, i item) (*state.Row, error) {
	err := s.whole(ctx, []item{i})
	if err == errLost {
		var now map[key]item
		now, err = s.get(ctx, keyOf(i))
		i = now[keyOf(i)]
	}
	if err != nil {
		return nil, err
	}
	return s.row(i)
}

// begins returns how the ids of the rows begin that a filter may select, in order.
func (s *rows) begins(ctx context.Context, env string, f *state.Filter) ([]string, error) {
	switch {
	case f.Type != "" && len(f.Agents) == 0:
		return []string{f.Type + "["}, nil
	case len(f.Agents) == 0:
		return []string{""}, nil
	}
	agents := slices.Compact(slices.Sorted(slices.Values(f.Agents)))
	if f.Type != "" {
		return prefixes([]string{f.Type}, agents), nil
	}
	leases, err := s.tallied(ctx, env)
	if err != nil {
		return nil, err
	}
	types, _ := leases.kinds("")
	return prefixes(types, agents), nil
}

// RowsWith implements state.Tallier. It reads rows only if the counters show that there are some.
func (s *rows) RowsWith(
	ctx context.Context, env string, status state.Status, after resource.ID, limit int,
) ([]state.Row, error) {
	leases, err := s.tallied(ctx, env)
	if err != nil || leases.statuses()[status] == 0 {
		return nil, err
	}
	var out []state.Row
	const page = 1000
	for {
		found, err := s.ScanRows(ctx, env, after, page)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if found[i].Status() == status {
				if out = append(out, found[i]); len(out) == limit {
					return out, nil
				}
			}
		}
		if len(found) < page {
			return out, nil
		}
		after = found[len(found)-1].ID
	}
}
