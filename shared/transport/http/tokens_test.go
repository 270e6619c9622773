package http_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	std "net/http"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/transport/http"
)

// TestTokens pins that tokens are asked for once, renewed when they end or are refused, sent to the
// API alone, and that no answer shows a secret.
func TestTokens(t *testing.T) {
	t.Parallel()
	given, refuse, status, life := 0, "", 200, 3600
	var forms []string
	server := serve(t, func(w std.ResponseWriter, r *std.Request) {
		user, pass, _ := r.BasicAuth()
		_ = r.ParseForm()
		forms = append(forms, fmt.Sprint(user, ":", pass, r.Form))
		if status != 200 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error": "invalid_client", "error_description": "no %s"}`, pass)
			return
		}
		given++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": "token-%d", "token_type": "bearer", "expires_in": %d}`,
			given, life)
	})
	elsewhere := serve(t, func(w std.ResponseWriter, r *std.Request) {
		fmt.Fprint(w, r.Header.Get("Authorization"))
	})
	var sent []string
	api := serve(t, func(w std.ResponseWriter, r *std.Request) {
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		sent = append(sent, fmt.Sprint(r.Method, " ", r.Header.Get("Authorization"), " ",
			string(body[:n])))
		switch {
		case r.URL.Path == "/away":
			std.Redirect(w, r, elsewhere.URL+"/x", std.StatusTemporaryRedirect)
		case r.Header.Get("Authorization") == "Bearer "+refuse:
			w.WriteHeader(401)
		}
	})
	var sessions http.Sessions
	defer sessions.Close()
	options := map[string]any{"token_url": server.URL + "/token", "client_id": "me",
		"client_secret": "s3cr3t", "scopes": []any{"read", "write"}, "audience": "shop",
		"retry": int64(0)}
	c := connect(t, &sessions, api.URL, options)
	do := func(method, path, body string) (*http.Response, error) {
		sent = nil
		return c.Do(t.Context(), http.Request{Method: method, Path: path, Body: []byte(body)})
	}
	for range 2 {
		if res, err := do("POST", "/", "x"); err != nil || res.Status != 200 || given != 1 ||
			!slices.Equal(sent, []string{"POST Bearer token-1 x"}) {
			t.Errorf("%v, %q, %d tokens", err, sent, given)
		}
	}
	if !slices.Equal(forms, []string{
		"me:s3cr3tmap[audience:[shop] grant_type:[client_credentials] scope:[read write]]"}) {
		t.Errorf("asked with %q", forms)
	}
	if s := c.Secrets(); !slices.Contains(s, "token-1") || !slices.Contains(s, "s3cr3t") {
		t.Errorf("secrets are %q", s)
	}
	refuse = "token-1"
	if res, err := do("POST", "/", "body"); err != nil || res.Status != 200 ||
		!slices.Equal(sent, []string{"POST Bearer token-1 body", "POST Bearer token-2 body"}) {
		t.Errorf("refused early: %v, %q", err, sent)
	}
	if res, err := do("GET", "/away", ""); err != nil || string(res.Body) != "" {
		t.Errorf("a token went elsewhere: %v, %s", err, res.Body)
	}
	refuse, status = "token-2", 401 // and there is no other token
	if res, err := do("GET", "/", ""); err != nil || res.Status != 401 {
		t.Errorf("%v", err)
	}
	for s, kind := range map[int]fault.Kind{401: fault.Denied, 400: fault.Denied,
		503: fault.Unavailable} {
		status = s
		fresh := connect(t, &sessions, api.URL,
			map[string]any{"token_url": server.URL + "/token", "client_id": fmt.Sprint("me", s),
				"client_secret": "s3cr3t", "retry": int64(0)})
		_, err := fresh.Do(t.Context(), http.Request{Method: "POST", Path: "/"})
		if !fault.Is(err, kind) || !errors.Is(err, provider.ErrNothingMade) ||
			strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%d: %v", s, err)
		}
	}
}
