package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"southbound/handlers"
	"southbound/shared/api"
	"southbound/shared/api/agents"
	"southbound/shared/api/paging"
	"southbound/shared/api/search"
	"southbound/shared/console"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

const (
	brokenID = "std::Null[web1,name=broken]"
	lastID   = "std::Null[web1,name=last]"
)

func pageOf(id string) string {
	return "/console/production/resource?" + url.Values{"id": {id}}.Encode()
}

// operatorPages are the pages that operators read, in the environment that Fill makes.
func operatorPages() map[string][]string {
	return map[string][]string{
		"/console/production/": {"Problems", "connection to 10.0.0.9 refused", "2 others not done because of it",
			"1 agent is paused: db1", "Version 2 is in force", "Versions of today", "Graph"},
		"/console/production/resources":                        {"failed 1", "skipped 2", "web1 broken", "With"},
		"/console/production/resources?status=skipped":         {"status: skipped", "web1 after", "web1 last"},
		"/console/production/resources?status=failed&q=nosuch": {"No resource matches"},
		pageOf(brokenID): {"failed", "connection to 10.0.0.9 refused", "Required by", "web1 after", "non_compliant",
			"Last actions", "Retry"},
		pageOf(lastID):                               {"skipped , because of", "web1 broken", "runs when the cause recovers", "Root causes"},
		"/console/production/actions":                {"web1 broken", "deploy", "version 2"},
		"/console/production/actions?outcome=failed": {"outcome: failed", "web1 broken"},
		"/console/production/actions?text=nosuch":    {"No action matches"},
		"/console/production/actions?set=nosuch":     {"set: nosuch", "No action matches"},
		"/console/production/agents":                 {"web1", "db1", "paused", "local", "failed 1", "skipped 2"},
		"/console/production/agents?q=web":           {"words: web", "web1"},
		"/console/production/agents/db1":             {"paused", "Resume", "transport"},
		"/console/production/versions":               {"2", "in force", "ada", "a change of a test", "compare and release"},
		"/console/production/versions/1": {"Stored", "by ada", "Compare with version 2", "std::Null web1 broken",
			"app.conf", "7 of 7"},
		"/console/production/compare?from=2&to=1":            {"Release version 1", "update 2", "listen 80", "Nothing is deleted"},
		"/console/production/compare?from=1&to=2&diff=sides": {"listen 8080", "Before", "After", "Show texts unified"},
		"/console/production/compare?from=2&to=2":            {"Both versions describe the same"},
		"/console/production/parameters":                     {"replicas", "3", "suggests 2 values", "Set"},
		"/console/production/parameter?name=replicas":        {"Set by user", "History", "Delete"},
		"/console/production/parameter/delete?name=replicas": {"This removes the parameter replicas with the value 3"},
		"/console/production/search?q=app":                   {"Resources", "app.conf"},
		"/console/production/search?q=":                      {"Type a word"},
		"/console/production/search?q=nosuch":                {"Nothing was found"},
		"/console/production/search?q=db1":                   {"Agent db1", "paused"},
		"/console/production/audit":                          {"pause", "db1"},
		"/console/production/dryruns":                        {"Start", "No dry run was started"},
		"/console/production/facts":                          {"Facts"},
	}
}

// TestOperators reads every page in both homes, and checks that each link to a page works.
func TestOperators(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	for name, home := range w.Homes(t) {
		c := console.New(home, realTime())
		b := signedIn(t, c)
		seen := map[string]bool{}
		for at, texts := range operatorPages() {
			page := b.Get(at, http.StatusOK)
			wants(t, page, texts...)
			for _, to := range linksOf(page) {
				if to, _, _ = strings.Cut(to, "#"); !seen[to] && strings.HasPrefix(to, "/console/production/") {
					seen[to] = true
					if res := b.Do(http.MethodGet, to, ""); res.StatusCode != http.StatusOK {
						t.Errorf("%s: %s links to %s: %d", name, at, to, res.StatusCode)
					}
				}
			}
		}
		if len(seen) < 30 {
			t.Errorf("%s: there are %d links", name, len(seen))
		}
	}
}

