package http

import (
	"encoding/json"
	"math/big"
	"reflect"

	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

func TestCall(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.EscapedPath() {
		case "/a%2Fb":
			_, _ = io.WriteString(w, `{"method":"`+r.Method+`","sent":`+
				string(append([]byte("0"), body...)[min(1, len(body)):])+`}`)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/none":
			w.WriteHeader(http.StatusNotFound)
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/text":
			_, _ = io.WriteString(w, "hello")
		case "/bad":
			http.Error(w, "no "+r.Header.Get("Authorization")+" "+strings.Repeat("x", 1000),
				http.StatusBadRequest)
		case "/denied":
			http.Error(w, "no", http.StatusForbidden)
		case "/busy":
			http.Error(w, "no", http.StatusConflict)
		}
	}))
	defer server.Close()
	var s Sessions
	defer s.Close()
	options := map[string]any{"url": server.URL, "token": "hunter2", "retry": int64(0)}
	conn, err := s.Connect(t.Context(), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	host := providertest.NewHost(conn)
	ctx := provider.NewContext(t.Context(), host, provider.Options{})
	for _, tc := range []struct {
		why, method, path string
		in                any
		found             bool
		class             provider.Class // of an error
		message           string
	}{
		{"what is there", "GET", Path("a/b"), nil, true, "", ""},
		{"with a body", "PUT", Path("a/b"), map[string]int{"x": 1}, true, "", ""},
		{"what is not there is no error", "GET", "/none", nil, false, "", ""},
		{"what is gone is deleted", "DELETE", "/gone", nil, false, "", ""},
		{"what is not there cannot be written", "PUT", "/none", 1, false, provider.Retryable,
			"404 Not Found"},
		{"nothing is answered", "DELETE", "/empty", nil, true, "", ""},
		{"no JSON", "GET", "/text", nil, false, provider.NeedsChange,
			"something else than expected"},
		{"a mistake, shortened", "POST", "/bad", 1, false, provider.NeedsChange,
			"400 Bad Request: no Bearer <redacted> xxx"},
		{"no right", "GET", "/denied", nil, false, provider.Terminal, "403"},
		{"another was first", "PUT", "/busy", 1, false, provider.Retryable, "409"},
		{"no JSON to send", "PUT", "/busy", func() {}, false, provider.NeedsChange,
			"cannot be written"},
		{"a path that leads out", "GET", "/../x", nil, false, provider.NeedsChange, ""},
	} {
		var out struct{ Method string }
		found, err := Call(ctx, tc.method, tc.path, tc.in, &out)
		if found != tc.found || (err != nil) != (tc.class != "") ||
			tc.class != "" && provider.ClassOf(err) != tc.class {
			t.Errorf("%s: found %v, error %v", tc.why, found, err)
		}
		if err != nil && (!strings.Contains(err.Error(), tc.message) ||
			strings.Contains(err.Error(), "hunter2") || len(err.Error()) > 500) {
			t.Errorf("%s: %v", tc.why, err)
		}
		if strings.HasPrefix(tc.path, "/a") && out.Method != tc.method {
			t.Errorf("%s: the answer is %+v", tc.why, out)
		}
	}
	other := provider.NewContext(t.Context(), providertest.NewHost(nil), provider.Options{})
	if _, err := Call(other, "GET", "/", nil, nil); provider.ClassOf(err) != provider.NeedsChange {
		t.Errorf("without a connection: %v", err)
	}
}

// TestPlain pins that what an API answers has the values of attributes wherever any value may
// stand.
func TestPlain(t *testing.T) {
	t.Parallel()
	type inner struct {
		Any  any
		List []any
	}
	var out struct {
		Any   any
		Map   map[string]any
		Deep  map[string]map[string]any
		Inner *inner
		Typed int
		Raw   json.Number
	}
	const text = `{"Any":[1,2.5,1e3],"Map":{"a":7,"b":{"c":[8]},"d":36893488147419103232},"Deep":{"x":{"y":9}},"Inner":{"Any":1,"List":[2,"x"]},"Typed":3,"Raw":4}`
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	plain(reflect.ValueOf(&out).Elem())
	huge, _ := new(big.Int).SetString("36893488147419103232", 10)
	for what, pair := range map[string][2]any{
		"any": {out.Any, []any{int64(1), 2.5, 1000.0}},
		"map": {out.Map, map[string]any{"a": int64(7),
			"b": map[string]any{"c": []any{int64(8)}}, "d": huge}},
		"a map in a map": {out.Deep["x"]["y"], int64(9)},
		"a struct":       {*out.Inner, inner{int64(1), []any{int64(2), "x"}}},
		"types stay":     {out.Typed, 3}, "and so does this": {out.Raw, json.Number("4")},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %#v and not %#v", what, pair[0], pair[1])
		}
	}
}
