//go:build servers

package services_test

import (
	"sync/atomic"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/services"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

const env = "default"

var began = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// order returns a record that was never stored.
func order(id string) inventory.Record {
	return inventory.Record{
		ID: id, Service: "site", Created: began, Updated: began,
		Instance: lifecycle.Instance{
			State: "up", Version: 1, Desired: 1, Active: map[string]any{"name": id},
		},
	}
}

// put writes a record that must be written.
func put(t *testing.T, n *services.Instances, r inventory.Record) inventory.Record {
	t.Helper()
	revs, err := n.Write(t.Context(), env, []inventory.Change{{Record: r}})
	if err != nil {
		t.Fatal(err)
	}
	r.Rev = revs[0]
	return r
}

// TestSomebodyBetween lets another process write after what a Write read, and before its
// transaction arrives: nothing is decided by what was read.
func TestSomebodyBetween(t *testing.T) {
	t.Parallel()
	leads := func(from, to string) inventory.Record {
		r := order(from)
		r.References = []string{to}
		return r
	}
	for _, c := range []struct {
		name string
		kind fault.Kind
		// before prepares, and returns what is written and what comes between.
		before func(t *testing.T, n *services.Instances) (write, between inventory.Record)
	}{
		{"a reference to what is being deleted", fault.Refused,
			func(t *testing.T, n *services.Instances) (write, between inventory.Record) {
				parent := put(t, n, order("parent"))
				parent.Closed = true
				return parent, leads("child", "parent")
			}},
		{"the same, of what was referred to before", fault.Refused,
			func(t *testing.T, n *services.Instances) (write, between inventory.Record) {
				parent := put(t, n, order("parent"))
				before := put(t, n, leads("before", "parent"))
				before.References = nil
				put(t, n, before)
				parent.Closed = true
				return parent, leads("child", "parent")
			}},
		{"a delete of what is led to", fault.Refused,
			func(t *testing.T, n *services.Instances) (write, between inventory.Record) {
				parent := put(t, n, order("parent"))
				parent.Deleted = true
				return leads("child", "parent"), parent
			}},
		{"an identity", fault.Refused,
			func(_ *testing.T, _ *services.Instances) (write, between inventory.Record) {
				one, two := order("one"), order("two")
				one.Identity, two.Identity = "shop", "shop"
				return one, two
			}},
		{"a change of the same instance", fault.Conflict,
			func(t *testing.T, n *services.Instances) (write, between inventory.Record) {
				one := put(t, n, order("one"))
				one.State = "failed"
				return one, one
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			table, url := newTable(t, server.DynamoDB), server.URL(server.DynamoDB)
			other, now := process(t, awstest.Config(url, nil), table), atomic.Pointer[func()]{}
			via := awstest.Config(url, &awstest.Faults{
				Decide: func(operation string, _ []byte) awstest.Fault {
					if operation == "TransactWriteItems" {
						if f := now.Swap(nil); f != nil {
							(*f)()
						}
					}
					return awstest.None
				},
			})
			n := process(t, via, table)
			write, between := c.before(t, n)
			came := false
			f := func() { put(t, other, between); came = true }
			now.Store(&f)
			_, err := n.Write(t.Context(), env, []inventory.Change{{Record: write}})
			if fault.KindOf(err) != c.kind || !came {
				t.Errorf("%v, and it came: %v", err, came)
			}
		})
	}
}

// TestAnswersAreLost loses every answer to a transaction once, and one until the process gives up.
func TestAnswersAreLost(t *testing.T) {
	t.Parallel()
	table, url := newTable(t, server.DynamoDB), server.URL(server.DynamoDB)
	lost, forever := map[string]bool{}, false
	faults := &awstest.Faults{Decide: func(operation string, body []byte) awstest.Fault {
		first := !lost[string(body)]
		lost[string(body)] = true
		if operation == "TransactWriteItems" && (first || forever) {
			return awstest.Lose
		}
		return awstest.None
	}}
	n := process(t, awstest.Config(url, faults), table)
	r := put(t, n, order("one"))
	r.State = "failed"
	r = put(t, n, r)
	if r.Rev != 2 {
		t.Errorf("revision %d after two writes", r.Rev)
	}
	forever = true
	r.State = "lost"
	_, err := n.Write(t.Context(), env, []inventory.Change{{Record: r}})
	if fault.KindOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
	forever = false
	if _, err := n.Write(t.Context(), env, []inventory.Change{{Record: r}}); !fault.Is(
		err,
		fault.Conflict,
	) {
		t.Errorf("it was written, and is not there: %v", err)
	}
	if now, err := n.Instance(t.Context(), env, r.ID); err != nil || now.State != "lost" ||
		now.Rev != 3 {
		t.Errorf("%+v, %v", now, err)
	}
}
