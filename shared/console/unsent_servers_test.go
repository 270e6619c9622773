//go:build servers

package console_test

import (
	"testing"

	"southbound/handlers"
	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/internal/simtest/consoletest/chrome"
)

// TestUnsentForm sends a form while the server is gone, after the session has ended, and with more text
// than the server accepts: the page says why it was not sent, and what was typed stays until it can be.
func TestUnsentForm(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Offer(t, "testdata/forms.cf")
	p := listen(t, w.Service)
	x := chrome.Start(t).Tab(t)
	x.Expect("ERR_CONNECTION")
	x.Expect("ERR_EMPTY_RESPONSE")
	x.Expect("status of 401")
	p.enter(x)
	x.Open(p.url(consoletest.Env + "/services/customer/new"))
	x.Eval("window.same = true")
	typed(x, "/name", "acme")
	typed(x, "/contact", "info@acme.example")
	// press presses a button, and again while a problem is shown, until something is true. The browser may
	// try a connection of the former server first, and "send it again" is what the page asks for. The
	// button is not found by its place, which changes when the page states that it is not live.
	press := func(button, done string) {
		t.Helper()
		click := "document.querySelector(`" + button + "`).click()"
		x.Eval(click)
		x.Until(done + ` || (document.querySelector("form.order > .problem") && ` + click + `, false)`)
	}
	refused := func(why, button string) {
		t.Helper()
		press(button, `document.querySelector("form.order > .problem")?.innerText.includes("`+why+`")`)
		if got := x.Eval(`[document.querySelector('[name="/name"]').value, document.activeElement.getAttribute("role"),
			window.same].join()`); got != "acme,alert,true" {
			t.Errorf("%s: %s", why, got)
		}
		x.Axe("unsent")
	}

	p.stop()
	refused("The console does not answer", send)
	p.start()
	signedIn := p.pages
	p.stop()
	p.pages = console.New(w.Service, console.Options{Hosts: []string{p.address}})
	p.start()
	refused("You are signed out", send)
	x.Shot("unsent-1366-light")
	p.stop()
	p.pages = signedIn
	p.start()
	x.Eval(`(() => { const contact = document.querySelector('[name="/contact"]');
		contact.form.noValidate = true; contact.value = "x".repeat(5 << 20); })()`)
	refused("more than 4 MB", `form.order button[value="preview"]:not(.hidden)`)
	x.Eval(`document.querySelector('[name="/contact"]').value = "info@acme.example"`)
	press(send, `document.querySelector("#message")?.innerText.includes("acme ordered")`)

	// A button that changes rows of a form keeps the page, too.
	x.Open(p.url(consoletest.Env + "/services/site/new"))
	typed(x, "/host_name", "shop.example.com")
	p.stop()
	press(`button[name=add][value="/databases"]`,
		`document.querySelector("form.order > .problem")?.innerText.includes("The console does not answer")`)
	p.start()
	press(`button[name=add][value="/databases"]`, `document.querySelector('[name="/databases/0/name"]')`)
	if got := x.Eval(`document.querySelector('[name="/host_name"]').value`); got != "shop.example.com" {
		t.Errorf("the form has %q", got)
	}
}
