package dynamo_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/deploytest"
)

// servers are those of this package's tests.
var servers = map[server.Kind]*server.Server{}

func TestMain(m *testing.M) {
	code := 1
	defer func() { os.Exit(code) }()
	for _, kind := range []server.Kind{server.DynamoDB, server.MiniStack} {
		s, err := server.Start(context.Background(), kind)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		defer s.Stop()
		servers[kind] = s
	}
	code = m.Run()
}

// client returns a client of a server and a new table there.
func client(t *testing.T, kind server.Kind, faults *awstest.Faults) (*dynamodb.Client, string) {
	t.Helper()
	plain := dynamodb.NewFromConfig(awstest.Config(servers[kind].URL, nil))
	table := awstest.Unique(t)
	if _, err := plain.CreateTable(t.Context(), dynamo.Table(table)); err != nil && !awserr.Is(err, awserr.TableInUse) { // in use: the SDK asked twice
		t.Fatal(err)
	}
	if faults == nil {
		return plain, table
	}
	return dynamodb.NewFromConfig(awstest.Config(servers[kind].URL, faults)), table
}

func open(t *testing.T, c dynamo.Config) *dynamo.State {
	t.Helper()
	s, err := dynamo.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestConformance runs the suite of the port on each server: as it is, and with limits so small that every way of storing is taken.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		kind    server.Kind
		prepare func(*dynamo.State)
	}{
		{"DynamoDBLocal", server.DynamoDB, func(*dynamo.State) {}},
		{"MiniStack", server.MiniStack, func(*dynamo.State) {}},
		{"Objects", server.DynamoDB, (*dynamo.State).Squeeze},
		{"Items", server.DynamoDB, (*dynamo.State).SqueezeItems},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			deploytest.TestState(t, func(t *testing.T) deploytest.StateHarness {
				t.Helper()
				api, table := client(t, c.kind, nil)
				config := dynamo.Config{API: api, Table: table, Objects: &awstest.Objects{}}
				a, b := open(t, config), open(t, config)
				c.prepare(a)
				c.prepare(b)
				return harness(a, b)
			})
		})
	}
}

func harness(a, b *dynamo.State) deploytest.StateHarness {
	var n atomic.Int64
	holder := func() string { return fmt.Sprintf("holder#%d", n.Add(1)) }
	return deploytest.StateHarness{A: a, B: b, HolderA: holder, HolderB: holder}
}
