//go:build servers

package services_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/services"
	"southbound/shared/internal/simtest/definitiontest"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// defined returns the definitions as a process that knows nothing sees them.
func defined(t *testing.T, c aws.Config, table string) *services.Definitions {
	t.Helper()
	d, err := services.NewDefinitions(services.Config{
		API: dynamodb.NewFromConfig(c), Table: table,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDefinitions runs the suite on each server, and with requests and answers that are lost.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   server.Kind
		faults *awstest.Faults
	}{
		{"DynamoDBLocal", server.DynamoDB, nil},
		{"MiniStack", server.MiniStack, nil},
		{"Faults", server.DynamoDB, &awstest.Faults{
			Decide: awstest.NowAndThen(4), Rewrite: awstest.Unprocessed,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			definitiontest.Test(t, func(t *testing.T) definitiontest.Harness {
				t.Helper()
				table, via := newTable(t, c.kind), awstest.Config(server.URL(c.kind), nil)
				if c.faults != nil {
					via = awstest.Config(server.URL(c.kind), c.faults)
				}
				n := process(t, via, table)
				write := func(t *testing.T, env string, r inventory.Record) {
					t.Helper()
					_, err := n.Write(t.Context(), env, []inventory.Change{{Record: r}})
					if err != nil {
						t.Fatal(err)
					}
				}
				return definitiontest.Harness{
					A: defined(t, via, table), B: defined(t, via, table),
					Order: func(t *testing.T, env, id, service string, version int) {
						write(t, env, inventory.Record{
							ID: id, Service: service, ServiceVersion: version,
						})
					},
					Delete: func(t *testing.T, env, id string) {
						r, err := n.Instance(t.Context(), env, id)
						if err != nil {
							t.Fatal(err)
						}
						r.Deleted = true
						write(t, env, r)
					},
				}
			})
		})
	}
}

// TestRequestsOfDefinitions pins what 200 services cost.
func TestRequestsOfDefinitions(t *testing.T) {
	t.Parallel()
	const many = 200
	table, m := newTable(t, server.DynamoDB), &meter.Meter{}
	var all []definition.Service
	for i := range many {
		all = append(all, definition.Service{Name: fmt.Sprintf("service%d", i), Default: true})
	}
	fresh := func() *services.Definitions {
		c := awstest.Config(server.URL(server.DynamoDB), nil)
		m.Install(&c)
		return defined(t, c, table)
	}
	bundle := 0
	put := func(d *services.Definitions) error {
		bundle++
		return d.Put(t.Context(), env, fmt.Sprint("bundle", bundle), all)
	}
	known := fresh()
	for _, c := range []struct {
		name     string
		d        *services.Definitions
		do       func(d *services.Definitions) error
		requests map[string]int
	}{
		{"new", fresh(), put,
			map[string]int{"BatchGetItem": 1, "BatchWriteItem": many / 25,
				"TransactWriteItems": 1}},
		{"again", fresh(), put, map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}},
		{"one changed", fresh(), func(d *services.Definitions) error {
			all[7].Strict = true
			return put(d)
		}, map[string]int{"BatchGetItem": 1, "BatchWriteItem": 1, "TransactWriteItems": 1}},
		{"one left out", fresh(), func(d *services.Definitions) error {
			all = all[1:]
			return put(d)
		}, map[string]int{"BatchGetItem": 1, "Query": 4, "BatchWriteItem": 1,
			"TransactWriteItems": 1}},
		{"all", known, func(d *services.Definitions) error {
			_, err := d.All(t.Context(), env)
			return err
		}, map[string]int{"BatchGetItem": 3}},
		{"one that is known", known, func(d *services.Definitions) error {
			_, err := d.One(t.Context(), env, "service8", -1)
			return err
		}, map[string]int{"BatchGetItem": 1}},
		{"one", fresh(), func(d *services.Definitions) error {
			_, err := d.One(t.Context(), env, "service8", -1)
			return err
		}, map[string]int{"BatchGetItem": 2}},
	} {
		m.Take()
		if err := c.do(c.d); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, requests := m.Take(), map[string]int{}
		for name, n := range got {
			requests[name[len("DynamoDB."):]] = n.Calls
		}
		if d := cmp.Diff(c.requests, requests); d != "" {
			t.Errorf("%s: requests (-want +got):\n%s", c.name, d)
		}
		t.Logf("%s: %v RCU", c.name, got.Sum().RCU)
	}
}

// TestAnotherExportBetween lets two other exports come while one is under way: which bundle a
// definition belongs to is that of the last export that had it.
func TestAnotherExportBetween(t *testing.T) {
	t.Parallel()
	table, url := newTable(t, server.DynamoDB), server.URL(server.DynamoDB)
	other, now := defined(t, awstest.Config(url, nil), table), atomic.Pointer[func()]{}
	d := defined(t, awstest.Config(url, &awstest.Faults{
		Decide: func(operation string, _ []byte) awstest.Fault {
			if operation == "BatchWriteItem" {
				if f := now.Swap(nil); f != nil {
					(*f)()
				}
			}
			return awstest.None
		},
	}), table)
	must := func(d *services.Definitions, bundle string, all ...definition.Service) {
		t.Helper()
		if err := d.Put(t.Context(), env, bundle, all); err != nil {
			t.Fatal(err)
		}
	}
	site, mail := definition.Service{Name: "site"}, definition.Service{Name: "mail"}
	must(other, "one", site)
	f := func() {
		must(other, "two", site)
		must(other, "three", mail)
	}
	now.Store(&f)
	must(d, "four", definition.Service{Name: "lab"})
	for s, want := range map[*definition.Service]string{&site: "two", &mail: "three"} {
		digest, err := s.Digest()
		if err != nil {
			t.Fatal(err)
		}
		got, err := other.Of(t.Context(), env, s.Name, 0, digest)
		if err != nil || got.Bundle != want {
			t.Errorf("%s belongs to %q, not to %q: %v", s.Name, got.Bundle, want, err)
		}
	}
}
