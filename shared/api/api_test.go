package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/local"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/service/orders"
	"southbound/shared/transport"
)

const (
	token     = "t0ken"
	readToken = "t0ken-read"
	tokenName = "api-token"
)

// world is a server of the embedded home on loopback.
type world struct {
	*httptest.Server
	service *api.Service
	types   *schema.Registry
	home    *local.Home
}

// start serves a new data directory; wrap, when not nil, stands before everything.
func start(t *testing.T, wrap func(http.Handler) http.Handler) *world {
	t.Helper()
	w := &world{}
	var err error
	if w.home, err = local.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.home.Close() })
	if w.types, err = schema.NewRegistry(provider.Types(handlers.All())...); err != nil {
		t.Fatal(err)
	}
	engine := deploy.New(deploy.Config{State: w.home, Files: w.home.Files(),
		Notifier: w.home.Notifier, Clock: local.Clock{}, Caller: local.Caller{},
		Secrets: w.home.Secrets(), Connector: &transport.Connector{Local: true}, Types: w.types,
		Handlers: provider.Handlers(handlers.All()), Pack: "p", Holder: w.home.Holder(),
		NewID: w.home.NewID, Jitter: rand.Float64})
	services := orders.New(orders.Config{
		Definitions: w.home.Definitions(), Instances: w.home.Instances(), Book: w.home.Instances(),
		Callbacks: w.home.Callbacks(),
	})
	w.service = api.New(api.Config{Engine: engine, Jobs: w.home, Audit: w.home, Services: services,
		Definitions: w.home.Definitions(),
		About:       api.Discovery{Version: "1", Auth: api.AuthBearer}})
	ctx, stop := context.WithCancel(context.Background())
	wait := w.service.WorkHere(ctx)
	t.Cleanup(func() { stop(); wait() })
	w.Server = httptest.NewUnstartedServer(nil)
	guard := api.Guard{Token: token, ReadToken: readToken, Names: [2]string{tokenName, "reads"}, Hosts: []string{w.Listener.Addr().String()}}
	w.Config.Handler = guard.Wrap(api.Handler(w.service))
	if wrap != nil {
		w.Config.Handler = wrap(w.Config.Handler)
	}
	w.Start()
	t.Cleanup(w.Close)
	return w
}

