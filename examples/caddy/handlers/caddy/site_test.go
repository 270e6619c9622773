package caddy

import (
	"net/http"
	"testing"

	"southbound/examples/caddy/caddytest"
	"southbound/shared/provider/providertest"
	api "southbound/shared/transport/http"
	"southbound/shared/transport/http/apitest"
)

// TestSite runs the conformance suite against a real Caddy.
func TestSite(t *testing.T) {
	admin := apitest.Connect(t, map[string]any{"url": caddytest.Start(t),
		"idempotency_header": "Idempotency-Key", "retry": int64(10)})
	ask := func(method, path, body string) (string, error) { // asks Caddy beside the handler
		res, err := admin.Do(t.Context(), api.Request{Method: method, Body: []byte(body),
			Path:   "/config/apps/http/servers" + path,
			Header: http.Header{"Content-Type": {"application/json"}}, Key: "test"})
		if err != nil {
			return "", err
		}
		return string(res.Body), nil
	}
	create := func(string, *providertest.Host) (providertest.Case, error) {
		_, err := ask(http.MethodPost, "", "{}") // nothing is there
		return providertest.Case{
			Attributes: map[string]any{"name": "a", "port": int64(21024), "text": "hello",
				"code": int64(200)},
			Updates: []map[string]any{{"text": "<b>Hello</b>\n"}, {"code": int64(404)},
				{"port": int64(21025)}},
			Others: []map[string]any{{"name": "b", "port": int64(21026), "text": "",
				"code": int64(204)}},
			Edges:  []string{"*"}, // and values at the edges of the types
			Unfit:  map[string]string{"port": "others listen at made-up ports"},
			World:  func() (string, error) { return ask(http.MethodGet, "", "") },
			Vanish: func() error { _, err := ask(http.MethodDelete, "/a", ""); return err },
		}, err
	}
	providertest.Run(t, providertest.Subject{Definition: Site(), Transport: admin, New: create})
}
