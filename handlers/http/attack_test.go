package http

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	"southbound/shared/schema"
	conn "southbound/shared/transport/http"
)

type m = map[string]any

// want returns a resource with defaults filled in.
func want(t *testing.T, attrs m) provider.Resource {
	t.Helper()
	registry, err := schema.NewRegistry(resolved().Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := registry.Type("http::Object")
	all := m{"name": "web", "path": "/items/{id}", "collection": "/items",
		"body": m{"name": "$name", "size": int64(1)}, "settle": int64(0),
		"find": m{"items": "/items", "match": m{"name": "$name"}}}
	maps.Copy(all, attrs)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	full, problems := typ.Check(all)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return provider.Resource{ID: "http::Object[a,name=web]", Type: "http::Object", Agent: "a",
		Attributes: full}
}

// apply does what the engine does with one resource, once.
func apply(
	t *testing.T, c *conn.Conn, r provider.Resource,
) (diff.Change, map[string]diff.Diff, *providertest.Host, error) {
	t.Helper()
	host := providertest.NewHost(c)
	ctx := host.Context(t.Context(), provider.Options{ID: r.ID})
	registry, _ := schema.NewRegistry(resolved().Type)
	typ, _ := registry.Type("http::Object")
	obs, err := object{}.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		return "", nil, host, err
	}
	switch {
	case r.Purged && obs.Exists:
		_, err = object{}.Delete(ctx, provider.DeleteRequest{Resource: r, Observed: obs})
		return diff.Purged, nil, host, err
	case r.Purged:
		return diff.NoChange, nil, host, nil
	case !obs.Exists:
		_, err = object{}.Create(ctx, provider.CreateRequest{Resource: r, Token: "t"})
		return diff.Created, nil, host, err
	}
	diffs := diff.Compare(typ, r.Attributes, obs.Attributes)
	if len(diffs) == 0 {
		return diff.NoChange, nil, host, nil
	}
	_, err = object{}.Update(ctx, provider.UpdateRequest{Resource: r, Observed: obs,
		Changes: diffs})
	return diff.Updated, diffs, host, err
}

// TestDrift creates, lets others change, repairs and purges.
func TestDrift(t *testing.T) {
	t.Parallel()
	api := newItems(t)
	api.throttle = 3
	c := api.connect(t, m{"idempotency_header": "Idempotency-Key"})
	r := want(t, m{"facts": m{"number": "/id", "none": "/nothing"},
		"secrets": m{"pw": "s3cr3t one"}, "body": m{"name": "$name", "size": int64(1),
			"note": "see ${name}", "key": "$pw"}})
	edit := func(change m) func() {
		return func() {
			for _, it := range api.all {
				maps.Copy(it.body, change)
			}
		}
	}
	for _, step := range []struct {
		why     string
		do      func()
		change  diff.Change
		current any // of the body that differs
	}{
		{"it is not there", nil, diff.Created, nil},
		{"nothing was done", nil, diff.NoChange, nil},
		{"a field that nobody asked for", edit(m{"more": 1}), diff.NoChange, nil},
		{"another size", edit(m{"size": 2}), diff.Updated,
			m{"name": "$name", "size": int64(2), "note": "see ${name}", "key": "$pw"}},
		{"a text that looks like a reference", edit(m{"note": "see $${name}"}), diff.Updated,
			m{"name": "$name", "size": int64(1), "note": "see $$$${name}", "key": "$pw"}},
		{"another secret", edit(m{"key": "old s3cr3t"}), diff.Updated,
			m{"name": "$name", "size": int64(1), "note": "see ${name}", "key": otherSecret}},
		{"what was removed", edit(m{"note": nil}), diff.Updated,
			m{"name": "$name", "size": int64(1), "note": nil, "key": "$pw"}},
		{"settled", nil, diff.NoChange, nil},
		{"gone", func() { clear(api.all) }, diff.Created, nil},
	} {
		if step.do != nil {
			step.do()
		}
		change, diffs, host, err := apply(t, c, r)
		if err != nil || change != step.change ||
			step.current != nil && !resource.Equal(diffs["body"].Current, step.current) {
			t.Errorf("%s: %q, %v, %v", step.why, change, diffs, err)
		}
		if said := host.Output() + fmt.Sprint(diffs); strings.Contains(said, "s3cr3t") {
			t.Errorf("%s: a secret in %s", step.why, said)
		}
		if f := host.Facts(); change == diff.NoChange && (len(f) != 1 || f["number"] == nil) {
			t.Errorf("%s: facts are %v", step.why, f)
		}
	}
	r.Purged = true
	for _, expected := range []diff.Change{diff.Purged, diff.NoChange} {
		if change, _, _, err := apply(t, c, r); change != expected || err != nil {
			t.Errorf("purge: %q, %v", change, err)
		}
	}
}