// ask makes a request and returns the answer with its body.
func (w *world) ask(
	t *testing.T, method, path, body string, header ...string,
) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, w.URL+path,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		} else if header[i+1] == "" {
			req.Header.Del(header[i])
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

// TestOpenAPI holds the description against what is served.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	resp, text := w.ask(t, "GET", "/openapi.json", "", "Authorization", "")
	if resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
	var doc struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			OperationID string                     `json:"operationId"`
			Parameters  []struct{ Name string }    `json:"parameters"`
			Responses   map[string]json.RawMessage `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	for path, ops := range doc.Paths {
		for method, op := range ops {
			n++
			if about := strings.Contains(path, "{env}"); about &&
				(len(op.Parameters) == 0 || op.Parameters[0].Name != "env") {
				t.Errorf("%s %s does not read which environment it is about", method, path)
			}
			if op.OperationID == "" {
				t.Errorf("%s %s has no name", method, path)
			}
			errors := "problem+json"
			if strings.HasPrefix(path, "/lsm/") || strings.HasPrefix(path, "/api/") {
				errors = `"application/json":{"schema":{"$ref":"#/components/schemas/ErrorBody"}}`
			}
			if op.OperationID != "putFile" && !bytes.Contains(op.Responses["default"],
				[]byte(errors)) {
				t.Errorf("%s %s does not describe its errors: %s", method, path,
					op.Responses["default"])
			}
		}
	}
	if doc.OpenAPI != "3.1.0" || n < 25 {
		t.Errorf("OpenAPI %s with %d operations", doc.OpenAPI, n)
	}
	if resp, text := w.ask(t, "GET", "/openapi.yaml", ""); resp.StatusCode != 200 ||
		!strings.Contains(text, "openapi: 3.1.0") {
		t.Errorf("%d %.200s", resp.StatusCode, text)
	}
}

// TestAsks makes a request of each kind, and holds answers to what they must be.
func TestAsks(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	for _, c := range []struct {
		why, method, path, body string
		status                  int
		want                    string
	}{
		{"anybody may see what this is", "GET", "/", "", 200, `"auth":"bearer"`},
		{"progress of what does not exist", "GET", "/v1/environments/e/progress", "", 404,
			`there is no environment \"e\"`},
		{"a wrong filter says what is right", "GET",
			"/v1/environments/e/resources?filter=colour=red", "", 400, `"hint":"use type=, agent=`},
		{"no such resource", "GET", "/v1/environments/e/resources/std::Null%5Ba,name=x%5D", "",
			404, `"kind":"not_found"`},
		{"an odd environment", "GET", "/v1/environments/a%20b/progress", "", 422,
			"path.env: expected string to be 1 to 100 letters, digits, - and _"},
		{"a line break in a name", "PUT", "/v1/environments/e/parameters/a%0Ab", `{"value":"x"}`,
			422, "without line breaks and other control characters"},
		{"no such version", "GET", "/v1/environments/e/versions/3", "", 404,
			`there is no version 3`},
		{"no resources of it", "GET", "/v1/environments/e/versions/3/resources", "", 404,
			`"kind":"not_found"`},
		{"no file of it", "GET", "/v1/environments/e/versions/3/files/" + strings.Repeat("0", 64),
			"", 404, `"kind":"not_found"`},
		{"nothing to compare", "POST", "/v1/environments/e/diffs", `{"from":1,"to":2}`, 404,
			`there is no version 1`},
		{"a comparison with nothing", "POST", "/v1/environments/e/diffs", `{"from":1}`, 422,
			`"kind":"invalid"`},
		{"nothing to release", "POST", "/v1/environments/e/releases", `{"version":1}`, 404,
			`there is no version 1`},
		{"nothing to forget", "POST", "/v1/environments/e/forget", `{"agent":"gone"}`, 404,
			`there is no agent`},
		{"forget nothing", "POST", "/v1/environments/e/forget", `{}`, 400,
			`name a resource, an agent or a filter`},
		{"environments", "GET", "/v1/environments", "", 200, `"items":`},
		{"a level that is none", "GET", "/v1/environments/e/actions?level=loud", "", 422,
			`"kind":"invalid"`},
		{"set a parameter", "PUT", "/v1/environments/e/parameters/a%2Fb", `{"value":"x"}`, 200,
			`"name":"a/b","value":"x"`},
		{"changes without a token", "GET", "/v1/environments/e/changes?wait=25", "", 200,
			`"resources":[],"more":true,"agents":true,"instances":true,"versions":true,"parameters":true,"orders":true,"actions":true,"settings":true`},
		{"changes of a token that is none", "GET", "/v1/environments/e/changes?after=x", "", 200, `"more":true`},
		{"a wait that is too long", "GET", "/v1/environments/e/changes?wait=26", "", 422, `"kind":"invalid"`},
		{"a token with a line break", "GET", "/v1/environments/e/changes?after=a%0Ab", "", 422, "without control characters"},
		{"all is well", "GET", "/v1/environments/e/health", "", 200, `"groups":[]`},
		{"an empty list", "GET", "/v1/environments/e/resources", "", 200, `{"items":[]}`},
		{"a filter", "GET",
			"/v1/environments/e/resources?filter=status=failed&filter=type=std::Null", "", 200,
			`{"items":[]}`},
		{"versions", "GET", "/v1/environments/e/versions", "", 200, `{"items":[]}`},
		{"agents", "GET", "/v1/environments/e/agents", "", 200, `{"items":[]}`},
		{"actions", "GET",
			"/v1/environments/e/actions?level=error&since=2026-01-01T00:00:00Z&agent=a", "", 200,
			`{"items":[]}`},
		{"facts", "GET", "/v1/environments/e/facts", "", 200, `{"items":[]}`},
		{"it is there", "GET", "/v1/environments/e/parameters/a%2Fb", "", 200, `"value":"x"`},
		{"its slash may stand as it is", "GET", "/v1/environments/e/parameters/a/b", "", 200,
			`"name":"a/b"`},
		{"and two of them", "PUT", "/v1/environments/e/parameters/http://h/../x", `{"value":"x"}`,
			200,
			`"name":"http://h/../x"`},
		{"its history", "GET", "/v1/environments/e/parameters/http://h/../x/history", "", 501,
			`keeps no history`},
		{"delete that", "DELETE", "/v1/environments/e/parameters/http:%2F%2Fh%2F..%2Fx", "", 200,
			`{"done":true}`},
		{"an id with slashes", "GET", "/v1/environments/e/resources/fs::File%5Ba,path=/etc//x%5D",
			"",
			404, `fs::File[a,path=/etc//x]`},
		{"not in another environment", "GET", "/v1/environments/f/parameters/a%2Fb", "", 404,
			`there is no parameter`},
		{"and in the list", "GET", "/v1/environments/e/parameters", "", 200, `"name":"a/b"`},
		{"delete it", "DELETE", "/v1/environments/e/parameters/a%2Fb", "", 200,
			`{"done":true}`},
		{"it is gone", "GET", "/v1/environments/e/parameters/a%2Fb", "", 404,
			`"hint":"` + "`southbound parameters`"},
		{"types", "GET", "/v1/types", "", 200, `"name":"std::Null"`},
		{"one type", "GET", "/v1/types/fs::File", "", 200, `"behaviour":"namevar"`},
		{"a type that is none", "GET", "/v1/types/fs::Fil", "", 404, `did you mean`},
		{"deploy nothing", "POST", "/v1/environments/e/deploy", `{}`, 200, `{"scheduled":0}`},
		{"repair", "POST", "/v1/environments/e/repair", `{"filter":["agent=a"]}`, 200,
			`{"scheduled":0}`},
		{"a dry run of nothing", "POST", "/v1/environments/e/dryruns", `{}`, 404,
			`there is no version 0`},
		{"pause", "POST", "/v1/environments/e/pause", `{"agents":["a"],"paused":true}`, 200,
			`{"done":true}`},
		{"halt", "POST", "/v1/environments/e/halt", `{"halted":true}`, 200, `{"done":true}`},
		{"collect", "POST", "/v1/environments/e/gc", `{}`, 200, `"files":0`},
		{"no such address", "GET", "/v1/nothing", "", 404, `"kind":"not_found"`},
		{"no such method", "PATCH", "/v1/environments/e/progress", "", 405,
			`"hint":"use GET, HEAD"`},
		{"a member in another case", "POST", "/v1/environments/e/exports", `{"Chunks":[]}`, 422,
			`there is no member \"Chunks\"`},
		{"a member twice", "POST", "/v1/environments/e/halt", `{"halted":true,"halted":false}`, 400,
			`member \"halted\" occurs twice`},
		{"null for a list", "POST", "/v1/environments/e/exports", `{"chunks":null}`, 422,
			`body.chunks: expected array`},
		{"null for a body", "POST", "/v1/environments/e/halt", `null`, 422, `"kind":"invalid"`},
		{"a member that is within", "POST", "/v1/environments/e/exports",
			`{"chunks":[],"settings":{"Strict":"error"}}`, 422, `"kind":"invalid"`},
		{"a parameter that is not known", "GET", "/v1/environments/e/resources?filtr=x", "", 422,
			`"kind":"invalid"`},
		{"what is sent is not repeated", "POST", "/v1/environments/e/halt",
			`{"halted":"s3cr3t-marker"}`, 422, `body.halted`},
		{"null for a number", "POST", "/v1/environments/e/gc", `{"grace_ms":null}`, 422,
			`leave the member out`},
		{"null deep within", "POST", "/v1/environments/e/exports",
			`{"chunks":[],"settings":{"strict":null}}`, 422, `leave the member out`},
		{"a whole number with a fraction of zero", "POST", "/v1/environments/e/gc",
			`{"grace_ms":2.5e3}`, 200, `"files":0`},
		{"a number with a fraction", "POST", "/v1/environments/e/gc", `{"grace_ms":2.5}`, 422,
			`body.grace_ms`},
		{"a number that is too large", "POST", "/v1/environments/e/gc", `{"grace_ms":1e300}`, 422,
			`body.grace_ms`},
		{"a parameter without its value", "GET", "/v1/environments/e/actions?until=", "", 422,
			`query.until: the parameter has no value`},
		{"a parameter twice", "GET", "/v1/environments/e/agents?limit=1&limit=2", "", 422,
			`query.limit: the parameter occurs twice`},
		{"a cursor of nothing", "GET", "/v1/environments/e/agents?cursor=x", "", 422,
			`query.cursor`},
		{"an outcome that is none", "GET", "/v1/environments/e/actions?outcome=x", "", 422,
			`query.outcome`},
		{"a chunk that is not a hash", "POST", "/v1/environments/e/exports", `{"chunks":["x"]}`,
			422, `body.chunks[0]`},
		{"members that are not known", "POST", "/v1/environments/e/halt",
			`{"halted":true,"s3cr3t":1}`, 422, `"kind":"invalid"`},
		{"no JSON", "POST", "/v1/environments/e/halt", `s3cr3t-marker`, 400, `"kind":"usage"`},
		{"more than JSON", "POST", "/v1/environments/e/halt", `{"halted":true} x`, 400,
			`body: this is not valid JSON: invalid character 'x' after top-level value, at byte 17`},
	} {
		resp, text := w.ask(t, c.method, c.path, c.body)
		if resp.StatusCode != c.status || !strings.Contains(text, c.want) ||
			strings.Contains(text, "s3cr3t-marker") {
			t.Errorf("%s: %s %s: %d %.500s", c.why, c.method, c.path, resp.StatusCode, text)
		}
		kind := resp.Header.Get("Content-Type")
		if (c.status >= 400) != (kind == "application/problem+json") {
			t.Errorf("%s: content type %q", c.why, kind)
		}
	}
}

