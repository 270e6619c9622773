package api_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// consoleCalls are the requests that the peer's public web console (4.1.0) makes about services,
// with the members of the answers that it reads. {id} and {customer} are instances, and {version}
// and {customer_version} what their versions are when the request is made.
//
//go:embed testdata/console.tsv
var consoleCalls string

// offices is a server with services as the calls of the console are about them, and an instance of
// each: www1 is up, and has active attributes and two resources.
func offices(t *testing.T) (w *world, customer, site string) {
	t.Helper()
	w = start(t, nil)
	text, err := os.ReadFile("../service/lifecycle/testdata/service.json")
	if err != nil {
		t.Fatal(err)
	}
	m := new(lifecycle.Machine)
	if err := json.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	attribute := func(name, kind string, m definition.Modifier, value any) definition.Attribute {
		return definition.Attribute{
			Name: name, Type: kind, Modifier: m, Default: value, DefaultSet: value != nil,
		}
	}
	quota := attribute("quota", "int", definition.ReadWrite, 5)
	quota.ValidationType = ptr("pydantic.conint")
	quota.ValidationParam = map[string]any{"le": 500}
	database := definition.Embedded{Name: "databases", Modifier: definition.ReadWrite}
	database.Attributes = []definition.Attribute{attribute("name", "string", definition.Once, nil)}
	database.KeyAttributes = []string{"name"}
	all := []definition.Service{{
		Name: "customer", Default: true, Identity: ptr("name"), Lifecycle: *m,
		Part: definition.Part{Attributes: []definition.Attribute{
			attribute("name", "string", definition.Once, nil),
			attribute("contact", "string", definition.ReadWrite, "x"),
		}},
	}, {
		Name: "site", Default: true, Identity: ptr("host_name"), Lifecycle: *m,
		Part: definition.Part{
			Attributes: []definition.Attribute{
				attribute("host_name", "string", definition.Once, nil),
				attribute("tls", "bool", definition.ReadWrite, true), quota,
				attribute("aliases", "string[]", definition.ReadWrite, []any{}),
				attribute("port", "int?", definition.ReadOnly, nil),
			},
			Embedded: []definition.Embedded{database},
			Relations: []definition.Relation{{
				Name: "customer", Service: "customer", Modifier: definition.Once,
				Limits: definition.Limits{Lower: 1, Upper: ptr(1)},
			}},
		},
	}}
	if err := w.home.Definitions().Put(t.Context(), "default", "b", all); err != nil {
		t.Fatal(err)
	}
	if err := w.service.Engine.SetParameters(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	makes := func(service, attributes string) string {
		_, v := w.order(t, http.MethodPost, "/lsm/v1/service_inventory/"+service,
			`{"attributes": `+attributes+`}`)
		at := "/lsm/v1/service_inventory/" + service + "/" + idOf(t, v)
		if code, v := w.order(t, http.MethodPost, at+"/expert/state", `{"current_version": 1,
			"target_state": "up", "operation": "promote", "message": "m"}`); code != http.StatusOK {
			t.Fatal(v)
		}
		return idOf(t, v)
	}
	customer = makes("customer", `{"name": "acme"}`)
	site = makes("site", `{"host_name": "www1", "customer": "`+customer+`"}`)
	owned := nulls(2)
	owned.Resources[0].Set, owned.Resources[1].Set = site, site
	if _, err := w.service.Export(t.Context(), "default",
		deploy.Export{Model: owned, Partial: true, Owner: true}, nil); err != nil {
		t.Fatal(err)
	}
	return w, customer, site
}

// idOf returns the id of the instance that is answered.
func idOf(t *testing.T, answer map[string]any) string {
	t.Helper()
	data, _ := answer["data"].(map[string]any)
	id, is := data["id"].(string)
	if !is {
		t.Fatal(answer)
	}
	return id
}

// reads reports whether an answer has a member; of lists, all entries, of which there are some.
func reads(v any, path []string) bool {
	if list, is := v.([]any); is && len(path) > 0 {
		return len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool {
			return !reads(one, path)
		})
	}
	if len(path) == 0 {
		return true
	}
	m, _ := v.(map[string]any)
	is, has := m[path[0]]
	return has && reads(is, path[1:])
}

// fill puts what the world has now in the place of the variables of a call.
func fill(t *testing.T, w *world, customer, site, text string) string {
	t.Helper()
	version := func(service, id string) string {
		_, v := w.order(t, http.MethodGet, "/lsm/v1/service_inventory/"+service+"/"+id, "")
		data, _ := v["data"].(map[string]any)
		return fmt.Sprint(data["version"])
	}
	return strings.NewReplacer("{id}", site, "{customer}", customer, "{version}",
		version("site", site), "{customer_version}", version("customer", customer)).Replace(text)
}

