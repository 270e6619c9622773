package api_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"southbound/shared/api"
)

// zip compresses a body as clients do.
func zip(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestTypesOfBodies sends an order under each type that clients use, from programs, from pages of
// the server, and from pages elsewhere: those may send JSON only as what it is.
func TestTypesOfBodies(t *testing.T) {
	t.Parallel()
	w := shop(t)
	host := w.Listener.Addr().String()
	types := []struct {
		kind string
		odd  bool // a page of another origin may send it unasked
	}{
		{"application/json", false}, {"application/json; charset=utf-8", false},
		{"", true}, {"text/plain", true}, {"text/plain;charset=UTF-8", true},
		{"application/x-www-form-urlencoded", true},
	}
	froms := []struct {
		header []string
		same   bool
	}{
		{nil, true}, {[]string{"Origin", "http://" + host}, true},
		{[]string{"Origin", "http://" + host, "Sec-Fetch-Site", "same-origin"}, true},
		{[]string{"Sec-Fetch-Site", "none"}, true},
		{[]string{"Origin", "http://evil.example"}, false}, {[]string{"Origin", "null"}, false},
		{[]string{"Sec-Fetch-Site", "cross-site"}, false},
		{[]string{"Sec-Fetch-Site", "same-site"}, false},
		{[]string{"Origin", "http://" + host, "Sec-Fetch-Site", "cross-site"}, false},
	}
	// as behind a function's URL, where nothing else looks at origins
	open := api.Handler(w.service)
	n := 0
	for _, k := range types {
		for _, f := range froms {
			n++
			body := fmt.Sprintf(`{"attributes": {"name": "n%d"}}`, n)
			header := append([]string{"X-Inmanta-tid", "default", "Content-Type", k.kind},
				f.header...)
			want := http.StatusOK
			if k.odd && !f.same {
				want = http.StatusForbidden
			}
			if code, text := direct(open, host, customers, body, header); code != want {
				t.Errorf("%q %q: %d, and not %d: %s", k.kind, f.header, code, want, text)
			}
			guarded := http.StatusUnprocessableEntity // the name is taken by now
			switch {
			case !f.same:
				guarded = http.StatusForbidden
			case want != http.StatusOK:
				guarded = want
			}
			if resp, text := w.ask(t, "POST", customers, body, header...); resp.StatusCode != guarded {
				t.Errorf("%q %q: %d, and not %d: %s", k.kind, f.header, resp.StatusCode, guarded,
					text)
			}
		}
	}
	// no other type is taken for JSON, and nothing but public clients' paths takes these
	for _, c := range []struct{ path, kind string }{
		{customers, "text/html"}, {customers, "multipart/form-data; boundary=x"},
		{customers, "text/plain; x"}, {customers, "application/octet-stream"},
		{"/v1/environments/default/halt", "text/plain"},
		{"/v1/environments/default/halt", "application/x-www-form-urlencoded"},
	} {
		resp, text := w.ask(t, "POST", c.path, `{"halted": true, "attributes": {"name": "x"}}`,
			"X-Inmanta-tid", "default", "Content-Type", c.kind)
		if resp.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("%s as %s: %d %s", c.path, c.kind, resp.StatusCode, text)
		}
	}
}

// TestRepeatedMembers sends bodies that repeat parameters of the path or have null for what is left
// out.
func TestRepeatedMembers(t *testing.T) {
	t.Parallel()
	w := shop(t)
	_, v := w.order(t, http.MethodPost, customers, `{"attributes": {"name": "a"}}`)
	one, _ := v["data"].(map[string]any)
	id, _ := one["id"].(string)
	at := customers + "/" + id
	for _, c := range []struct {
		why, method, path, body string
		code                    int
		has                     string
	}{
		{"the service", "POST", customers, `{"service_entity": "customer", "tid": "default",
			"attributes": {"name": "b"}}`, 200, `"name":"b"`},
		{"another service", "POST", customers, `{"service_entity": "site",
			"attributes": {"name": "c"}}`, 422, `body.service_entity: it differs`},
		{"another environment", "POST", customers, `{"tid": "other",
			"attributes": {"name": "c"}}`, 422, `body.tid: it differs`},
		{"no text", "POST", customers, `{"service_entity": ["customer"],
			"attributes": {"name": "c"}}`, 422, `body.service_entity: it differs`},
		{"null for all", "POST", customers, `{"service_entity": null, "service_instance_id": null,
			"initial_state": null, "metadata": null, "config": null, "something_new": null,
			"attributes": {"name": "d"}}`, 200, `"name":"d"`},
		{"null for an attribute that needs one", "POST", customers,
			`{"attributes": {"name": null}}`, 422, `"attribute":"name"`},
		{"unknown", "POST", customers, `{"something_new": 1, "attributes": {"name": "e"}}`, 422,
			`body.something_new`},
		{"twice", "POST", customers, `{"service_entity": "customer", "service_entity": "customer",
			"attributes": {"name": "e"}}`, 400, `occurs twice`},
		{"no JSON", "POST", customers, `{"service_entity": "customer"`, 400, `not valid JSON`},
		{"more than JSON", "POST", customers, `{"attributes": {"name": "e"}} x`, 400,
			`not valid JSON`},
		{"instance", "PATCH", at, `{"service_entity": "customer", "service_id": "` + id + `",
			"current_version": 1, "attributes": {"size": null}, "update_id": null}`, 409,
			`"conflict"`},
		{"state", "POST", at + "/expert/state", `{"service_id": "` + id + `", "operation": null,
			"current_version": 1, "target_state": "start", "message": null}`, 200, `"version":2`},
		{"a key", "POST", at + "/metadata/7", `{"service_id": "` + id + `", "key": 7,
			"value": "v", "current_version": 2}`, 200, `"metadata":{"7":"v"}`},
		{"a parameter", "PUT", "/api/v1/parameter/p", `{"id": "p", "value": "v", "tid": "default",
			"resource_id": null}`, 200, `"name":"p"`},
		{"another parameter", "PUT", "/api/v1/parameter/p", `{"id": "q", "value": "v"}`, 422,
			`body.id: it differs`},
	} {
		code, v := w.order(t, c.method, c.path, c.body)
		text, err := json.Marshal(v)
		if err != nil || code != c.code || !bytes.Contains(text, []byte(c.has)) {
			t.Errorf("%s: %d, and not %d with %s: %s", c.why, code, c.code, c.has, text)
		}
	}
}

