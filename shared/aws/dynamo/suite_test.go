//go:build servers

package dynamo_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/deploytest"
)

func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.DynamoDB, server.MiniStack)) }

// client returns a client of a server and a new table there.
func client(t *testing.T, kind server.Kind, faults *awstest.Faults) (*dynamodb.Client, string) {
	t.Helper()
	plain := dynamodb.NewFromConfig(awstest.Config(server.URL(kind), nil))
	table := awstest.Unique(t)
	// in use: the SDK asked twice
	if _, err := plain.CreateTable(t.Context(), dynamo.Table(table)); err != nil &&
		!awserr.Is(err, awserr.TableInUse) {
		t.Fatal(err)
	}
	if faults == nil {
		return plain, table
	}
	return dynamodb.NewFromConfig(awstest.Config(server.URL(kind), faults)), table
}

func open(t *testing.T, c dynamo.Config) *dynamo.State {
	t.Helper()
	s, err := dynamo.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestConformance runs the suite of the port as it is, and with limits so small that a transaction
// has two rows, and each value items of its own: on DynamoDB Local, which is the reference for
// conditions and transactions, with and without faults, and on MiniStack.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   server.Kind
		limits *dynamo.Limits
		faults bool
	}{
		{"DynamoDBLocal", server.DynamoDB, nil, false},
		{"MiniStack", server.MiniStack, dynamo.Small(), false},
		{"Small", server.DynamoDB, dynamo.Small(), false},
		{"Faults", server.DynamoDB, nil, true},
		{"FaultsAndSmall", server.DynamoDB, dynamo.Small(), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			deploytest.TestState(t, func(t *testing.T) deploytest.StateHarness {
				t.Helper()
				var faults *awstest.Faults
				if c.faults {
					faults = &awstest.Faults{Decide: awstest.NowAndThen(4),
						Rewrite: awstest.Unprocessed}
				}
				api, table := client(t, c.kind, faults)
				config := dynamo.Config{API: api, Table: table, Host: dynamo.Host{Limits: c.limits}}
				h := harness(open(t, config), open(t, config))
				// a winner whose answer was lost may be told that it lost: see
				// RepeatedCommitShowsItself
				h.Serial = c.faults
				return h
			})
		})
	}
}

// TestJobs runs the suite of records of jobs on each server, and with answers that are lost.
func TestJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   server.Kind
		faults *awstest.Faults
	}{
		{"DynamoDBLocal", server.DynamoDB, nil},
		{"MiniStack", server.MiniStack, nil},
		{"Faults", server.DynamoDB, &awstest.Faults{Decide: awstest.NowAndThen(4)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			deploytest.TestJobs(t, func(t *testing.T) deploytest.JobsHarness {
				t.Helper()
				api, table := client(t, c.kind, c.faults)
				config := dynamo.Config{API: api, Table: table}
				return deploytest.JobsHarness{A: open(t, config), B: open(t, config),
					Serial: c.faults != nil}
			})
		})
	}
}

// TestAudit runs the suite of the audit on each server, and with answers that are lost.
func TestAudit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   server.Kind
		faults *awstest.Faults
	}{
		{"DynamoDBLocal", server.DynamoDB, nil},
		{"MiniStack", server.MiniStack, nil},
		{"Faults", server.DynamoDB, &awstest.Faults{Decide: awstest.NowAndThen(4)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			deploytest.TestAudit(t, func(t *testing.T) (a, b state.AuditLog) {
				t.Helper()
				api, table := client(t, c.kind, c.faults)
				config := dynamo.Config{API: api, Table: table}
				return open(t, config), open(t, config)
			})
		})
	}
}

func harness(a, b *dynamo.State) deploytest.StateHarness {
	var n atomic.Int64
	holder := func() string { return fmt.Sprintf("holder#%d", n.Add(1)) }
	return deploytest.StateHarness{A: a, B: b, HolderA: holder, HolderB: holder}
}
