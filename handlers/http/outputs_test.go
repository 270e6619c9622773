package http

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/http"
)

// issuer is an API that issues a token for an object at PUT and PATCH. Later responses have mask in
// place of the token.
type issuer struct {
	object map[string]any
	token  string // of the next response to a change; "": that response has none
	mask   any
}

// ServeHTTP implements http.Handler.
func (s *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := map[string]any{"token": s.mask}
	switch r.Method {
	case http.MethodGet:
		if s.object == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
	case http.MethodDelete:
		s.object = nil
		return
	default:
		_ = json.NewDecoder(r.Body).Decode(&s.object)
		if s.token != "" {
			answer["token"] = s.token
		}
	}
	for k, v := range s.object {
		answer[k] = v
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"data": answer})
}

// TestOutputs pins which responses give secret outputs, and which leave them as they are.
func TestOutputs(t *testing.T) {
	t.Parallel()
	const lacks = `has not returned the outputs "token" at "/data/token"`
	for _, c := range []struct {
		reason, from string
		mask         any
		create       string // the token in the response to the create
		update       string // the token in the response to the update
		adopt        bool   // the object exists already
		want         [2]string
		err          [2]string
	}{
		{reason: "the create shows it once", from: fromChanges, create: "first-token",
			want: [2]string{"first-token", "first-token"}},
		{reason: "an update rotates it", from: fromChanges, create: "first-token",
			update: "second-token", want: [2]string{"first-token", "second-token"}},
		{reason: "an empty text and null are no token", from: fromChanges, mask: "",
			create: "first-token", want: [2]string{"first-token", "first-token"}},
		{reason: "updates show a mask", from: fromCreates, mask: "*****", create: "first-token",
			want: [2]string{"first-token", "first-token"}},
		{reason: "reads show it", from: fromReads, mask: "shown-token",
			want: [2]string{"shown-token", "shown-token"}},
		{reason: "the create shows none", from: fromChanges, err: [2]string{lacks, lacks}},
		{reason: "the object exists, and an update issues a token", from: fromChanges, adopt: true,
			update: "second-token", want: [2]string{"", "second-token"}, err: [2]string{lacks, ""}},
		{reason: "reads show none", from: fromReads,
			err: [2]string{`does not show the outputs "token" at "/data/token"`,
				`does not show the outputs "token" at "/data/token"`}},
	} {
		s := &issuer{mask: c.mask}
		host := providertest.NewHost(s.connect(t))
		if c.adopt {
			s.object = map[string]any{"size": 0}
		}
		for i, token := range []string{c.create, c.update} {
			s.token = token
			r := want(t, m{"path": "/token", "collection": nil, "find": nil, "object_at": "/data",
				"body":    m{"size": int64(i)},
				"outputs": m{"token": "/data/token"}, "outputs_from": c.from})
			err := runOnce(t, host, r)
			if err == nil {
				err = runOnce(t, host, r) // the second run changes nothing
			}
			if (err == nil) != (c.err[i] == "") || err != nil && !strings.Contains(err.Error(), c.err[i]) {
				t.Errorf("%s: run %d ends with %v, want %q", c.reason, i, err, c.err[i])
			}
			kept := string(host.Context(t.Context(), provider.Options{ID: r.ID}).Kept())
			if wanted := fmt.Sprintf(`{"/data/token":%q}`, c.want[i]); c.want[i] != "" && kept != wanted {
				t.Errorf("%s: after run %d, %s is kept, want %s", c.reason, i, kept, wanted)
			} else if c.want[i] == "" && kept != "" {
				t.Errorf("%s: after run %d, %s is kept", c.reason, i, kept)
			}
		}
		if out := host.Output(); strings.Contains(out, "-token") {
			t.Errorf("%s: a token is in the output: %s", c.reason, out)
		}
	}
}

// runOnce reads the object and makes the change that follows.
func runOnce(t *testing.T, host *providertest.Host, r provider.Resource) error {
	t.Helper()
	ctx := host.Context(t.Context(), provider.Options{ID: r.ID})
	obs, err := object{}.Read(ctx, provider.ReadRequest{Resource: r})
	switch {
	case err != nil:
		return err
	case !obs.Exists:
		_, err = object{}.Create(ctx, provider.CreateRequest{Resource: r, Token: "t"})
	case fmt.Sprint(obs.Attributes["body"]) != fmt.Sprint(r.Attributes["body"]):
		_, err = object{}.Update(ctx, provider.UpdateRequest{Resource: r, Observed: obs})
	}
	return err
}

func (s *issuer) connect(t *testing.T) *conn.Conn {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	sessions := &conn.Sessions{}
	t.Cleanup(func() { _ = sessions.Close() })
	c, err := sessions.Connect(t.Context(), m{"url": server.URL, "retry": int64(0)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOutputsRefused pins the declarations of outputs that are refused.
func TestOutputsRefused(t *testing.T) {
	t.Parallel()
	problems := validate(m{"name": "web", "path": "/web", "object_at": "/data",
		"facts": m{"key": "/token", "other": "/key"}, "outputs": m{"token": "/data/token"}})
	if len(problems) != 1 || problems[0].Attribute != "facts" ||
		!strings.Contains(problems[0].Message, `"key" would show the secret output "token"`) {
		t.Errorf("%v", problems)
	}
}