// realTime are options with the clock of this machine, for pages that say what is of today.
func realTime() console.Options {
	o := options()
	o.Now = time.Now
	return o
}

// linksOf returns the addresses of the links of a page.
func linksOf(page string) []string {
	var out []string
	for _, part := range strings.Split(page, ` href="`)[1:] {
		to, _, _ := strings.Cut(part, `"`)
		out = append(out, strings.ReplaceAll(to, "&amp;", "&"))
	}
	return out
}

// TestOperatorsAct does what operators do, in both homes.
func TestOperatorsAct(t *testing.T) {
	t.Parallel()
	type form = url.Values
	steps := []struct {
		reason, do string
		form       form
		status     int
		want       string
	}{
		{"one of two agents exists", "resume", form{"agent": {"db1", "web2"}}, 200, "1 of 2 agents resumed; web2 does not exist"},
		{"pause", "pause", form{"agent": {"db1"}}, 200, "Agent db1 is paused"},
		{"no agent is ticked", "pause", nil, 400, "No agent is ticked."},
		{"work on agents names some", "repair", form{"scope": {"agents"}}, 400, "No agent is ticked."},
		{"nothing is ticked", "repair", form{"scope": {"ticked"}}, 400, "No resource is ticked."},
		{"no id", "repair", form{"id": {"no id"}}, 400, "no id"},
		{"a ticked resource", "retry", form{"id": {brokenID}, "back": {"/console/production/resources?status=failed"}}, 200, "1 resource is tried again"},
		{"nothing to do", "deploy", form{"id": {"std::Null[web1,name=none]"}}, 200, "Nothing was scheduled"},
		{"all that match", "repair", form{"scope": {"all"}, "agent": {"web1"}}, 200, "are checked and repaired"},
		{"a wrong filter", "repair", form{"scope": {"all"}, "status": {"odd"}}, 400, "odd"},
		{"another site in back", "repair", form{"scope": {"all"}, "back": {"https://evil.example/"}}, 200, "are checked and repaired"},
		{"halt", "halt", nil, 200, "The environment is halted"},
		{"go on", "unhalt", nil, 200, "no longer halted"},
		{"set a parameter", "set-parameter", form{"name": {"region2"}, "value": {"<b>"}}, 200, "The parameter region2 is set"},
		{"no name", "set-parameter", form{"name": {""}, "value": {"kept text"}}, 400, "The parameter has no name."},
		{"delete a parameter", "delete-parameter", form{"name": {"region2"}}, 200, "The parameter region2 is deleted"},
		{"forget needs the name", "forget", form{"id": {brokenID}, "typed": {"x"}}, 400, "The typed name differs."},
		{"forget a managed resource", "forget", form{"id": {brokenID}, "typed": {brokenID}}, 409, ""},
		{"release what the page before did not show", "release", form{"from": {"3"}, "to": {"1"}, "message": {"kept text"}}, 409,
			"ersion 2 is in force now, and not version 3 as on the page before"},
		{"it is in force", "release", form{"from": {"1"}, "to": {"2"}}, 200, "Version 2 is in force already"},
		{"release", "release", form{"from": {"2"}, "to": {"1"}, "deletes": {"0"}, "message": {"roll back"}}, 200,
			"Version 1 is in force: 2 resources changed, 0 removed"},
	}
	for name := range map[string]bool{"service": true, "client": true} {
		w := consoletest.Open(t, handlers.All())
		w.Fill(t)
		b := signedIn(t, console.New(w.Homes(t)[name], realTime()))
		for _, s := range steps {
			res := b.Do(http.MethodPost, "/console/production/do/"+s.do, s.form.Encode())
			status := res.StatusCode
			if status == http.StatusSeeOther {
				to := res.Header.Get("Location")
				if !strings.HasPrefix(to, "/console/production/") {
					t.Errorf("%s: %s: goes to %s", name, s.reason, to)
				}
				res = b.Do(http.MethodGet, to, "")
				status = res.StatusCode
			}
			page := consoletest.Body(t, res)
			consoletest.CheckHTML(t, s.reason, page)
			if status != s.status || !strings.Contains(consoletest.TextOf(page), s.want) {
				t.Errorf("%s: %s: %d, want %d %q: %s", name, s.reason, status, s.status, s.want, consoletest.TextOf(page))
			}
			if typed := s.form.Get("message") + s.form.Get("value"); status >= 400 && typed != "" && !strings.Contains(page, typed) {
				t.Errorf("%s: %s: what was typed is lost", name, s.reason)
			}
		}
		if p, err := w.Service.Progress(t.Context(), "production"); err != nil || p.Released != 1 {
			t.Errorf("%s: version %d is in force: %v", name, p.Released, err)
		}
	}
}

