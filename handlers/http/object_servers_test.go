//go:build servers

package http

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"southbound/localstack/server"
	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/http"
)

// TestMain stops the servers of the tests at the end.
func TestMain(m *testing.M) {
	os.Exit(server.Tests(m.Run, server.MiniStack))
}

// TestGateway runs the suite against a REST API of someone else: that of API Gateway, which chooses
// ids, keeps no names unique and lists what there is.
func TestGateway(t *testing.T) {
	t.Parallel()
	var sessions conn.Sessions
	defer sessions.Close()
	const who = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/apigateway/aws4_request, " +
		"SignedHeaders=host, Signature=0"
	options := m{"url": server.URL(server.MiniStack), "headers": m{"Authorization": who},
		"retry": int64(2)}
	c, err := sessions.Connect(t.Context(), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	var places atomic.Int64
	providertest.Run(t, providertest.Subject{Definition: resolved(), Transport: c,
		New: func(string, *providertest.Host) (providertest.Case, error) {
			prefix := fmt.Sprintf("p%d-", places.Add(1))
			of := func(name string, body m) m {
				body["name"], body["protocolType"] = "$name", "HTTP"
				return m{"name": prefix + name, "collection": "/v2/apis", "path": "/v2/apis/{id}",
					"body": body, "id_at": "/apiId", "settle": int64(0),
					"find": m{"items": "/items", "match": m{"name": "$name"},
						"next": "/nextToken"},
					"facts": m{"endpoint": "/apiEndpoint"}}
			}
			with := func(a, b m) m { maps.Copy(a, b); return a }
			// tags cannot be changed by PATCH
			return providertest.Case{Attributes: of("x",
				m{"description": "first", "tags": m{"a": "1"}}),
				Updates: []map[string]any{
					of("x", m{"description": "second", "tags": m{"a": "1"}})},
				Others:   []map[string]any{of("y", m{}), of("z", m{"description": "other"})},
				Like:     with(of("x", m{}), m{"name": "/name"}),
				Unlisted: "all places are one list",
				Unfit: map[string]string{
					"body": "it has the name by which the object is found"}}, nil
		}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		server.URL(server.MiniStack)+"/v2/apis", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", who)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); places.Load() == 0 || res.StatusCode != 200 || len(b) < 100 {
		t.Errorf("the API has none of what was made: %s", b)
	}
}
