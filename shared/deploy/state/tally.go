package state

import (
	"cmp"
	"context"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Tallier may be implemented by a State that keeps counters of rows, and finds rows by their
// status.
type Tallier interface {
	// Tally returns the number of rows by agent, type and status, in any order and without zeros. It
	// reads no rows.
	Tally(ctx context.Context, env string) ([]Tally, error)
	// RowsWith returns up to limit rows that have a status, with an id greater than after,
	// ascending.
	RowsWith(
		ctx context.Context, env string, status Status, after resource.ID, limit int,
	) ([]Row, error)
}

// Tally is a number of rows.
type Tally struct {
	Agent, Type string
	Status      Status
	Count       int
}

// Tally returns the number of rows by agent, type and status, sorted. If the State keeps no
// counters, it reads all rows.
func (c *Client) Tally(ctx context.Context, env string) ([]Tally, error) {
	var out []Tally
	if t, is := c.State.(Tallier); is {
		var err error
		if out, err = t.Tally(ctx, env); err != nil {
			return nil, fault.Wrap(fault.Unknown, "count resources", err)
		}
	} else {
		counts := map[Tally]int{}
		if err := c.EachRow(ctx, env, func(r *Row) error {
			counts[Tally{Agent: r.Agent, Type: r.ID.Type(), Status: r.Status()}]++
			return nil
		}); err != nil {
			return nil, err
		}
		for t, n := range counts {
			t.Count = n
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Status, b.Status))
	})
	return out, nil
}

// EachWith calls f for every row that has one of the statuses, in order of id for each status, until
// f returns an error. If the status of a row changes during the call, the row may be
// left out, or occur twice.
func (c *Client) EachWith(
	ctx context.Context, env string, statuses []Status, f func(*Row) error,
) error {
	t, is := c.State.(Tallier)
	if !is {
		return c.EachRow(ctx, env, func(r *Row) error {
			if slices.Contains(statuses, r.Status()) {
				return f(r)
			}
			return nil
		})
	}
	for _, status := range statuses {
		for after := resource.ID(""); ; {
			rows, err := t.RowsWith(ctx, env, status, after, c.Page)
			if err != nil {
				return fault.Wrap(fault.Unknown, "read resources", err)
			}
			for i := range rows {
				if err := f(&rows[i]); err != nil {
					return err
				}
			}
			if len(rows) < c.Page {
				break
			}
			after = rows[len(rows)-1].ID
		}
	}
	return nil
}
