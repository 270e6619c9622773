//go:build servers

package dynamo_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/bucket"
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

// TestConformance runs the suite of the port as it is, and with limits so small that every way of
// storing is taken: each on DynamoDB Local, which is the reference for conditions and transactions,
// and with faults; and the one that asks most on MiniStack, with real objects. What asks less there
// is asked of it end to end.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		kind    server.Kind
		prepare func(*dynamo.State)
		faults  bool
	}{
		{"DynamoDBLocal", server.DynamoDB, func(*dynamo.State) {}, false},
		{"MiniStackAndObjects", server.MiniStack, (*dynamo.State).Squeeze, false},
		{"Objects", server.DynamoDB, (*dynamo.State).Squeeze, false},
		{"Items", server.DynamoDB, (*dynamo.State).SqueezeItems, false},
		{"Faults", server.DynamoDB, func(*dynamo.State) {}, true},
		{"FaultsAndItems", server.DynamoDB, (*dynamo.State).SqueezeItems, true},
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
				config := dynamo.Config{API: api, Table: table, Objects: &awstest.Objects{}}
				if c.kind == server.MiniStack {
					config.Objects = objects(t, table)
				}
				a, b := open(t, config), open(t, config)
				c.prepare(a)
				c.prepare(b)
				h := harness(a, b)
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
				config := dynamo.Config{API: api, Table: table, Objects: &awstest.Objects{}}
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
				config := dynamo.Config{API: api, Table: table, Objects: &awstest.Objects{}}
				return open(t, config), open(t, config)
			})
		})
	}
}

// objects returns real objects in a new bucket.
func objects(t *testing.T, name string) dynamo.Objects {
	t.Helper()
	api := s3.NewFromConfig(awstest.Config(server.URL(server.MiniStack), nil), func(o *s3.Options) {
		o.UsePathStyle = true
	})
	if _, err := api.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil &&
		!awserr.Is(err, "BucketAlreadyOwnedByYou") {
		t.Fatal(err)
	}
	return bucket.NewObjects(api, name)
}

func harness(a, b *dynamo.State) deploytest.StateHarness {
	var n atomic.Int64
	holder := func() string { return fmt.Sprintf("holder#%d", n.Add(1)) }
	return deploytest.StateHarness{A: a, B: b, HolderA: holder, HolderB: holder}
}
