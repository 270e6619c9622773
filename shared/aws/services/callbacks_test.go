//go:build servers

package services_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/services"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/callbacktest"
	"southbound/shared/service/callback"
	"southbound/shared/service/inventory"
)

// stores returns those of a process that knows nothing.
func stores(
	t *testing.T, c aws.Config, table string,
) (*services.Callbacks, *services.Instances) {
	t.Helper()
	one := services.Config{
		API: dynamodb.NewFromConfig(c), Table: table, Cache: &services.CallbackCache{},
	}
	b, err := services.NewCallbacks(one)
	if err != nil {
		t.Fatal(err)
	}
	n, err := services.New(one)
	if err != nil {
		t.Fatal(err)
	}
	return b, n
}

// TestCallbacks runs the suite, and with requests and answers that are lost. Its requests are
// of the same kinds as those for instances, for which each server is asked.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   server.Kind
		faults bool
	}{
		{"DynamoDBLocal", server.DynamoDB, false}, {"Faults", server.DynamoDB, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			callbacktest.Test(t, func(t *testing.T) callbacktest.Harness {
				t.Helper()
				table, via := newTable(t, c.kind), awstest.Config(server.URL(c.kind), nil)
				if c.faults {
					via = awstest.Config(server.URL(c.kind), &awstest.Faults{
						Decide: awstest.NowAndThen(4), Rewrite: awstest.Unprocessed,
					})
				}
				a, instances := stores(t, via, table)
				b, _ := stores(t, via, table)
				return callbacktest.Harness{A: a, B: b, Instances: instances}
			})
		})
	}
}

func registered(t *testing.T, b *services.Callbacks, id string) {
	t.Helper()
	c := callback.Callback{ID: id, URL: "http://host.example/", Created: began}
	if err := b.Register(t.Context(), env, c); err != nil {
		t.Fatal(err)
	}
}

// happens is an instance with an event.
func happens(r inventory.Record) inventory.Change {
	return inventory.Change{Record: r, Events: []inventory.Event{{Kind: "auto", At: began}}}
}

// TestHeard pins what other processes note after a callback was registered: what becomes of an
// instance that they have read since, and of one that is made by a definition read since.
func TestHeard(t *testing.T) {
	t.Parallel()
	table, c := newTable(t, server.DynamoDB), awstest.Config(server.URL(server.DynamoDB), nil)
	here, _ := stores(t, c, table)
	cache := &services.CallbackCache{}
	config := services.Config{API: dynamodb.NewFromConfig(c), Table: table, Cache: cache}
	other, err := services.New(config)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := services.NewDefinitions(config)
	if err != nil {
		t.Fatal(err)
	}
	put(t, other, order("one")) // it knows that there is no callback
	registered(t, here, "a")
	r, err := other.Instance(t.Context(), env, "one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Write(t.Context(), env, []inventory.Change{happens(r)}); err != nil {
		t.Fatal(err)
	}
	if err := here.Unregister(t.Context(), env, "a"); err != nil {
		t.Fatal(err)
	}
	_, _ = definitions.Bundle(t.Context(), env) // there is none
	for n := range 2 {
		if n == 1 {
			registered(t, here, "a")
			_, _ = definitions.Bundle(t.Context(), env)
		}
		made := happens(order(fmt.Sprint("made", n)))
		if _, err := other.Write(t.Context(), env, []inventory.Change{made}); err != nil {
			t.Fatal(err)
		}
		page, err := here.Pending(t.Context(), env, "")
		if err != nil || len(page) != n {
			t.Errorf("%d instances are pending, expected %d: %v", len(page), n, err)
		}
	}
}

// meanwhile is an API that does something before the first query.
type meanwhile struct {
	services.API
	once sync.Once
	do   func()
}

// Query implements services.API.
func (m *meanwhile) Query(
	ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	m.once.Do(m.do)
	return m.API.Query(ctx, in, opts...)
}