// TestRaces pins what happens when others were faster.
func TestRaces(t *testing.T) {
	t.Parallel()
	api := newItems(t)
	c := api.connect(t, nil)
	r := want(t, nil)
	ctx := providertest.NewHost(c).Context(t.Context(), provider.Options{ID: r.ID})
	api.all["7"] = &item{body: m{"name": "web", "size": 5, "theirs": true}, version: 3}
	// a create that answers 409: it is looked up and brought to what is wanted
	hidden := want(t, m{"find": nil, "path": "/items/7"})
	if _, err := (object{}).Create(ctx, provider.CreateRequest{Resource: hidden,
		Token: "t"}); err != nil || fmt.Sprint(api.all["7"].body["size"]) != "1" ||
		api.all["7"].body["theirs"] != true || len(api.all) != 1 {
		t.Errorf("adopted: %v, %v", api.all["7"], err)
	}
	obs, err := object{}.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		t.Fatal(err)
	}
	api.all["7"].body["size"], api.all["7"].version = 9, 99 // since then
	_, err = object{}.Update(ctx,
		provider.UpdateRequest{Resource: want(t, m{"body": m{"name": "$name", "size": int64(2)}}),
			Observed: obs})
	if err == nil || provider.ClassOf(err) != provider.Retryable ||
		!strings.Contains(err.Error(), "412") || api.all["7"].body["size"] != 9 {
		t.Errorf("an object that has changed was overwritten: %v", err)
	}
	api.all["8"] = &item{body: m{"name": "web"}, version: 1}
	if _, _, _, err := apply(t, c, r); provider.ClassOf(err) != provider.Terminal {
		t.Errorf("two objects with one name: %v", err)
	}
}