// TestOperatorsReadOnly: no page has a form that changes something, and none is accepted.
func TestOperatorsReadOnly(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	o := realTime()
	o.ReadOnly = true
	b := signedIn(t, console.New(w.Service, o))
	for at := range operatorPages() {
		if page := b.Get(at, http.StatusOK); strings.Contains(page, "/do/") {
			t.Errorf("%s has a form", at)
		}
	}
	for _, do := range []string{"repair", "deploy", "retry", "halt", "unhalt", "pause", "resume", "forget", "release",
		"set-parameter", "delete-parameter", "dryrun", "cancel-dryrun"} {
		b.Post("/console/production/do/"+do, url.Values{"scope": {"all"}}, http.StatusForbidden)
	}
}

// TestOperatorsNone reads the pages of an environment without a version.
func TestOperatorsNone(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	if _, err := w.Service.SetParameter(t.Context(), "production", "a", "b"); err != nil {
		t.Fatal(err)
	}
	b := signedIn(t, console.New(w.Service, realTime()))
	for at, want := range map[string]string{"": "Nothing was exported to this environment yet",
		"resources": "Nothing was exported to this environment yet", "actions": "No handler has run",
		"agents": "No version names an agent", "versions": "Nothing was exported", "facts": "No handler has learned"} {
		wants(t, b.Get("/console/production/"+at, http.StatusOK), want)
	}
	for _, at := range []string{"versions/1", "versions/x", "agents/a", "actions/a", "resource?id=x%3A%3AY%5Ba%2Ck%3Dv%5D",
		"parameter?name=none", "compare?from=1&to=2"} {
		b.Get("/console/production/"+at, http.StatusNotFound)
	}
	for _, at := range []string{"resource", "compare?from=a&to=1", "resources?status=odd", "forget"} {
		b.Get("/console/production/"+at, map[bool]int{true: 200, false: 400}[at == "resources?status=odd"])
	}
}

// TestOperatorsFaults: a page over a home that fails says what happened; a page of which one part
// fails has the other parts.
func TestOperatorsFaults(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	for kind, status := range map[fault.Kind]int{fault.Denied: 403, fault.Unavailable: 503, fault.Timeout: 504,
		fault.Damaged: 500} {
		broken := consoletest.Failing(w.Service, fault.New(kind, "read state", "the disk is on fire").WithHint("look at it"))
		b := signedIn(t, console.New(broken, realTime()))
		for at := range operatorPages() {
			res := b.Do(http.MethodGet, at, "")
			page := consoletest.Body(t, res)
			consoletest.CheckHTML(t, at, page)
			if code := res.StatusCode; code != status && code != http.StatusOK {
				t.Errorf("%s: %s: %d, want %d or a page with the problem", kind, at, code, status)
			}
			if res.StatusCode != http.StatusOK {
				wants(t, page, "isk is on fire", "Look at it.")
			}
		}
	}
	for _, half := range []struct{ method, at, has string }{
		{"Health", "", "Version 2 is in force"}, {"VersionsPage", "", "connection to 10.0.0.9 refused"},
		{"Progress", "resources", "web1 broken"}, {"ResourcesPage", "resources", "skipped 2"},
		{"Actions", "resource?id=" + url.QueryEscape(brokenID), "Required by"},
		{"Actions", "agents/web1", "transport"}, {"Progress", "agents", "db1"}, {"ParametersPage", "resource?id=" + url.QueryEscape(brokenID), "Required by"}, {"Search", "search?q=a", "Type a word"},
	} {
		home := consoletest.FailingAt(w.Service, half.method, fault.New(fault.Unavailable, "read", "the line is cut"))
		b := signedIn(t, console.New(home, realTime()))
		page := b.Get("/console/production/"+half.at, http.StatusOK)
		wants(t, page, half.has, "he line is cut")
		if strings.Contains(page, "Nothing is wrong") {
			t.Errorf("%s fails, and the page says that nothing is wrong", half.method)
		}
	}
}

