package api_test

import (
	"net/http"
	"strings"
	"testing"

	"southbound/shared/service/inventory"
)

// TestLongOrders wants orders that are longer than any set of attributes may be to be refused before
// they are parsed, however they are sent, and nothing to come of them.
func TestLongOrders(t *testing.T) {
	t.Parallel()
	w := shop(t)
	code, v := w.order(t, "POST", customers, `{"attributes": {"name": "here"}}`)
	if code != http.StatusOK {
		t.Fatal(code, v)
	}
	at := customers + "/" + v["data"].(map[string]any)["id"].(string)
	const set, beside = inventory.MaxAttributes, 8 << 10
	for _, c := range []struct {
		method, path string
		limit        int
	}{
		{"POST", customers, set + beside}, {"PATCH", at, set + beside},
		{"PATCH", strings.Replace(at, "/v1/", "/v2/", 1), set + beside},
		{"POST", at + "/state", set + beside}, {"POST", at + "/expert/state", set + beside},
		{"POST", at + "/config", set + beside}, {"POST", at + "/metadata/k", set + beside},
		{"PATCH", at + "/update_entity_version", 3*set + beside},
		{"POST", "/lsm/v2/order", inventory.MaxOrder + beside},
		{"POST", "/lsm/v1/callbacks", set + beside},
	} {
		// None is JSON to its end: what is parsed says that.
		for _, n := range []int{c.limit - 1, c.limit, 3 << 20} {
			body := `{"attributes": {"name": "` + strings.Repeat("x", n)
			resp, text := w.ask(t, c.method, c.path, body[:n], "X-Inmanta-tid", "default",
				"Content-Type", "application/json")
			long := n >= c.limit
			if is := resp.StatusCode == http.StatusRequestEntityTooLarge; is != long ||
				strings.Contains(text, "not valid JSON") == long {
				t.Errorf("%s %s with %d bytes: %d %.300s", c.method, c.path, n, resp.StatusCode, text)
			}
			if long && (!strings.Contains(text, " bytes or more") ||
				!strings.Contains(text, "order several instances, or keep data elsewhere")) {
				t.Errorf("%s %s: %.300s", c.method, c.path, text)
			}
		}
	}
	_, text := w.ask(t, "GET", customers, "", "X-Inmanta-tid", "default")
	if strings.Count(text, `"service_entity":`) != 1 || !strings.Contains(text, `"version":1`) {
		t.Errorf("something came of it: %s", text)
	}
}
