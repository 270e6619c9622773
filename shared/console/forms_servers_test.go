//go:build servers

package console

import (
	"fmt"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/internal/simtest/consoletest/chrome"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// manyChoices offers the services of forms.cf with more customers and suggested values than a form
// lists, and returns the id of the last customer.
func manyChoices(t *testing.T, w *consoletest.World) (last string) {
	t.Helper()
	w.Offer(t, "testdata/forms.cf")
	for i := range maxFound + 10 {
		c, err := w.Orders(t).Create(t.Context(), consoletest.Env, orders.Creation{Service: "customer",
			Attributes: map[string]any{"name": fmt.Sprintf("cust%02d", i), "contact": "a@example.com"}})
		if err != nil {
			t.Fatal(err)
		}
		last = c.ID
	}
	var files []any
	for i := range maxSuggested + 50 {
		files = append(files, map[string]any{"label": fmt.Sprintf("Topology %03d", i), "value": fmt.Sprintf("t%03d.json", i)})
	}
	if err := w.Service.Suggest(t.Context(), consoletest.Env, "topology_files", files); err != nil {
		t.Fatal(err)
	}
	return last
}

// fieldOf focuses a field by the pointer of its value, whether it is a combobox or not.
func fieldOf(x *chrome.Tab, pointer string) {
	x.Eval(`(() => { const sent = document.querySelector('[name="` + pointer + `"]');
		const e = sent.type === "hidden" ? sent.parentElement.querySelector("input") : sent; e.focus(); e.select(); })()`)
}

// Expressions about the field with the focus.
const (
	listed = `[...document.activeElement.parentElement.querySelectorAll("li[role=option]")].map(e => e.innerText)`
	isOpen = `document.activeElement.getAttribute("aria-expanded") === "true"`
)

// valueAt returns the value that a form would send.
func valueAt(x *chrome.Tab, pointer string) string {
	return x.Eval(`new FormData(document.querySelector("form.order")).get("` + pointer + `")`)
}

// TestFormInBrowser searches long lists of suggestions on the server, of which one does not narrow
// another, and changes the rows of a form in place: what was typed stays, and the page does too.
func TestFormInBrowser(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	last := manyChoices(t, w)
	_, x, url := served(t, w)
	x.Open(url + "/console/" + consoletest.Env + "/services/site/new")
	x.Eval("window.same = true")
	fieldOf(x, "/host_name")
	x.Type("shop.example.com")

	fieldOf(x, "/customer")
	x.Type("cust59")
	x.Until(isOpen + " && " + listed + `.join() === "cust59 (start)"`)
	x.Type(chrome.Down)
	x.Type(chrome.Enter)
	if got := valueAt(x, "/customer"); got != last {
		t.Errorf("the chosen customer sends %q, want %q", got, last)
	}
	fieldOf(x, "/topology_file")
	x.Type(chrome.Down)
	x.Until(isOpen + " && " + listed + ".length === 200")
	x.Type("TOPOLOGY 24")
	x.Until(listed + `.join() === [0,1,2,3,4,5,6,7,8,9].map(n => "Topology 24" + n).join()`)
	if got := x.Eval(`getComputedStyle(document.querySelector('button[name=find]')).display`); got != "none" {
		t.Error("the search without script is shown beside the combobox")
	}
	x.Axe("combobox")
	x.Shot("combobox-1366-light")
	x.Type(chrome.Down)
	x.Type(chrome.Down)
	x.Type(chrome.Enter)
	if got := valueAt(x, "/topology_file"); got != "t241.json" {
		t.Errorf("the chosen file sends %q", got)
	}
	x.Type("no such")
	x.Until(listed + `.join().startsWith("No suggestion")`)
	x.Type(chrome.Escape)
	fieldOf(x, "/topology_file")
	x.Type("own.json")
	if got := valueAt(x, "/topology_file"); got != "own.json" {
		t.Errorf("free text sends %q", got)
	}
	fieldOf(x, "/customer")
	x.Type(chrome.Down)
	x.Until(isOpen + " && " + listed + ".length === 50")
	x.Type(chrome.Escape)

	add := func(button, row string) {
		x.Eval(`document.querySelector('button[name=add][value="` + button + `"]').scrollIntoView({block: "center", behavior: "instant"})`)
		x.Click(`button[name=add][value="` + button + `"]`)
		x.Until(`document.querySelector('[name="` + row + `"]') && window.same`)
	}
	add("/databases", "/databases/0/name")
	fieldOf(x, "/databases/0/name")
	x.Type("first")
	add("/databases", "/databases/1/name")
	if got := x.Eval(`document.activeElement.name || ""`); !strings.HasPrefix(got, "/databases/1") {
		t.Errorf("after a row was added, the focus is in %q", got)
	}
	x.Click(`button[name=remove][value="/databases/1"]`)
	x.Until(`!document.querySelector('[name="/databases/1/name"]')`)
	for pointer, want := range map[string]string{"/host_name": "shop.example.com", "/customer": last,
		"/topology_file": "own.json", "/databases/0/name": "first"} {
		if got := valueAt(x, pointer); got != want {
			t.Errorf("%s: after rows changed, the form sends %q, want %q", pointer, got, want)
		}
	}
	fieldOf(x, "/customer")
	if got := x.Eval("document.activeElement.value"); !strings.HasPrefix(got, "cust59") {
		t.Errorf("the field of the customer shows %q", got)
	}
	if got := x.Eval("window.same"); got != "true" {
		t.Error("the page was loaded again")
	}
	examine(x, "form-rows", func() {})
}

// TestFailedItems shows on the page of an order, while it is open, that its items fail, and on the
// overview.
func TestFailedItems(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Offer(t, "testdata/forms.cf")
	acme := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@example.com"})
	o := w.Orders(t)
	placed, err := o.Order(t.Context(), consoletest.Env, orders.Order{Description: "two", Items: []orders.Item{
		{Name: "globex", Service: "customer", Action: orders.ActionCreate,
			Attributes: map[string]any{"name": "globex", "contact": "g@example.com"}},
		{Service: "customer", Name: acme.ID, Action: orders.ActionUpdate,
			Edits: []inventory.Edit{{ID: "1", Target: "contact", Operation: "replace", Value: "b@example.com"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, x, url := served(t, w)
	page := url + "/console/" + consoletest.Env
	x.Open(page + "/orders/" + placed.ID)
	x.Until(`document.querySelector("#live").dataset.state === "live"`)
	for n := range placed.Items {
		ref := orders.Ref{Service: "customer", ID: placed.Items[n].ID}
		if _, err := o.Force(t.Context(), consoletest.Env, orders.Wish{Ref: ref}, "up", lifecycle.Promote); err != nil {
			t.Fatal(err)
		}
	}
	x.Until(`[...document.querySelectorAll("#order tbody tr")].every(r => r.innerText.includes("failed") &&
		r.innerText.includes("something else was asked")) && document.querySelector("#order .lead").innerText.includes("failed")`)
	x.Until(`[...document.querySelectorAll("#order tbody th")].map(e => e.innerText).join() === "globex,acme"`)
	examine(x, "order-failed", func() { x.Open(page + "/orders/" + placed.ID) })
	x.Open(page + "/")
	x.Until(`document.querySelector("#problems").innerText.includes("something else was asked")`)
	x.Click(`#problems a[href$="/orders/` + placed.ID + `"]`)
	x.Until(`location.pathname.endsWith("/orders/` + placed.ID + `")`)
}

// TestCallbackButtons adds and removes a callback on the page of a service, and shows why an address
// is refused.
func TestCallbackButtons(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Offer(t, "testdata/forms.cf")
	_, x, url := served(t, w)
	page := url + "/console/" + consoletest.Env + "/services/customer"
	add := func(address string) {
		x.Eval(`document.querySelector("#url").closest("details").open = true`)
		x.Eval(`document.querySelector("#url").focus()`)
		x.Type(address)
		x.Click(`form[action$="/do/addcallback"] button`)
	}
	x.Open(page)
	add("https://hooks.example.com/a?token=x")
	x.Until(`document.querySelector("#message")?.innerText.includes("is called for events")`)
	examine(x, "callbacks", func() { x.Open(page) })
	x.Click(`form[action$="/do/removecallback"] button`)
	x.Until(`document.querySelector("#message")?.innerText === "The callback is removed" &&
		!document.querySelector('form[action$="/do/removecallback"]')`)
	x.Expect("status of 4")
	add("http://169.254.169.254/latest")
	x.Until(`document.querySelector("#problem") && document.querySelector("main").innerText.includes("http://169.254.169.254/latest")`)
	x.Axe("callback-refused")
	x.Shot("callback-refused")
	x.Click(`main a.button`)
	x.Until(`document.querySelector("h1").innerText === "customer"`)
}

// TestRarePages visits the pages that no link leads to: another user's change against an action, and
// a dry run whose result is gone.
func TestRarePages(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	w.Offer(t, "testdata/forms.cf")
	acme := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@example.com"})
	o, wish := w.Orders(t), orders.Wish{Ref: orders.Ref{Service: "customer", ID: acme.ID}}
	theirs := map[string]any{"contact": strings.Repeat("long", 60) + "@example.com"}
	if _, err := o.Update(t.Context(), consoletest.Env, wish, theirs); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Force(t.Context(), consoletest.Env, wish, "up", lifecycle.Promote); err != nil {
		t.Fatal(err)
	}
	_, x, url := served(t, w)
	x.Expect("status of 409")
	x.Expect("status of 404")
	page := url + "/console/" + consoletest.Env
	examine(x, "conflict", func() {
		x.Open(page + "/instances/" + acme.ID)
		x.Eval(`(() => { const form = document.querySelector('form[action$="/do/metadata"]');
			form.elements.seen.value = ` + fmt.Sprint(acme.Version) + `; form.elements.key.value = "color";
			form.elements.value.value = "red"; form.requestSubmit(form.querySelector("button:not([name])")); })()`)
		x.Until(`document.querySelector("h1").innerText === "Another user has changed acme"`)
	})
	x.Click("main form button.primary")
	x.Until(`document.querySelector("#message")?.innerText.includes("the text color is stored")`)

	examine(x, "lostrun", func() { x.Open(page + "/dryruns/gone?version=1&filter=agent%3Dweb1") })
	x.Click("main form button.primary")
	x.Until(`document.querySelector("#job")?.innerText.includes("version 1, agent=web1")`)
	run := x.Eval("location.href")
	examine(x, "dryrun", func() { x.Open(run) })

	x.Expect("status of 401")
	x.Click(`form[action$="/signout"] button`)
	x.Until(`document.querySelector("h1")?.innerText.includes("Sign")`)
	examine(x, "signin", func() { x.Open(url + "/console/") })
}