// TestBoundsOfTerms holds how long a term of a filter may be, and all of them together, wherever
// there is a list of them. The test of the whole API with made-up requests (cmd/southbound) leaves
// that to this one.
func TestBoundsOfTerms(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	const job = "/v1/environments/e/jobs/j_00000000000000000000000000"
	for _, c := range []struct{ method, path, body, member string }{
		{"POST", "/v1/environments/e/exports", `{"chunks":[],"target":["%s"]}`, "body.target[0]"},
		{"POST", "/v1/environments/e/plans", `{"chunks":[],"target":["%s"]}`, "body.target[0]"},
		{"POST", "/v1/environments/e/dryruns", `{"filter":["%s"]}`, "body.filter[0]"},
		{"PUT", job, `{"plan":{"chunks":[],"target":["%s"]}}`, "body.plan.target[0]"},
		{"PUT", job, `{"dry_run":{"filter":["%s"]}}`, "body.dry_run.filter[0]"},
	} {
		for _, n := range []int{4096, 4097} {
			term := "type=" + strings.Repeat("x", n-len("type="))
			_, text := w.ask(t, c.method, c.path, fmt.Sprintf(c.body, term))
			if refused := strings.Contains(text, c.member); refused != (n > 4096) {
				t.Errorf("%s %s with a term of %d characters: %.300s", c.method, c.path, n, text)
			}
		}
	}
	long := `{"filter":["` + strings.Repeat("x", 9<<20) + `"]}` // more than any body may have
	for path, method := range map[string]string{job: "PUT", "/v1/environments/e/plans": "POST",
		"/v1/environments/e/dryruns": "POST"} { // TestBounds has that of exports
		if resp, text := w.ask(t, method, path, long); resp.StatusCode != 413 {
			t.Errorf("%s %s with too long a body: %d %.300s", method, path, resp.StatusCode, text)
		}
	}
}