// manyHome has 100,000 resources and as many actions, with long names.
type manyHome struct{ api.Home }

func (m *manyHome) ResourcesPage(_ context.Context, _ string, q api.ResourcesQuery) (paging.Page[api.Resource], error) {
	p := paging.Page[api.Resource]{Next: "failed fs::File[node", Count: paging.CountOf(100_000)}
	for i := range q.Limit {
		p.Items = append(p.Items, api.Resource{ID: resource.ID(fmt.Sprintf("fs::File[node%04d.rack12.example.org,path=/srv/applications/%06d/configuration/settings-of-it.conf]", i%1000, i)),
			Status: state.StatusFailed, LastRun: state.RunFailed, Set: "shared", Reason: strings.Repeat("a reason of a failure ", 20)})
	}
	return p, nil
}

func (m *manyHome) Progress(context.Context, string) (api.Progress, error) {
	return api.Progress{Last: 1, Released: 1, Counts: map[state.Status]int{state.StatusFailed: 100_000}}, nil
}

func (m *manyHome) ActionsPage(_ context.Context, _ string, q api.ActionQuery) (paging.Page[api.Action], error) {
	p := paging.Page[api.Action]{Next: "0001"}
	for i := range q.Limit {
		p.Items = append(p.Items, api.Action{ID: fmt.Sprintf("%026d", 999_999-i), Resource: "fs::File[node0001.rack12.example.org,path=/srv/applications/000001/configuration/settings-of-it.conf]",
			Action: "deploy", Outcome: state.StatusFailed, Reason: strings.Repeat("a reason of a failure ", 20), Version: 7,
			Started: time.Now(), Finished: time.Now().Add(time.Second)})
	}
	return p, nil
}

func TestOperatorsMany(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	b := signedIn(t, console.New(&manyHome{w.Service}, realTime()))
	for _, at := range []string{"resources", "actions"} {
		page := b.Get("/console/production/"+at, http.StatusOK)
		if n := strings.Count(page, "<tr id="); n != 50 {
			t.Errorf("%s has %d rows", at, n)
		}
		if len(page) > 60_000 {
			t.Errorf("%s has %d bytes, more than 60,000", at, len(page))
		}
		wants(t, page, "Next page")
	}
}

// hostileTexts are texts that try to leave their place in a page.
func hostileTexts() []string {
	var out []string
	for _, payload := range []string{"alert(1)", "canary()", "fetch('//evil.example')", "1"} {
		for _, form := range []string{"<script>%s</script>", "\"><img src=x onerror=%s>", "'><svg onload=%s>",
			"</title><script>%s</script>", "</textarea><script>%s</script>", "</option></select><script>%s</script>",
			"<a href=\"javascript:%s\">x</a>", "javascript:%s", "{{%s}}", "<!--%s", "]]><script>%s</script>",
			"<iframe srcdoc='<script>%s</script>'>", "<style>*{background:url(//evil?%s)}</style>", "\u202e%s\x1b[31m", "<base href=//evil?%s>"} {
			out = append(out, fmt.Sprintf(form, payload))
		}
	}
	return out
}

// hostileHome has a text in every place that a model, a host or a user can write.
type hostileHome struct {
	api.Home
	text string
}

