//go:build servers

package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/aws"
)

// newTable makes a table with a key of a text and a number, and returns its name.
func newTable(t *testing.T) (*dynamodb.Client, string) {
	t.Helper()
	api := dynamodb.NewFromConfig(awstest.Config(server.URL(server.MiniStack), nil))
	name := "items-" + awstest.Unique(t)
	_, err := api.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: &name,
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: sdk.String("p k"),
			AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: sdk.String("sk"), AttributeType: types.ScalarAttributeTypeN}},
		KeySchema: []types.KeySchemaElement{{AttributeName: sdk.String("p k"),
			KeyType: types.KeyTypeHash},
			{AttributeName: sdk.String("sk"), KeyType: types.KeyTypeRange}}})
	if err != nil {
		t.Fatal(err)
	}
	return api, name
}

// itemWorld describes all items of a partition.
func itemWorld(ctx context.Context, api *dynamodb.Client, table, partition string) (string, error) {
	page, err := api.Query(ctx, &dynamodb.QueryInput{TableName: &table,
		ConsistentRead: sdk.Bool(true), KeyConditionExpression: sdk.String("#p = :p"),
		ExpressionAttributeNames: map[string]string{"#p": "p k"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":p": &types.AttributeValueMemberS{Value: partition}}})
	if err != nil {
		return "", err
	}
	var lines []string
	for _, it := range page.Items {
		delete(it, "p k")
		values := map[string]any{}
		for name, v := range it {
			values[name] = fromItem(v, nil)
		}
		line, err := json.Marshal(values)
		if err != nil {
			return "", err
		}
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

func TestItemConformance(t *testing.T) {
	t.Parallel()
	api, table := newTable(t)
	c := &cutter{}
	var places atomic.Int64
	providertest.Run(t, providertest.Subject{Definition: Item(),
		Transport: via(server.MiniStack, c),
		New: func(string, *providertest.Host) (providertest.Case, error) {
			partition := fmt.Sprint("place ", places.Add(1))
			of := func(n any, attrs map[string]any) map[string]any {
				return map[string]any{"table": table, "name": fmt.Sprint(partition, n),
					"key": map[string]any{"p k": partition, "sk": n}, "values": attrs}
			}
			first := of(int64(1), map[string]any{"size": int64(1), "SET": "a reserved word",
				"deep": map[string]any{"list": []any{"b", "a", nil, true, 1.5}},
				"tags": []any{"b", "a"}, "big": new(big.Int).Exp(big.NewInt(10), big.NewInt(30),
					nil), "raw": "AP8="})
			first["sets"] = map[string]any{"tags": "texts", "numbers": "numbers", "many": "bytes"}
			first["bytes"] = []any{"raw"}
			with := func(change map[string]any) map[string]any {
				out := maps.Clone(first["values"].(map[string]any))
				maps.Copy(out, change)
				return map[string]any{"values": out}
			}
			gone := with(nil)
			delete(gone["values"].(map[string]any), "size")
			gone["absent"] = []any{"size"}
			raw := with(map[string]any{"raw": "AQI=", "many": []any{"AQ==", "", "AP8="}})
			only := map[string]any{"values": map[string]any{"size": int64(3)}, "exclusive": true,
				"absent": nil}
			out := providertest.Case{Attributes: first,
				Updates: []map[string]any{with(map[string]any{"size": "one"}),
					with(map[string]any{"tags": []any{"c", "a"}, "numbers": []any{1.5, int64(2)}}),
					raw, gone, only},
				World: func() (string, error) {
					return itemWorld(t.Context(), api, table, partition)
				},
				Vanish: func() error {
					_, err := api.DeleteItem(t.Context(),
						&dynamodb.DeleteItemInput{TableName: &table,
							Key: map[string]types.AttributeValue{
								"p k": &types.AttributeValueMemberS{Value: partition},
								"sk":  &types.AttributeValueMemberN{Value: "1"}}})
					return err
				}, Interrupt: c.Interrupt, Like: map[string]any{"table": table},
				Unlisted: "the table knows no names",
				Edges:    []string{"values", "absent", "exclusive"}}
			for i := range 3 {
				out.Others = append(out.Others, of(int64(i+2), map[string]any{"i": int64(i)}))
			}
			out.Others = append(out.Others, of(2.5, map[string]any{}))
			return out, nil
		}})
}

// TestItemDrift pins that what others did is seen, and that what nobody spoke of stays.
func TestItemDrift(t *testing.T) {
	t.Parallel()
	api, table := newTable(t)
	c := via(server.MiniStack, nil)
	key := map[string]types.AttributeValue{"p k": &types.AttributeValueMemberS{Value: "p"},
		"sk": &types.AttributeValueMemberN{Value: "100"}}
	r := provider.Resource{Attributes: map[string]any{"table": table, "name": "x",
		"key": map[string]any{"p k": "p", "sk": 1e2}, "values": map[string]any{"n": int64(10),
			"tags": []any{"b", "a"}, "raw": "AQI=",
			"map": map[string]any{"x": map[string]any{"bytes": "AQ=="}}},
		"sets": map[string]any{"tags": "texts"}, "bytes": []any{"raw"}, "absent": []any{"old"}}}
	put := func(name string, v types.AttributeValue) func() {
		return func() {
			_, err := api.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: &table,
				Key: key, UpdateExpression: sdk.String("SET #n = :v"),
				ExpressionAttributeNames:  map[string]string{"#n": name},
				ExpressionAttributeValues: map[string]types.AttributeValue{":v": v}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, step := range []struct {
		why    string
		do     func()
		change diff.Change
	}{
		{"it is not there", nil, diff.Created},
		{"nothing was done", nil, diff.NoChange},
		{"the same number in another form", put("n", &types.AttributeValueMemberN{Value: "1E+1"}),
			diff.NoChange},
		{"a text that looks like the number", put("n", &types.AttributeValueMemberS{Value: "10"}),
			diff.Updated},
		{"something of others", put("theirs", &types.AttributeValueMemberB{Value: []byte{1}}),
			diff.NoChange},
		{"a list in place of the set",
			put("tags",
				&types.AttributeValueMemberL{
					Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "b"},
						&types.AttributeValueMemberS{Value: "a"}}}), diff.Updated},
		{"the set", put("tags", &types.AttributeValueMemberSS{Value: []string{"b", "a"}}),
			diff.NoChange},
		{"what must not be there", put("old", &types.AttributeValueMemberNULL{Value: true}),
			diff.Updated},
		{"bytes that look like the set",
			put("tags", &types.AttributeValueMemberBS{Value: [][]byte{[]byte("a"), []byte("b")}}),
			diff.Updated},
		{"a list in place of bytes",
			put("raw", &types.AttributeValueMemberL{Value: []types.AttributeValue{}}),
			diff.Updated},
		{"text in place of bytes", put("raw", &types.AttributeValueMemberS{Value: "AQI="}),
			diff.Updated},
		{"a map with bytes in it, as it would be shown",
			put("map",
				&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
					"x": &types.AttributeValueMemberB{Value: []byte{1}}}}), diff.Updated},
		{"settled", nil, diff.NoChange},
	} {
		if step.do != nil {
			step.do()
		}
		if change, diffs, err := apply(t, Item(), c, r); err != nil || change != step.change {
			t.Errorf("%s: %q, %v, %v", step.why, change, diffs, err)
		}
	}
	if w, err := itemWorld(t.Context(), api, table, "p"); err != nil ||
		!strings.Contains(w, "theirs") || strings.Contains(w, "old") {
		t.Errorf("there is %s, %v", w, err)
	}
	var lost int
	broken := via(server.MiniStack, &awstest.Faults{Decide: func(string, []byte) awstest.Fault {
		lost++
		return [...]awstest.Fault{awstest.Lose, awstest.Break, awstest.None}[lost%3]
	}})
	r.Attributes["values"] = map[string]any{"n": int64(11)}
	for _, expected := range []diff.Change{diff.Updated, diff.NoChange} {
		if change, _, err := apply(t, Item(), broken, r); change != expected || err != nil {
			t.Errorf("while answers are lost: %q, %v", change, err)
		}
	}
	for why, bad := range map[string]struct {
		attrs map[string]any
		class provider.Class
	}{
		"a table that is none": {map[string]any{"table": table + "-none", "name": "x",
			"key": map[string]any{"p k": "p", "sk": int64(1)}}, provider.Retryable},
		"half a key": {map[string]any{"table": table, "name": "x",
			"key": map[string]any{"p k": "p"}}, provider.NeedsChange},
	} {
		if _, _, err := apply(t, Item(), c, provider.Resource{Attributes: bad.attrs}); err == nil ||
			provider.ClassOf(err) != bad.class {
			t.Errorf("%s: %v is %s", why, err, provider.ClassOf(err))
		}
	}
	sessions := &conn.Sessions{Reserved: []string{table}}
	t.Cleanup(func() { _ = sessions.Close() })
	own, err := sessions.Connect(t.Context(), "a",
		map[string]any{"region": "us-east-1", "endpoint": server.URL(server.MiniStack)})
	if err == nil {
		_, _, err = apply(t, Item(), own, r)
	}
	if err == nil {
		t.Error("the table of the state is there for all")
	}
}