// TestNoSuchEnvironment wants requests about an environment that does not exist to be refused, but
// for those that make one, and none to be made by the others.
func TestNoSuchEnvironment(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	for _, c := range [][3]string{
		{"GET", "progress"}, {"GET", "changes"}, {"GET", "changes?after=0&wait=9"}, {"GET", "health"}, {"GET", "resources"},
		{"GET", "resources?filter=status=failed"}, {"GET", "versions"}, {"GET", "agents"},
		{"GET", "actions"}, {"GET", "actions?version=3"}, {"GET", "parameters"}, {"GET", "facts"},
		{"DELETE", "parameters/a"}, {"POST", "deploy", "{}"}, {"POST", "repair", "{}"},
		{"POST", "pause", `{"agents":["a"],"paused":true}`}, {"POST", "halt", `{"halted":true}`},
		{"POST", "gc", "{}"},
	} {
		resp, text := w.ask(t, c[0], "/v1/environments/e/"+c[1], c[2])
		if resp.StatusCode != 404 || !strings.Contains(text, `there is no environment \"e\"`) {
			t.Errorf("%s %s: %d %.300s", c[0], c[1], resp.StatusCode, text)
		}
	}
	if _, text := w.ask(t, "GET", "/v1/environments", ""); !strings.Contains(text, `"items":[]`) {
		t.Errorf("there are environments: %s", text)
	}
	// What goes on where an answer was is asked often, and not refused.
	for _, path := range []string{"actions?after=x", "actions?cursor=x", "resources?cursor=x"} {
		if resp, text := w.ask(t, "GET", "/v1/environments/e/"+path, ""); resp.StatusCode != 200 {
			t.Errorf("%s: %d %.300s", path, resp.StatusCode, text)
		}
	}
}