// TestAnswers pins what follows from answers, and that none is shown whole or with a secret in it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		class  provider.Class
		part   string
	}{
		{401, `{"you sent": "Bearer s3cr3t-token"}`, provider.Terminal, "credentials"},
		{403, "no", provider.Terminal, ""},
		{400, `no "s3cr3t \"pw\"" here`, provider.NeedsChange, "no \"<redacted>\" here"},
		{400, "s3cr3t%20%22pw%22 czNjcjN0ICJwdyI=", provider.NeedsChange, "<redacted> <redacted>"},
		{422, strings.Repeat("x", 10_000), provider.NeedsChange, "xxx…"},
		{400, hex.EncodeToString([]byte(`s3cr3t "pw"`)), provider.NeedsChange, ": <redacted>"},
		{400, base64.StdEncoding.EncodeToString([]byte("me:s3cr3t-token")), provider.NeedsChange,
			""},
		{400, strings.Repeat(" ", 64<<10-8) + `s3cr3t "pw"`, provider.NeedsChange, ": <redacted>…"},
		{307, "", provider.NeedsChange, "url"},
		{422, "\x1b[31mred\n\n\x00line", provider.NeedsChange, "[31mred line"},
		{500, "", provider.Retryable, "500 Internal Server Error"},
		{409, "", provider.Retryable, ""},
		{302, "", provider.NeedsChange, "url"},
		{200, "<html>", provider.NeedsChange, "not JSON"},
		{200, `{"a": 1} {"b": 2}`, provider.NeedsChange, "not JSON"},
		{200, `[1]`, provider.NeedsChange, "has no object"},
		{501, "", provider.NeedsChange, "methods"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.status == 302 {
				w.Header().Set("Location", "/login?s3cr3t-token")
			}
			if c.status == 307 { // what is shown of it ends within the secret
				w.Header().Set("Location",
					"/"+strings.Repeat("x", 200-len("/s3cr3t-"))+"s3cr3t-token")
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		var sessions conn.Sessions
		options := m{"url": server.URL, "token": "s3cr3t-token", "retry": int64(0)}
		own, err := sessions.Connect(t.Context(), options, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _, host, err := apply(t, own,
			want(t, m{"find": nil, "path": "/x", "secrets": m{"pw": `s3cr3t "pw"`}}))
		if err == nil || provider.ClassOf(err) != c.class ||
			!strings.Contains(err.Error(), c.part) {
			t.Errorf("%d %.20s: %v is %s", c.status, c.body, err, provider.ClassOf(err))
		} else if text := err.Error() + host.Output(); strings.Contains(text, "s3cr3t") ||
			strings.Contains(text, "czNj") || len(err.Error()) > 800 ||
			strings.ContainsAny(err.Error(), "\x1b\x00") {
			t.Errorf("%d: shown as %q", c.status, text)
		}
		_ = sessions.Close()
		server.Close()
	}
}

// TestNames pins that values never change what a path means, and that a list does not lead
// elsewhere.
func TestNames(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.EscapedPath()+"?"+r.URL.RawQuery)
		if r.URL.Path == "/api/list" {
			w.Header().Set("Link", `<http://169.254.169.254/latest>; rel=next`)
			_, _ = w.Write([]byte("[]"))
			return
		}
		w.WriteHeader(404)
	}))
	defer server.Close()
	var sessions conn.Sessions
	defer sessions.Close()
	options := m{"url": server.URL + "/api"}
	c, err := sessions.Connect(t.Context(), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	for value, expected := range map[string]string{
		"a/../../admin": "GET /api/u/a%2F..%2F..%2Fadmin?q=a%2F..%2F..%2Fadmin", "..": "", ".": "",
		"x?y=1&z#f": "GET /api/u/x%3Fy=1&z%23f?q=x%3Fy%3D1%26z%23f",
		"ü\n":       "GET /api/u/%C3%BC%0A?q=%C3%BC%0A",
		"{vars}":    "GET /api/u/%7Bvars%7D?q=%7Bvars%7D"} {
		asked = nil
		r := want(t, m{"name": value, "find": nil, "path": "/u/{name}?q={name}"})
		_, err := object{}.Read(providertest.NewHost(c).Context(t.Context(), provider.Options{}),
			provider.ReadRequest{Resource: r})
		if expected == "" && provider.ClassOf(err) == provider.NeedsChange && asked == nil {
			continue
		}
		if err != nil || !slices.Equal(asked, []string{expected}) {
			t.Errorf("%q: asked for %q, %v", value, asked, err)
		}
	}
	_, err = object{}.Read(providertest.NewHost(c).Context(t.Context(), provider.Options{}),
		provider.ReadRequest{Resource: want(t,
			m{"find": m{"path": "/list", "match": m{"a": int64(1)}}})})
	if provider.ClassOf(err) != provider.NeedsChange || err == nil {
		t.Errorf("a list that goes on elsewhere: %v", err)
	}
	if _, err := (object{}).Read(providertest.NewHost("no API").Context(t.Context(),
		provider.Options{}),
		provider.ReadRequest{}); provider.ClassOf(err) != provider.NeedsChange {
		t.Errorf("an agent of this machine: %v", err)
	}
}

