//go:build servers

package services_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/services"
	"southbound/shared/service/inventory"
)

// TestRequestsOfInstances pins what each operation costs, in a process that has read what it
// writes, and in one that knows nothing.
func TestRequestsOfInstances(t *testing.T) {
	t.Parallel()
	table, m := newTable(t, server.DynamoDB), &meter.Meter{}
	var written atomic.Int64 // items: each takes two write units a kilobyte
	count := &awstest.Faults{Decide: func(_ string, body []byte) awstest.Fault {
		var in struct{ TransactItems []json.RawMessage }
		if json.Unmarshal(body, &in) == nil {
			written.Add(int64(len(in.TransactItems)))
		}
		return awstest.None
	}}
	knowing := func() *services.Instances {
		c := awstest.Config(server.URL(server.DynamoDB), count)
		m.Install(&c)
		return process(t, c, table)
	}
	old := knowing()
	for i := range 50 {
		put(t, old, order(fmt.Sprintf("old%d", i)))
	}
	used := order("used")
	used.Identity = "used"
	put(t, old, used)
	r := order("one")
	r.Identity = "shop"
	r.Tasks, r.Due = []inventory.Task{{Kind: inventory.TaskContinue}}, began
	write := func(ctx context.Context, n *services.Instances) error {
		revs, err := n.Write(ctx, env, []inventory.Change{{
			Record: r,
			Events: []inventory.Event{{Kind: "auto", From: "start", To: r.State, At: began}},
		}})
		if err == nil {
			r.Rev = revs[0]
		}
		return err
	}
	for _, c := range []struct {
		name     string
		fresh    bool
		do       func(ctx context.Context, n *services.Instances) error
		requests map[string]int
		items    int64
		rcu      float64
	}{
		{"order", false, write, map[string]int{"TransactWriteItems": 1}, 6, 0},
		{"take its task", false, func(ctx context.Context, n *services.Instances) error {
			r.Due = r.Due.Add(time.Minute)
			_, err := n.Write(ctx, env, []inventory.Change{{Record: r}})
			r.Rev++
			return err
		}, map[string]int{"TransactWriteItems": 1}, 2, 0},
		{"transfer", false, func(ctx context.Context, n *services.Instances) error {
			r.State, r.Version, r.Tasks = "failed", 2, nil
			return write(ctx, n)
		}, map[string]int{"TransactWriteItems": 1}, 5, 0},
		{"transfer", true, func(ctx context.Context, n *services.Instances) error {
			r.State, r.Version = "up", 3
			return write(ctx, n)
		}, map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}, 4, 2},
		{"look at what others have", true, func(ctx context.Context, n *services.Instances) error {
			_, err := n.Generation(ctx, env, "site")
			return err
		}, map[string]int{"GetItem": 1}, 0, 1},
		{"store a value that was chosen by it", false,
			func(ctx context.Context, n *services.Instances) error {
				if _, err := n.Instance(ctx, env, r.ID); err != nil {
					return err
				}
				r.Version = 4
				revs, err := n.Write(ctx, env, []inventory.Change{{
					Record: r, Under: []inventory.Generation{{Service: "site"}},
				}})
				if err == nil {
					r.Rev = revs[0]
				}
				return err
			}, map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}, 3, 2},
		{"lead to another", true, func(ctx context.Context, n *services.Instances) error {
			r.References = []string{"old1"}
			return write(ctx, n)
		}, map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}, 5, 3},
		{"begin to delete", false, func(ctx context.Context, n *services.Instances) error {
			if _, err := n.Instance(ctx, env, r.ID); err != nil {
				return err
			}
			r.Closed = true
			return write(ctx, n)
		}, map[string]int{"BatchGetItem": 1, "Query": 1, "TransactWriteItems": 1}, 4, 2},
		{"delete", false, func(ctx context.Context, n *services.Instances) error {
			r.Deleted = true
			return write(ctx, n)
		}, map[string]int{"TransactWriteItems": 1}, 7, 0},
		{"read", true, func(ctx context.Context, n *services.Instances) error {
			_, err := n.Instance(ctx, env, r.ID)
			return err
		}, map[string]int{"BatchGetItem": 1}, 0, 2},
		{"read by its identity", true, func(ctx context.Context, n *services.Instances) error {
			_, err := n.ByIdentity(ctx, env, "site", "used")
			return err
		}, map[string]int{"GetItem": 1, "BatchGetItem": 1}, 0, 3},
		{"events", true, func(ctx context.Context, n *services.Instances) error {
			_, err := n.Events(ctx, env, r.ID, 0, 0)
			return err
		}, map[string]int{"Query": 1}, 0, 1},
		{"who refers", true, func(ctx context.Context, n *services.Instances) error {
			_, err := n.ReferredBy(ctx, env, "old1")
			return err
		}, map[string]int{"Query": 1}, 0, 1},
		{"a page of 20", true, func(ctx context.Context, n *services.Instances) error {
			_, err := n.Instances(ctx, env, inventory.Query{Service: "site", Limit: 20})
			return err
		}, map[string]int{"Query": 4, "BatchGetItem": 1}, 0, 25},
		{"what is due, when nothing is", true,
			func(ctx context.Context, n *services.Instances) error {
				_, err := n.Due(ctx, env, began, 25)
				return err
			}, map[string]int{"Query": 4}, 0, 4},
	} {
		n := old
		if c.fresh {
			n = knowing()
		}
		m.Take()
		written.Store(0)
		if err := c.do(t.Context(), n); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, requests := m.Take(), map[string]int{}
		for name, n := range got {
			requests[name[len("DynamoDB."):]] = n.Calls
		}
		if d := cmp.Diff(c.requests, requests); d != "" {
			t.Errorf("%s: requests (-want +got):\n%s", c.name, d)
		}
		if n, rcu := written.Load(), got.Sum().RCU; n != c.items || rcu > c.rcu {
			t.Errorf(
				"%s: %d items and %v RCU, want %d and at most %v",
				c.name,
				n,
				rcu,
				c.items,
				c.rcu,
			)
		}
	}
}