// TestConsoleCalls makes each call of the console one after the other, as it makes it: bodies are
// text/plain, from a page of this server. Every answer has the members that are read of it.
func TestConsoleCalls(t *testing.T) {
	t.Parallel()
	w, customer, site := offices(t)
	lines := strings.Split(strings.TrimSpace(consoleCalls), "\n")
	for _, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != 6 {
			t.Fatalf("%q has %d cells", line, len(cells))
		}
		method, path, body := cells[1], fill(t, w, customer, site, cells[2]),
			fill(t, w, customer, site, cells[3])
		resp, text := w.ask(t, method, path, body, "X-Inmanta-tid", "default", "Content-Type",
			"text/plain;charset=UTF-8", "Origin", w.URL, "Sec-Fetch-Site", "same-origin")
		var v any
		err := json.Unmarshal([]byte(text), &v)
		if err != nil || fmt.Sprint(resp.StatusCode) != cells[4] ||
			resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %s: %d, and not %s: %v %s", method, path, body, resp.StatusCode,
				cells[4], err, text)
			continue
		}
		for member := range strings.FieldsSeq(cells[5]) {
			if !reads(v, strings.Split(member, ".")) {
				t.Errorf("%s %s: the answer has no %s: %s", method, path, member, text)
			}
		}
	}
	if len(lines) < 60 {
		t.Errorf("there are %d calls", len(lines))
	}
}

var placeParameter = regexp.MustCompile(`(start|end)=.*`)

// TestConsolePages turns the pages of each list forth and back as the console does: it cuts a link
// at start= or end=, and adds what it has cut off to the address that it made itself. A page before
// the third is reached by the address alone.
func TestConsolePages(t *testing.T) {
	t.Parallel()
	w, customer, site := offices(t)
	for n := range 6 {
		name := fmt.Sprintf("n%d", n)
		for _, order := range []string{
			`{"service_order_items": [{"service_entity": "customer", "action": "create",
				"attributes": {"name": "` + name + `"}}]}`,
		} {
			if code, v := w.order(t, http.MethodPost, "/lsm/v2/order", order); code != 200 {
				t.Fatal(v)
			}
		}
		p := state.Parameter{Name: name, Value: "v", Source: "user"}
		if err := w.service.Engine.SetParameters(t.Context(), "default", p); err != nil {
			t.Fatal(err)
		}
		body := fill(t, w, customer, site, `{"current_version": {version}, "target_state": "up"}`)
		if code, v := w.order(t, http.MethodPost,
			"/lsm/v1/service_inventory/site/"+site+"/expert/state", body); code != 200 {
			t.Fatal(v)
		}
	}
	at := "/lsm/v1/service_inventory/site/" + site
	for _, list := range []string{
		customers + "?limit=2", customers + "?limit=2&sort=created_at.desc",
		customers + "?limit=2&filter.id_or_service_identity=n&sort=created_at.desc",
		customers + "?limit=2&sort=service_identity_attribute_value.asc",
		customers + "?limit=2&filter.state=start&sort=service_identity_attribute_value.desc",
		at + "/log?limit=2", at + "/log?limit=2&sort=version.asc",
		at + "/events?limit=2&sort=timestamp.desc", at + "/events?limit=2&sort=timestamp.asc",
		at + "/events?limit=2&filter.version=ge%3A2&filter.event_type=FORCE_UPDATE",
		"/lsm/v2/order?limit=2&sort=created_at.desc", "/lsm/v2/order?limit=2&sort=created_at.asc",
		"/api/v2/parameters?limit=2", "/api/v2/parameters?limit=2&sort=updated.desc",
	} {
		turn(t, w, list)
	}
}

// listedPage is a page as the console reads it.
type listedPage struct {
	Data     []json.RawMessage
	Links    struct{ First, Prev, Self, Next string }
	Metadata struct {
		Total, Before, After int
		PageSize             int `json:"page_size"`
	}
}

// turn turns the pages of a list.
func turn(t *testing.T, w *world, list string) {
	t.Helper()
	get := func(at string) (p listedPage) {
		resp, text := w.ask(t, http.MethodGet, at, "", "X-Inmanta-tid", "default")
		if err := json.Unmarshal([]byte(text), &p); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s: %d %v %s", at, resp.StatusCode, err, text)
		}
		if p.Metadata.PageSize != 2 || len(p.Data) > 2 || len(p.Data) == 0 ||
			p.Metadata.Before+len(p.Data)+p.Metadata.After != p.Metadata.Total {
			t.Errorf("%s: %d entries of %+v", at, len(p.Data), p.Metadata)
		}
		if strings.Contains(at, "&start=") != strings.Contains(p.Links.Self, "start=") ||
			strings.Contains(at, "&end=") != strings.Contains(p.Links.Self, "end=") {
			t.Errorf("%s: it is %s", at, p.Links.Self)
		}
		return p
	}
	var pages [][]json.RawMessage
	p := get(list)
	for {
		pages = append(pages, p.Data)
		if p.Links.Next == "" {
			break
		}
		p = get(list + "&" + placeParameter.FindString(p.Links.Next))
	}
	if len(pages) < 3 || p.Metadata.After != 0 || p.Metadata.Total < 6 {
		t.Errorf("%s has %d pages, the last of which is %+v", list, len(pages), p.Metadata)
	}
	for n := len(pages) - 1; n > 0; n-- {
		back := list + "&" + placeParameter.FindString(p.Links.Prev)
		if first := p.Metadata.Before < 2*p.Metadata.PageSize; first {
			back = list
		}
		p = get(back)
		if got, want := mustJSON(t, p.Data), mustJSON(t, pages[n-1]); got != want {
			t.Errorf("back from page %d of %s: %s, and not %s", n, list, got, want)
		}
	}
	if p.Links.Prev != "" || p.Metadata.Before != 0 {
		t.Errorf("%s: in front of the first page is one: %+v", list, p)
	}
}
