package console_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"southbound/handlers"
	"southbound/shared/api"
	"southbound/shared/console"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// offered opens a home that offers the services of a model.
func offered(t *testing.T, model string) *consoletest.World {
	t.Helper()
	w := consoletest.Open(t, handlers.All())
	w.Offer(t, model)
	return w
}

// formOf returns what a browser without script posts for the form of a page with a field.
func formOf(t *testing.T, page, field string) url.Values {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var out url.Values
	walk(doc, func(n *html.Node) {
		if n.Data == "form" && out == nil {
			if v := submitted(n); v.Has(field) {
				out = v
			}
		}
	})
	if out == nil {
		t.Fatalf("no form with the field %s: %s", field, consoletest.TextOf(page))
	}
	return out
}

func walk(n *html.Node, f func(*html.Node)) {
	f(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, f)
	}
}

func attr(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func submitted(form *html.Node) url.Values {
	out := url.Values{}
	walk(form, func(n *html.Node) {
		name, has := attr(n, "name")
		if !has || n.Type != html.ElementNode {
			return
		}
		value, _ := attr(n, "value")
		switch n.Data {
		case "input":
			kind, _ := attr(n, "type")
			if _, on := attr(n, "checked"); on || kind != "checkbox" && kind != "radio" {
				out.Add(name, value)
			}
		case "textarea":
			if n.FirstChild != nil {
				out.Add(name, strings.ReplaceAll(n.FirstChild.Data, "\n", "\r\n"))
			} else {
				out.Add(name, "")
			}
		case "select":
			out.Add(name, selected(n))
		}
	})
	return out
}

func selected(n *html.Node) string {
	first, chosen, found := "", "", false
	walk(n, func(o *html.Node) {
		if o.Data != "option" {
			return
		}
		v, _ := attr(o, "value")
		if first == "" && !found {
			first, found = v, true
		}
		if _, is := attr(o, "selected"); is {
			chosen = v
		}
	})
	if chosen != "" {
		return chosen
	}
	return first
}

func with(v url.Values, pairs ...string) url.Values {
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

const at = "/console/" + consoletest.Env + "/"

// TestOrderByForm orders, changes and ends an instance with forms alone, in both homes.
func TestOrderByForm(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	for name, home := range w.Homes(t) {
		b := signedIn(t, console.New(home, options()))
		wants(t, b.Get(at+"services", 200), "customer", "Who pays.", "site", "Order site")
		wants(t, b.Get(at+"services/site", 200), "what visitors type", "set by the model", "set once, at creation",
			"how many there may be at once", "A new instance is in the state start")
		customer := strings.ReplaceAll("c"+name, "-", "_")
		page := b.Get(at+"services/customer/new", 200)
		posted := with(formOf(t, page, "id"), "/name", customer, "/contact", "wrong", "do", "order")
		page = b.Post(at+"services/customer/new", posted, 422)
		wants(t, page, "There is a mistake", "Contact", "it does not match")
		if got := formOf(t, page, "id"); got.Get("/contact") != "wrong" || got.Get("id") != posted.Get("id") {
			t.Errorf("after a mistake the form has %v", got)
		}
		posted.Set("/contact", "a@b")
		page = b.Post(at+"services/customer/new", posted, 200)
		wants(t, page, customer+" ordered")
		wants(t, b.Post(at+"services/customer/new", posted, 200), customer) // sent again
		page = b.Get(at+"services/customer/instances?q="+customer, 200)
		if n := strings.Count(page, `<tr id="i-`); n != 1 {
			t.Errorf("a form that is sent twice makes %d instances", n)
		}
		page = b.Get(at+"services/site/new", 200)
		posted = with(formOf(t, page, "id"), "/host_name", name+".example.com", "/region", "eu-west-2",
			"/customer", posted.Get("id"), "add", "/databases")
		page = b.Post(at+"services/site/new", posted, 200)
		posted = with(formOf(t, page, "id"), "/databases/0/name", "shop", "/motto", "x", "do", "preview")
		posted.Del("null")
		posted["null"] = []string{"/restart"}
		posted.Del("add")
		page = b.Post(at+"services/site/new", posted, 200)
		wants(t, page, "Preview", "databases[name=shop].connections", "10", "motto", "x")
		page = b.Post(at+"services/site/new", with(formOf(t, page, "id"), "do", "order"), 200)
		wants(t, page, name+".example.com ordered", "Documentation", "Nothing yet")
		id := posted.Get("id")
		wants(t, b.Get(at+"instances/"+id+"?tab=attributes", 200), "eu-west-2", "shop", "Candidate")
		if !strings.Contains(b.Get(at+"instances/"+id+"?tab=attributes", 200), "instances/"+posted.Get("/customer")+`"`) {
			t.Error("the relation is no link")
		}
		for _, tab := range []string{"history", "resources", "diagnose", "json"} {
			b.Get(at+"instances/"+id+"?tab="+tab, 200)
		}
		page = b.Get(at+"instances/"+id+"/force", 200)
		posted = with(formOf(t, page, "target"), "target", "up", "operation", "promote", "typed", "other")
		wants(t, b.Post(at+"do/forcestate", posted, 400), "The typed name is not")
		posted.Set("typed", name+".example.com")
		wants(t, b.Post(at+"do/forcestate", posted, 200), "is forced into the state up")
		page = b.Get(at+"instances/"+id+"/edit", 200)
		posted = with(formOf(t, page, "seen"), "/quota", "7", "/databases/0/connections", "20", "do", "preview")
		page = b.Post(at+"instances/"+id+"/edit", posted, 200)
		wants(t, page, "replace", "quota", "databases[name=shop].connections", "20")
		page = b.Post(at+"instances/"+id+"/edit", with(formOf(t, page, "seen"), "do", "order"), 200)
		wants(t, page, "2 changes of "+name+".example.com sent")
		wants(t, b.Get(at+"instances/"+id+"?tab=attributes", 200), "Active", "differs")
		wants(t, b.Get(at+"instances/"+id+"?a=2&b=3", 200), "Version 2", "Version 3")
		wants(t, b.Get(at+"services/site/new?from="+id, 200), "The values are those of "+name)
		page = b.Get(at+"instances/"+id+"/delete", 200)
		wants(t, page, "Delete "+name+".example.com", "0 resources")
		b.Get(at+"orders", 200)
	}
}

// TestStaleForm shows their values beside those of a form that another has overtaken.
func TestStaleForm(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	i := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@b"})
	site := w.Create(t, "site", map[string]any{"host_name": "a.example", "region": "eu-west-1",
		"customer": i.ID})
	b := signedIn(t, console.New(w.Service, options()))
	edit := at + "instances/" + site.ID + "/edit"
	mine := with(formOf(t, b.Get(edit, 200), "seen"), "/quota", "7", "do", "order")
	o, err := w.Service.Orders()
	if err != nil {
		t.Fatal(err)
	}
	wish := orders.Wish{Ref: orders.Ref{Service: "site", ID: site.ID}}
	if _, err := o.Update(t.Context(), consoletest.Env, wish, map[string]any{"quota": 9, "tls": false}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Force(t.Context(), consoletest.Env, wish, "up", lifecycle.Promote); err != nil {
		t.Fatal(err)
	}
	grown := with(maps.Clone(mine), "add", "/databases")
	grown.Del("do")
	added := b.Post(edit, grown, http.StatusOK) // it changes the form alone, and says nothing that passes
	if form := formOf(t, added, "seen"); form.Get("seen") != mine.Get("seen") || form.Get("/quota") != "7" ||
		!form.Has("/databases/0/name") || strings.Contains(added, "Another user") {
		t.Errorf("after a row was added, the form has %v", form)
	}
	page := b.Post(edit, mine, http.StatusConflict)
	wants(t, page, "Another user has changed a.example", "Quota 5 9 7 both changed it", "Tls yes no yes")
	again := formOf(t, page, "seen")
	if again.Get("/quota") != "7" || again.Has("/tls") || again.Get("seen") == mine.Get("seen") {
		t.Errorf("the form has %v", again)
	}
	wants(t, b.Post(edit, with(again, "do", "order"), 200), "1 change of a.example sent")
}

// TestFormMistakes posts what forms do not: the page says what happened, and what was typed stays.
func TestFormMistakes(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	gone := fault.New(fault.Unavailable, "", "the server does not answer")
	b := signedIn(t, console.New(w.Service, options()))
	const path = at + "services/customer/new"
	first := formOf(t, b.Get(path, 200), "id")
	long := strings.Repeat("x", 3<<20)
	evil := `<script>alert(1)</script>"'><b>`
	for _, c := range []struct {
		why    string
		pairs  []string
		status int
		want   []string
		stays  string // the value of /contact
	}{
		{"a name that the definition does not have", []string{"/name", "a", "/contact", "c@d", "/role", "root",
			"do", "order"}, 422, []string{"/role: the form of customer has no such field"}, "c@d"},
		{"a required value is missing", []string{"/name", "", "/contact", "c@d", "do", "order"}, 422,
			[]string{"Name : it is empty"}, "c@d"},
		{"one is missing, and another one is wrong", []string{"/name", "", "/contact", "wrong", "do", "order"}, 422,
			[]string{"There are 2 mistakes", "it is empty", "it does not match"}, "wrong"},
		{"megabytes of text", []string{"/name", "a", "/contact", long, "do", "order"}, 422,
			[]string{"98304"}, long},
		{"hostile text", []string{"/name", evil, "/contact", evil, "do", "order"}, 422,
			[]string{"There are 2 mistakes"}, evil},
		{"a button for what the form has not", []string{"/contact", "c@d", "add", "/nothing"}, 412,
			[]string{"the form has no such value"}, "c@d"},
	} {
		posted := url.Values{}
		for k, v := range first {
			posted[k] = v
		}
		page := b.Post(path, with(posted, c.pairs...), c.status)
		wants(t, page, c.want...)
		if got := formOf(t, page, "id").Get("/contact"); got != c.stays {
			t.Errorf("%s: the form has %.60q", c.why, got)
		}
		if strings.Contains(page, evil) {
			t.Errorf("%s: the page has the text as it was typed", c.why)
		}
	}
	down := signedIn(t, console.New(consoletest.FailingAt(w.Service, "Orders", gone), options()))
	page := down.Post(path, with(first, "/name", "kept", "/contact", evil, "do", "order"), 503)
	wants(t, page, "The server does not answer", "kept", "Send it again")
	if got := formOf(t, page, "id"); got.Get("/contact") != evil {
		t.Errorf("the server is gone: the page keeps %q", got)
	}
	i := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@b"})
	edit := at + "instances/" + i.ID + "/edit"
	mine := with(formOf(t, b.Get(edit, 200), "seen"), "/contact", "mine@b", "do", "order")
	o, err := w.Service.Orders()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Destroy(t.Context(), consoletest.Env,
		orders.Wish{Ref: orders.Ref{Service: "customer", ID: i.ID}}); err != nil {
		t.Fatal(err)
	}
	page = b.Post(edit, mine, 409)
	wants(t, page, "The instance acme was deleted")
	if got := formOf(t, page, "seen").Get("/contact"); got != "mine@b" {
		t.Errorf("the instance is gone: the form has %q", got)
	}
}

// TestFormAsJSON switches a form to JSON and back.
func TestFormAsJSON(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	b := signedIn(t, console.New(w.Service, options()))
	const path = at + "services/customer/new"
	empty := b.Post(path, with(formOf(t, b.Get(path, 200), "id"), "to", "json"), 200)
	if got := formOf(t, empty, "text").Get("text"); got != "{}" {
		t.Errorf("an empty form as JSON: %s", got)
	}
	posted := with(formOf(t, b.Get(path, 200), "id"), "/name", "acme", "/contact", "a@b", "to", "json")
	page := b.Post(path, posted, 200)
	posted = formOf(t, page, "text")
	if got := posted.Get("text"); !strings.Contains(got, `"contact": "a@b"`) {
		t.Fatalf("JSON: %s", got)
	}
	broken := b.Post(path, with(formOf(t, page, "text"), "text", "{\r\n  \"name\": \"a\",\r\n  \"kontact\": 1}",
		"to", "form"), 422)
	wants(t, broken, "Line 3, column 3: kontact : there is no such attribute")
	wants(t, b.Post(path, with(formOf(t, page, "text"), "text", "{", "do", "order"), 422), "Line 1, column 2")
	page = b.Post(path, with(posted, "to", "form"), 200)
	if got := formOf(t, page, "id"); got.Get("/contact") != "a@b" || got.Get("/name") != "acme" {
		t.Errorf("back: %v", got)
	}
}

// TestSuggestions offers the values of a parameter, and finds some of many on the server.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	b := signedIn(t, console.New(w.Service, options()))
	const path = at + "services/site/new"
	wants(t, b.Get(path, 200), "the parameter topology_files does not exist")
	var values []any
	for n := range 300 {
		values = append(values, map[string]any{"label": fmt.Sprintf("File %d", n), "value": fmt.Sprintf("f%03d", n)})
	}
	for _, c := range []struct {
		why        string
		values     []any
		find, want string
		options    int
	}{
		{"a few", values[:3], "", `<option value="f002" label="File 2">`, 3},
		{"many", values, "", `<option value="f199" label="File 199">`, 200},
		{"many that are searched", values, "file 29", `<option value="f299" label="File 299">`, 11},
	} {
		if err := w.Service.Suggest(t.Context(), consoletest.Env, "topology_files", c.values); err != nil {
			t.Fatal(err)
		}
		page := b.Get(path, 200)
		if c.find != "" {
			page = b.Post(path, with(formOf(t, page, "id"), "/topology_file", c.find, "find", "/topology_file"), 200)
		}
		if n := strings.Count(page, `<option value="f`); n != c.options || !strings.Contains(page, c.want) {
			t.Errorf("%s: %d options, expected %d with %s", c.why, n, c.options, c.want)
		}
	}
}

// TestInventory shows none, one and many instances, and filters them.
func TestInventory(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	list := at + "services/customer/instances"
	b := signedIn(t, console.New(w.Service, options()))
	wants(t, b.Get(list, 200), "There are no instances of customer yet")
	for n := range 60 {
		w.Create(t, "customer", map[string]any{"name": fmt.Sprintf("z_%02d", n), "contact": "<i>@b"})
	}
	page := b.Get(list+"?columns=contact", 200)
	wants(t, page, "50 instances, and there are more", "Next page", "Contact", "<i>@b")
	if strings.Contains(page, "<i>@b") {
		t.Error("a value is not escaped")
	}
	if len(page) > 60_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	wants(t, b.Get(list+"?q=z_07", 200), "z_07", "words: z_07", "1 instance")
	wants(t, b.Get(list+"?with=name%3Dz_07&state=up&has=active&sort=-state", 200), "z_07", "1 instance")
	wants(t, b.Get(list+"?empty=active", 200), "No instance matches these filters")
	wants(t, b.Get(list+"?sort=color", 422), "Instances are not sorted by")
	wants(t, b.Get(at+"services/nothing/instances", 404), "Not found")
	wants(t, b.Get(at+"instances/nothing", 404), "Not found")
	readOnly := options()
	readOnly.ReadOnly = true
	only := signedIn(t, console.New(w.Service, readOnly))
	if page := only.Get(list, 200); strings.Contains(page, "/new") {
		t.Error("a read-only console offers to order")
	}
	wants(t, only.Get(at+"services/customer/new", 200), "This console is read-only")
	denied := fault.New(fault.Denied, "", "no")
	for _, path := range []string{"services", "services/customer", "services/customer/instances", "orders"} {
		wants(t, signedIn(t, console.New(consoletest.FailingAt(w.Service, "Orders", denied), options())).Get(
			at+path, 403), "Not permitted")
	}
	half := consoletest.FailingAt(w.Service, "Resources", fault.New(fault.Unavailable, "", "half of it is gone"))
	o, _ := w.Service.Orders()
	all, err := o.List(t.Context(), consoletest.Env, orders.Query{Place: orders.Place{Limit: 1}})
	if err != nil || len(all.Items) == 0 {
		t.Fatal(err)
	}
	hb := signedIn(t, console.New(api.Home(half), options()))
	wants(t, hb.Get(at+"instances/"+all.Items[0].ID+"?tab=resources", 503), "Half of it is gone", "Edit")
	wants(t, hb.Get(at+"instances/"+all.Items[0].ID, 200), "contact")
}