// TestListThatChanges pages through lists while what was read leaves, and something comes that is
// sorted before it: nothing that stays is skipped or repeated.
func TestListThatChanges(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	set := func(name string) {
		t.Helper()
		if _, err := w.service.SetParameter(t.Context(), "e", name, "x"); err != nil {
			t.Fatal(err)
		}
		if err := w.service.Pause(t.Context(), "e", true, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"b", "c", "d", "e"} {
		set(name)
	}
	type page struct {
		Items []struct{ Name string }
		Next  string
	}
	read := func(list, cursor string) (out page) {
		t.Helper()
		path := "/v1/environments/e/" + list + "?limit=2"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		_, text := w.ask(t, "GET", path, "")
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	names := func(p page) string { return fmt.Sprint(p.Items) }
	parameters, agents := read("parameters", ""), read("agents", "")
	if names(parameters) != "[{b} {c}]" || names(agents) != "[{b} {c}]" {
		t.Fatalf("%v %v", parameters, agents)
	}
	if err := w.service.DeleteParameter(t.Context(), "e", "b"); err != nil {
		t.Fatal(err)
	}
	if got := names(read("parameters", parameters.Next)); got != "[{d} {e}]" {
		t.Errorf("after a parameter was deleted: %s", got)
	}
	set("a")
	if got := names(read("agents", agents.Next)); got != "[{d} {e}]" {
		t.Errorf("after an agent came: %s", got)
	}
	// An earlier server counted items.
	old, text := w.ask(t, "GET", "/v1/environments/e/agents?cursor=1000", "")
	if old.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a number for a cursor: %s %s", old.Status, text)
	}
}

// TestConditional wants an answer that has not changed to be sent once.
func TestConditional(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	if err := w.service.Halt(context.Background(), "e", false); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/environments/e/progress", "/v1/environments/e/versions",
		"/v1/types", "/openapi.json"} {
		resp, _ := w.ask(t, "GET", path, "")
		tag := resp.Header.Get("ETag")
		if again, text := w.ask(t, "GET", path, "", "If-None-Match",
			`"other", W/`+strings.TrimPrefix(tag, "W/")); tag == "" || again.StatusCode != 304 ||
			text != "" {
			t.Errorf("%s: tag %q, then %d %.100s", path, tag, again.StatusCode, text)
		}
		head, _ := w.ask(t, "HEAD", path, "")
		same := strings.TrimPrefix(tag, "W/") // Go asks for no compression of what is not sent
		if head.StatusCode != 200 || head.Header.Get("ETag") != same {
			t.Errorf("%s: HEAD: %d, tag %q, want %q", path, head.StatusCode,
				head.Header.Get("ETag"), same)
		}
		if head, _ = w.ask(t, "HEAD", path, "", "If-None-Match", tag); head.StatusCode != 304 {
			t.Errorf("%s: HEAD of what has not changed: %d", path, head.StatusCode)
		}
	}
	resp, _ := w.ask(t, "GET", "/v1/environments/e/progress", "")
	if err := w.service.Halt(context.Background(), "e", true); err != nil {
		t.Fatal(err)
	}
	if again, _ := w.ask(t, "GET", "/v1/environments/e/progress", "", "If-None-Match",
		resp.Header.Get("ETag")); again.StatusCode != 200 {
		t.Errorf("what changed is not sent: %d", again.StatusCode)
	}
}

// TestGuard lets in those who have the token, and no web page.
func TestGuard(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	host := w.Listener.Addr().String()
	for _, c := range []struct {
		why, path string
		status    int
		header    []string
	}{
		{"the right token", "/v1/types", 200, nil},
		{"no token", "/v1/types", 401, []string{"Authorization", ""}},
		{"a wrong token", "/v1/types", 401, []string{"Authorization", "Bearer t0keN"}},
		{"an empty token", "/v1/types", 401, []string{"Authorization", "Bearer "}},
		{"another scheme", "/v1/types", 401, []string{"Authorization", "Basic " + token}},
		{"what anybody may see", "/", 200, []string{"Authorization", ""}},
		{"a name that was led here", "/v1/types", 403, []string{"Host", "evil.example"}},
		{"also for what anybody may see", "/", 403, []string{"Host", "evil.example:80"}},
		{"another port", "/v1/types", 403, []string{"Host", "127.0.0.1:1"}},
		{"a page of this server", "/v1/types", 200, []string{"Origin", "http://" + host}},
		{"a page of another", "/v1/types", 403, []string{"Origin", "http://evil.example"}},
		{"a page without a name", "/v1/types", 403, []string{"Origin", "null"}},
		{"a page of another, as browsers say it", "/v1/types", 403,
			[]string{"Sec-Fetch-Site", "cross-site"}},
	} {
		resp, text := w.ask(t, "GET", c.path, "", c.header...)
		if resp.StatusCode != c.status || strings.Contains(text, token) {
			t.Errorf("%s: %d %s", c.why, resp.StatusCode, text)
		}
	}
}
