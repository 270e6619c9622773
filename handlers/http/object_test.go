package http

import (
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

// resolved is the definition for resources whose references have been resolved.
func resolved() provider.Definition {
	d := Object()
	d.Type.Validate = nil
	return d
}

// conformance runs the suite against the API.
func conformance(t *testing.T, api *items, updates int, options, attrs map[string]any) {
	t.Helper()
	var places atomic.Int64
	providertest.Run(t, providertest.Subject{Definition: resolved(),
		Transport: api.connect(t, options),
		New: func(string, *providertest.Host) (providertest.Case, error) {
			prefix := fmt.Sprintf("p%d-", places.Add(1))
			of := func(name string, body map[string]any) map[string]any {
				out := map[string]any{"name": prefix + name, "collection": "/items",
					"path": "/items/{id}",
					"find": map[string]any{"path": "/items?prefix={prefix}", "items": "/items",
						"match": map[string]any{"name": "$name"}},
					"gone":    map[string]any{"status": "deleting"},
					"vars":    map[string]any{"prefix": prefix, "n": int64(7), "team": "a team"},
					"secrets": map[string]any{"pw": `s3cr3t "pw"`}, "ignore": []any{"/password"},
					"sets":  map[string]any{"/tags": "", "/rules": "port"},
					"facts": map[string]any{"number": "/id"}}
				out["body"] = map[string]any{"name": "$name"}
				maps.Copy(out["body"].(map[string]any), body)
				maps.Copy(out, attrs)
				return out
			}
			body := func(more map[string]any) map[string]any {
				out := map[string]any{"name": "$name", "size": "$n", "label": "${team} pays $$5",
					"password": "$pw", "tags": []any{"a", "c", "b"},
					"rules": []any{map[string]any{"port": int64(80)},
						map[string]any{"port": int64(443), "tls": true}},
					"deep": map[string]any{"list": []any{int64(1), int64(2)}, "none": nil}}
				maps.Copy(out, more)
				return map[string]any{"body": out}
			}
			return providertest.Case{Attributes: of("x", body(nil)["body"].(map[string]any)),
				Updates: []map[string]any{body(map[string]any{"size": int64(8)}),
					body(map[string]any{"tags": []any{"c", "a"}}),
					body(map[string]any{"tags": []any{}}),
					body(
						map[string]any{
							"rules": []any{map[string]any{"port": int64(443), "tls": false}}}),
					body(map[string]any{"deep": map[string]any{"list": []any{int64(2), int64(1)}}}),
					body(map[string]any{"label": "$$name", "size": 1.5})}[:updates],
				Others: []map[string]any{of("y", nil),
					of("z/1 ?&", map[string]any{"size": int64(1)}), of("xx", nil)},
				World:  func() (string, error) { return api.world(prefix), nil },
				Vanish: func() error { api.remove(prefix + "x"); return nil },
				Like: map[string]any{"name": "/name", "collection": "/items", "path": "/items/{id}",
					"find": map[string]any{"path": "/items?prefix=" + prefix, "items": "/items",
						"match": map[string]any{"name": "$name"}},
					"gone": map[string]any{"status": "deleting"},
					"body": map[string]any{"name": "$name", "size": nil}},
				Unlisted:  "what is listed has its own choice of members",
				Interrupt: api.Interrupt, Secrets: []string{"s3cr3t", "t0ken-of"},
				Edges: []string{"body", "facts", "vars"}}, nil
		}})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lag, updates int
		anyName      bool
		issues       bool
		slow         bool
		options      map[string]any
		attrs        map[string]any
	}{
		"plain": {0, 6, false, false, false, map[string]any{"retry": int64(0)},
			map[string]any{"settle": int64(0)}},
		"late": {3, 1, false, false, false, map[string]any{"retry": int64(0)},
			map[string]any{"settle": int64(1), "ready": map[string]any{"status": "active"}}},
		"slow": {3, 1, false, true, true, map[string]any{"retry": int64(0)},
			map[string]any{"settle": int64(1), "ready": map[string]any{"status": "active"},
				"outputs": map[string]any{"token": "/token"}}},
		"merged": {0, 2, false, false, false, map[string]any{"retry": int64(0)},
			map[string]any{"settle": int64(1), "update_sends": "merged",
				"methods": map[string]any{"update": "PUT"}}},
		"kept": {0, 2, true, false, false,
			map[string]any{"retry": int64(0), "idempotency_header": "Idempotency-Key"},
			map[string]any{"settle": int64(0), "find": nil}},
		"changed": {0, 2, true, false, false,
			map[string]any{"retry": int64(0), "idempotency_header": "Idempotency-Key"},
			map[string]any{"settle": int64(1), "update_sends": "changed"}},
		"outputs": {0, 2, false, true, false, map[string]any{"retry": int64(0)},
			map[string]any{"settle": int64(0), "outputs": map[string]any{"token": "/token"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newItems(t)
			api.lag, api.anyName, api.issues, api.slow = c.lag, c.anyName, c.issues, c.slow
			conformance(t, api, c.updates, c.options, c.attrs)
		})
	}
}