func (h *hostileHome) id() resource.ID {
	return resource.NewID("x::Y", h.text, resource.Key{Name: "k", Value: h.text})
}

func (h *hostileHome) resource() api.Resource {
	return api.Resource{ID: h.id(), Type: "x::Y", Agent: h.text, Status: state.StatusFailed, Reason: h.text, Set: h.text, Parameter: h.text}
}

func (h *hostileHome) action() api.Action {
	return api.Action{ID: "0001", Resource: h.id(), Action: "deploy", Outcome: state.StatusFailed, Reason: h.text, Pack: h.text,
		Provider: h.text, Why: h.text, Changes: map[string]diff.Diff{h.text: {Current: h.text, Desired: h.text + "\nb"}, "secret": {Current: diff.Redacted, Desired: diff.Redacted}},
		Messages: []api.Message{{Level: provider.LevelError, Msg: h.text, Kwargs: map[string]any{h.text: h.text}}}}
}

func (h *hostileHome) Progress(context.Context, string) (api.Progress, error) {
	return api.Progress{Last: 2, Released: 1, Counts: map[state.Status]int{state.StatusFailed: 1}, Running: []resource.ID{h.id()}, RunningCount: 1,
		Scheduled: 1, Left: map[string]int{h.text: 1}, Paused: []string{h.text}, Waiting: map[string]string{h.text: h.text}, Halted: true}, nil
}

func (h *hostileHome) Health(context.Context, string) (api.Health, error) {
	return api.Health{Groups: []api.Group{{ID: h.id(), Status: state.StatusFailed, Reason: h.text, Count: 1, NotDone: 1, FirstNot: []resource.ID{h.id()}},
		{ID: h.id() + "2", Status: state.StatusUnavailable, Agent: h.text, Parameter: h.text, Count: 2}}}, nil
}

func (h *hostileHome) ResourcesPage(context.Context, string, api.ResourcesQuery) (paging.Page[api.Resource], error) {
	return paging.Page[api.Resource]{Items: []api.Resource{h.resource()}, Next: h.text}, nil
}

func (h *hostileHome) Search(context.Context, string, string, int) (search.Hits, error) {
	return search.Hits{Items: []search.Hit{{Kind: search.KindAgent, ID: h.text, Label: h.text},
		{Kind: search.KindResource, ID: string(h.id()), Status: state.StatusFailed}, {Kind: search.KindVersion, ID: "1", Label: h.text},
		{Kind: search.KindParameter, ID: h.text, Label: h.text}}}, nil
}

func (h *hostileHome) Resource(context.Context, string, resource.ID) (api.Detail, error) {
	a := h.action()
	return api.Detail{Resource: h.resource(), Requires: []resource.ID{h.id()}, RequiredBy: []resource.ID{h.id()}, Causes: []resource.ID{h.id() + "2"}, Waits: h.text,
		Last: &a, Desired: map[string]any{"content": h.text, h.text: h.text}, Seen: map[string]any{"content": h.text + "\n2"}, SeenAt: &a.Finished}, nil
}

func (h *hostileHome) Actions(context.Context, string, api.ActionQuery) ([]api.Action, error) {
	return []api.Action{h.action()}, nil
}

func (h *hostileHome) ActionsPage(context.Context, string, api.ActionQuery) (paging.Page[api.Action], error) {
	return paging.Page[api.Action]{Items: []api.Action{h.action()}, Next: h.text}, nil
}

func (h *hostileHome) Agents(context.Context, string) ([]agents.Agent, error) {
	return []agents.Agent{{Name: h.text, Transport: h.text, Lanes: 1, UnservedMS: 5000}}, nil
}

func (h *hostileHome) AgentsPage(ctx context.Context, env string, _ api.AgentsQuery) (paging.Page[api.Agent], error) {
	list, err := h.Agents(ctx, env)
	return paging.Page[api.Agent]{Items: list, Next: h.text}, err
}

