//go:build servers

package services_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/aws/services"
	"southbound/shared/internal/simtest/inventorytest"
)

func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.DynamoDB, server.MiniStack)) }

// newTable makes a table on a server and returns its name.
func newTable(t *testing.T, kind server.Kind) string {
	t.Helper()
	plain := dynamodb.NewFromConfig(awstest.Config(server.URL(kind), nil))
	table := awstest.Unique(t)
	_, err := plain.CreateTable(t.Context(), dynamo.Table(table))
	if err != nil && !awserr.Is(err, awserr.TableInUse) { // in use: the SDK asked twice
		t.Fatal(err)
	}
	return table
}

// process returns the store as a process that knows nothing sees it.
func process(t *testing.T, c aws.Config, table string) *services.Instances {
	t.Helper()
	n, err := services.New(services.Config{API: dynamodb.NewFromConfig(c), Table: table})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestInstances runs the suite on each server, and with requests and answers that are lost.
func TestInstances(t *testing.T) {
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
			inventorytest.Test(t, func(t *testing.T) inventorytest.Harness {
				t.Helper()
				table, via := newTable(t, c.kind), awstest.Config(server.URL(c.kind), nil)
				if c.faults != nil {
					via = awstest.Config(server.URL(c.kind), c.faults)
				}
				return inventorytest.Harness{
					A: process(t, via, table), B: process(t, via, table),
					Expire: func(t *testing.T, now time.Time) { expire(t, c.kind, table, now) },
				}
			})
		})
	}
}

// expire removes the items of a table that have expired, as DynamoDB does within two days. Its local
// servers do not.
func expire(t *testing.T, kind server.Kind, table string, now time.Time) {
	t.Helper()
	api := dynamodb.NewFromConfig(awstest.Config(server.URL(kind), nil))
	pages := dynamodb.NewScanPaginator(api, &dynamodb.ScanInput{TableName: &table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			n, ok := i["x"].(*types.AttributeValueMemberN)
			if !ok {
				continue // also a time in another form never expires
			}
			if at, err := strconv.ParseInt(n.Value, 10, 64); err != nil || at >= now.Unix() {
				continue
			}
			if _, err := api.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table,
				Key: map[string]types.AttributeValue{"k": i["k"], "s": i["s"]}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestOrders runs the suite of orders, and with requests and answers that are lost. Its requests
// are of the same kinds as those for instances, for which each server is asked.
func TestOrders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   server.Kind
		faults *awstest.Faults
	}{
		{"DynamoDBLocal", server.DynamoDB, nil},
		{"Faults", server.DynamoDB, &awstest.Faults{
			Decide: awstest.NowAndThen(4), Rewrite: awstest.Unprocessed,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inventorytest.TestOrders(t, func(t *testing.T) inventorytest.OrdersHarness {
				t.Helper()
				table, via := newTable(t, c.kind), awstest.Config(server.URL(c.kind), nil)
				if c.faults != nil {
					via = awstest.Config(server.URL(c.kind), c.faults)
				}
				return inventorytest.OrdersHarness{
					A: process(t, via, table), B: process(t, via, table),
				}
			})
		})
	}
}

// TestFeed checks that the state of the table reports the writes of stores with Mark.
func TestFeed(t *testing.T) {
	t.Parallel()
	table := newTable(t, server.DynamoDB)
	api := dynamodb.NewFromConfig(awstest.Config(server.URL(server.DynamoDB), nil))
	c := services.Config{API: api, Table: table, Mark: true}
	instances, err := services.New(c)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := services.NewDefinitions(c)
	if err != nil {
		t.Fatal(err)
	}
	feed, err := dynamo.New(dynamo.Config{API: api, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	inventorytest.TestFeed(t, inventorytest.FeedHarness{Store: instances,
		Definitions: definitions, Feed: feed})
}