// TestCompressedBodies sends bodies as clients compress them, and what is none or becomes too long.
func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	w := shop(t)
	order := func(name string) string { return `{"attributes": {"name": "` + name + `"}}` }
	for _, c := range []struct {
		why, encoding, body string
		code                int
	}{
		{"plain", "", order("a"), 200}, {"identity", "identity", order("b"), 200},
		{"gzip", "gzip", zip(t, order("c")), 200},
		{"long", "gzip", zip(t, order("d")+strings.Repeat(" ", 64<<10)), 200},
		{"too long", "gzip", zip(t, order("d")+strings.Repeat(" ", 1<<20)), 413},
		{"not gzip", "gzip", order("e"), 400}, {"nothing", "gzip", "", 400},
		{"cut off", "gzip", zip(t, order(strings.Repeat("f", 100)))[:40], 400},
		{"unknown", "br", order("g"), 400},
		{"a bomb", "gzip", zip(t, order("h")+strings.Repeat(" ", 64<<20)), 413},
	} {
		resp, text := w.ask(t, "POST", customers, c.body, "X-Inmanta-tid", "default",
			"Content-Encoding", c.encoding, "Content-Type", "application/json")
		if resp.StatusCode != c.code {
			t.Errorf("%s: %d, and not %d: %.300s", c.why, resp.StatusCode, c.code, text)
		}
	}
}

// TestErrorsForClients wants every error on the paths of public clients to be application/json with
// a message that says all, whoever answers.
func TestErrorsForClients(t *testing.T) {
	t.Parallel()
	w := shop(t)
	for _, c := range []struct {
		why, method, path, body string
		header                  []string
		code                    int
		has                     []string
	}{
		{"no token", "GET", customers, "", []string{"Authorization", ""}, 401,
			[]string{"token", "SOUTHBOUND_TOKEN"}},
		{"another host", "GET", customers, "", []string{"Host", "evil.example"}, 403, nil},
		{"no path", "GET", "/lsm/v9/nothing", "", nil, 404, nil},
		{"no such method", "DELETE", customers, "", nil, 405, []string{"use GET"}},
		{"no environment", "GET", customers, "", []string{"X-Inmanta-tid", ""}, 422, nil},
		{"no service", "GET", "/lsm/v1/service_inventory/none", "", nil, 404, []string{"none"}},
		{"wrong parameter", "GET", customers + "?limit=x", "", nil, 422, []string{"limit"}},
		{"wrong attributes", "POST", customers, `{"attributes": {"name": 1, "other": 2}}`, nil, 422,
			[]string{"name:", "other:"}},
		{"one wrong attribute", "POST", customers, `{"attributes": {"name": 1}}`, nil, 422,
			[]string{"name:"}},
		{"not offered", "POST", "/lsm/v1/service_catalog/customer/config", `{"values": {"a": true}}`, nil,
			501, []string{"service_inventory/SERVICE/ID/config"}},
		{"parameter", "GET", "/api/v1/parameter/none", "", nil, 404, []string{"none"}},
	} {
		header := append([]string{"X-Inmanta-tid", "default"}, c.header...)
		resp, text := w.ask(t, c.method, c.path, c.body, header...)
		var said struct{ Message string }
		err := json.Unmarshal([]byte(text), &said)
		kind := resp.Header.Get("Content-Type")
		if err != nil || resp.StatusCode != c.code || kind != "application/json" ||
			said.Message == "" {
			t.Errorf("%s: %d %s %v: %s", c.why, resp.StatusCode, kind, err, text)
		}
		for _, part := range c.has {
			if !strings.Contains(said.Message, part) {
				t.Errorf("%s: the message has no %q: %s", c.why, part, said.Message)
			}
		}
	}
	if resp, _ := w.ask(t, "GET", "/v1/environments/none/health", ""); resp.StatusCode != 404 ||
		resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("our own: %d %s", resp.StatusCode, resp.Header)
	}
}

// direct posts to a handler.
func direct(h http.Handler, host, path, body string, header []string) (int, string) {
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	req.Host = host
	for i := 0; i < len(header); i += 2 {
		if header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	resp := httptest.NewRecorder()
	h.ServeHTTP(resp, req)
	return resp.Code, resp.Body.String()
}