func (h *hostileHome) version() api.Version {
	return api.Version{Version: 1, At: time.Now(), Pack: h.text, Digest: h.text, Origin: api.Origin{Author: h.text, Message: h.text, Commit: h.text},
		InForce: []api.InForce{{By: h.text, Message: h.text}}}
}

func (h *hostileHome) VersionsPage(context.Context, string, paging.Query) (paging.Page[api.Version], error) {
	return paging.Page[api.Version]{Items: []api.Version{h.version()}, Next: h.text}, nil
}

func (h *hostileHome) Described(context.Context, string, int) (api.Described, error) {
	return api.Described{Version: h.version(), Agents: map[string]map[string]any{h.text: {h.text: h.text}}}, nil
}

func (h *hostileHome) AuditPage(context.Context, string, api.AuditQuery) (paging.Page[api.Audited], error) {
	return paging.Page[api.Audited]{Items: []api.Audited{{ID: h.text, By: h.text, Via: h.text, Act: h.text, Targets: []string{h.text},
		Message: h.text, Outcome: "failed", Error: h.text}}, Next: h.text}, nil
}

func (h *hostileHome) Compare(context.Context, string, int, int, bool) (deploy.DryRun, error) {
	a := h.action()
	return deploy.DryRun{Planned: []deploy.PlannedChange{{ID: h.id(), Action: "update", Changes: a.Changes, Reason: h.text, MovedFrom: h.id()}},
		Agents: []deploy.AgentChange{{Name: h.text, Place: h.text, How: h.text}}}, nil
}

func (h *hostileHome) ParametersPage(context.Context, string, api.ParametersQuery) (paging.Page[state.Parameter], error) {
	return paging.Page[state.Parameter]{Items: []state.Parameter{{Name: h.text, Value: h.text, Source: h.text}}, Next: h.text}, nil
}

func (h *hostileHome) Parameter(context.Context, string, string) (state.Parameter, error) {
	return state.Parameter{Name: h.text, Value: h.text, Source: h.text}, nil
}

func (h *hostileHome) ParameterHistory(context.Context, string, string) ([]state.ParameterChange, error) {
	return []state.ParameterChange{{Parameter: state.Parameter{Name: h.text, Value: h.text, Source: h.text}}}, nil
}

// TestOperatorsHostile: no text leaves its place: a page has the elements that it has for a harmless
// text.
func TestOperatorsHostile(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	h := &hostileHome{Home: w.Service}
	b := signedIn(t, console.New(h, realTime()))
	pages := func(text string) map[string]string {
		h.text = text
		out := map[string]string{}
		for _, at := range []string{"", "resources", "resources?q=%TEXT", "resource?id=x", "actions?text=%TEXT", "actions/0001", "agents?q=%TEXT",
			"agents/%PATH", "versions", "versions/1", "audit", "compare?from=1&to=2", "compare?from=1&to=2&diff=sides", "parameters?q=%TEXT", "parameter?name=%TEXT", "parameter/delete?name=%TEXT", "facts", "search?q=%TEXT", "forget?agent=%TEXT"} {
			to := strings.ReplaceAll(strings.ReplaceAll(at, "%TEXT", url.QueryEscape(text)), "%PATH", url.PathEscape(text))
			out[at] = b.Get("/console/production/"+to, http.StatusOK)
		}
		return out
	}
	harmless := pages("harmless")
	texts := hostileTexts()
	if len(texts) < 60 {
		t.Fatalf("there are %d texts", len(texts))
	}
	for _, text := range texts {
		for at, page := range pages(text) {
			for _, tag := range []string{"<script", "<img", "<iframe", "<style", "<base", "<svg", "<!--", `href="javascript:`} {
				if got, want := strings.Count(page, tag), strings.Count(harmless[at], tag); got != want {
					t.Errorf("%q in %q: %d times %q, and not %d", text, at, got, tag, want)
				}
			}
			if at == "parameter?name=%TEXT" { // the value of a control stays as it is
				continue
			}
			if strings.ContainsAny(consoletest.TextOf(page), "\u202e\x1b") {
				t.Errorf("%q in %q: a control is not visible", text, at)
			}
		}
	}
}