// TestRegisteredMeanwhile pins that a callback which is registered while the last one is removed is
// told of what has happened since.
func TestRegisteredMeanwhile(t *testing.T) {
	t.Parallel()
	table, c := newTable(t, server.DynamoDB), awstest.Config(server.URL(server.DynamoDB), nil)
	other, instances := stores(t, c, table)
	api := &meanwhile{API: dynamodb.NewFromConfig(c)}
	here, err := services.NewCallbacks(services.Config{
		API: api, Table: table, Cache: &services.CallbackCache{},
	})
	if err != nil {
		t.Fatal(err)
	}
	registered(t, here, "a")
	api.do = func() {
		registered(t, other, "b")
		put(t, instances, order("before"))
		r, err := instances.Instance(t.Context(), env, "before")
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := instances.Write(t.Context(), env, []inventory.Change{happens(r)}); err != nil {
			t.Error(err)
		}
	}
	if err := here.Unregister(t.Context(), env, "a"); err != nil {
		t.Fatal(err)
	}
	if page, err := other.Pending(t.Context(), env, ""); err != nil || len(page) != 1 {
		t.Errorf("%d instances are pending, expected 1: %v", len(page), err)
	}
}

// TestTooMuchToTell refuses, before anything is written, what does not fit into a transaction with
// what callbacks are to be told.
func TestTooMuchToTell(t *testing.T) {
	t.Parallel()
	table, c := newTable(t, server.DynamoDB), awstest.Config(server.URL(server.DynamoDB), nil)
	here, instances := stores(t, c, table)
	registered(t, here, "a")
	var changes []inventory.Change
	for n := range inventory.MaxChanges {
		r := order(fmt.Sprint("i", n))
		r.Identity = fmt.Sprint(n)
		r.Tasks, r.Due = []inventory.Task{{Kind: inventory.TaskContinue}}, began
		changes = append(changes, happens(r))
	}
	revs, err := instances.Write(t.Context(), env, changes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range changes { // all that can change at once does
		r := &changes[i].Record
		r.Rev, r.Identity, r.Deleted, r.Tasks = revs[i], "", true, nil
		r.Version++
	}
	_, err = instances.Write(t.Context(), env, changes)
	if !fault.Is(err, fault.Invalid) {
		t.Fatalf("it is not refused: %v", err)
	}
	for i := range changes {
		if _, err := instances.Write(t.Context(), env, changes[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRequestsOfCallbacks pins what callbacks cost.
func TestRequestsOfCallbacks(t *testing.T) {
	t.Parallel()
	table, m := newTable(t, server.DynamoDB), &meter.Meter{}
	c := awstest.Config(server.URL(server.DynamoDB), nil)
	m.Install(&c)
	b, n := stores(t, c, table)
	registered(t, b, "a")
	r := order("one")
	for _, c := range []struct {
		name string
		do   func() error
		want map[string]int
	}{
		{"a transfer", func() error {
			revs, err := n.Write(t.Context(), env, []inventory.Change{happens(r)})
			r.Rev = append(revs, 0)[0]
			return err
		}, map[string]int{"TransactWriteItems": 1}},
		{"who is called", func() error {
			_, err := b.Callbacks(t.Context(), env)
			return err
		}, map[string]int{"GetItem": 1}},
		{"what is to be told", func() error {
			_, err := b.Pending(t.Context(), env, "")
			return err
		}, map[string]int{"Query": 1}},
		{"whether something is to be told", func() error {
			_, err := b.Due(t.Context(), env, began)
			return err
		}, map[string]int{"GetItem": 1, "Query": 1}},
		{"how the calls go", func() error {
			return b.Report(t.Context(), env, "a", callback.Health{Failures: 1})
		}, map[string]int{"GetItem": 1, "TransactWriteItems": 1}},
		{"what was told", func() error {
			return b.Delivered(t.Context(), env, "one", "a", 1, []string{"a"})
		}, map[string]int{"Query": 1, "TransactWriteItems": 1}},
	} {
		m.Take()
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := map[string]int{}
		for name, n := range m.Take() {
			got[name[len("DynamoDB."):]] = n.Calls
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: requests (-want +got):\n%s", c.name, d)
		}
	}
}