// TestFailed pins that an object that will never be ready is not waited for.
func TestFailed(t *testing.T) {
	t.Parallel()
	api := newItems(t)
	c := api.connect(t, nil)
	r := want(t, m{"ready": m{"status": "done"}, "settle": int64(60)})
	_, _, _, err := apply(t, c, r)
	if err != nil {
		t.Error(err)
	}
	r.Attributes["failed"] = m{"status": "active"}
	if _, _, _, err = apply(t, c, r); provider.ClassOf(err) != provider.Terminal || err == nil {
		t.Errorf("%v", err)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	secret := resource.Secret{Source: "env:X"}
	for _, c := range []struct {
		why   string
		attrs m
		want  string // attribute: part of message or hint
	}{
		{"all is well", m{"vars": m{"team": "a"}, "secrets": m{"pw": secret},
			"body":   m{"a": []any{"$team", "${name}", "$5", "$$id", "$pw"}},
			"bodies": m{"update": m{"id": "$id"}}, "headers": m{"X-Key": "$pw"}}, ""},
		{"an unknown name", m{"body": m{"a": "$teem"}}, `body: "teem"`},
		{"in a path", m{"collection": "/{team}/items"}, `collection: "team"`},
		{"too early", m{"body": m{"a": "${id}"}}, "body: leave $id out"},
		{"too early, in a path", m{"collection": "/items/{id}"}, "collection: leave {id} out"},
		{"an id that is kept", m{"find": nil}, ""},
		{"a fact in its place", m{"find": nil, "facts": m{"object_id": "/x"}},
			"facts: another name"},
		{"two ways from page to page",
			m{"find": m{"match": m{"a": int64(1)}, "page": "p", "next": "/next"}},
			"find: keep one"},
		{"a cursor from nowhere", m{"find": m{"match": m{"a": int64(1)}, "cursor": "after"}},
			"find: add next"},
		{"nowhere to look", m{"collection": nil, "paths": m{"create": "/items"}},
			"find: add collection"},
		{"nowhere to create",
			m{"collection": nil, "find": m{"path": "/items", "match": m{"a": int64(1)}}},
			"path: add collection"},
		{"a secret in the open", m{"body": m{"a": secret}}, "body: name it in secrets"},
		{"a secret in a path", m{"secrets": m{"pw": secret}, "collection": "/{pw}"},
			"collection: send it in a header"},
		{"a secret that is none", m{"secrets": m{"pw": "hunter2"}}, "secrets: write {secret"},
		{"the body in a body", m{"bodies": m{"create": m{"data": "$body"}}}, ""},
		{"the body in itself", m{"body": m{"a": "$body"}}, "body: \"body\""},
		{"taken by the body", m{"vars": m{"body": "x"}}, "vars: another name"},
		{"taken", m{"vars": m{"name": "x"}}, "vars: another name"},
	} {
		all := m{"name": "web", "path": "/items/{id}", "collection": "/items",
			"find": m{"match": m{"name": "$name"}}, "body": m{"name": "$name"}}
		maps.Copy(all, c.attrs)
		problems := validate(all)
		attribute, part, _ := strings.Cut(c.want, ": ")
		if c.want == "" && len(problems) > 0 ||
			c.want != "" &&
				(len(problems) != 1 || problems[0].Attribute != attribute ||
					!strings.Contains(problems[0].Message+problems[0].Hint, part)) {
			t.Errorf("%s: %v, expected %s", c.why, problems, c.want)
		}
	}
}

// TestSecretsInHeaders pins that a secret stands in a header without the line end of the file that it
// was read from, and in a body as it is.
func TestSecretsInHeaders(t *testing.T) {
	t.Parallel()
	for text, header := range map[string]string{"a": "a", "a\n": "a", "a\r\n": "a", "a\n\n": "a\n"} {
		s := newScope(provider.Resource{Attributes: map[string]any{"vars": map[string]any{"v": "v\n"},
			"secrets": map[string]any{"pw": text}}})
		given := map[string]any{"X-Key": "$pw", "X-More": "Bearer ${pw}", "X-Var": "$v"}
		headers, err := s.forHeaders().object(given)
		if err != nil || headers["X-Key"] != header || headers["X-More"] != "Bearer "+header ||
			headers["X-Var"] != "v\n" {
			t.Errorf("%q: %q, %v", text, headers, err)
		}
		if body, err := s.object(given); err != nil || body["X-Key"] != text {
			t.Errorf("%q: %q, %v", text, body, err)
		}
	}
}
