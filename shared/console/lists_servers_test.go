//go:build servers

package console_test

import (
	"fmt"
	"testing"

	"southbound/handlers"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/internal/simtest/consoletest/chrome"
)

// TestFirstExport: pages that show nothing yet become the overview and the lists when the first
// version is exported, keep half-typed text, and say when they are not current.
func TestFirstExport(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Export(t, "other", consoletest.Null("a", "n"))
	p := listen(t, w.Service)
	b := chrome.Start(t)
	tabs := map[string]*chrome.Tab{}
	for i, path := range []string{"", "resources", "versions", "parameters"} {
		x := b.Tab(t)
		x.Expect("ERR_CONNECTION")
		x.Expect("ERR_EMPTY_RESPONSE")
		x.Expect("ERR_INCOMPLETE_CHUNKED")
		if i == 0 {
			p.enter(x)
		}
		x.Open(p.url(consoletest.Env + "/" + path))
		x.Until(`["live", "poll"].includes(document.querySelector("#live").dataset.state)`)
		tabs[path] = x
	}
	for path, want := range map[string]string{"": "Nothing was exported", "resources": "Nothing was exported",
		"versions": "Nothing was exported", "parameters": "No parameter is set"} {
		tabs[path].Front()
		tabs[path].Until(`document.querySelector("main").innerText.includes("` + want + `")`)
	}
	set := tabs["parameters"]
	set.Eval(`document.querySelector("form.card [name=name]").focus()`)
	set.Type("half")
	set.Eval("window.same = document.activeElement")

	p.stop()
	set.Until(`document.querySelector("#live").innerText.startsWith("Not connected since ")`)
	p.start()
	w.Fill(t)
	for path, want := range map[string]string{"": "#problems .status", "resources": "#rows tr[id]",
		"versions": "#rows tr[id]", "parameters": "#rows tr[id]"} {
		x := tabs[path]
		x.Front()
		x.Until(`document.querySelector("` + want + `") && !document.querySelector("#first, #none") &&
			["live", "poll"].includes(document.querySelector("#live").dataset.state)`)
	}
	set.Front()
	if got := set.Eval(`[window.same === document.activeElement, window.same.value, window.same.isConnected].join()`); got != "true,half,true" {
		t.Errorf("the half-typed name: %s", got)
	}
}

// TestNewerRows: new rows of a list do not move or remove the rows that are read. A button shows them.
func TestNewerRows(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	const rows, fresh = 50, 12 // a full page
	set := func(i int) {
		if _, err := w.Service.SetParameter(t.Context(), consoletest.Env, "n", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	w.Export(t, consoletest.Env, consoletest.Null("a", "n"))
	for i := range rows {
		set(i)
	}
	p := listen(t, w.Service)
	x := chrome.Start(t).Tab(t)
	p.enter(x)
	x.Size(820, 400)
	x.Open(p.url(consoletest.Env + "/audit"))
	x.Until(`document.querySelectorAll("#rows tbody tr").length === 50 && document.querySelector("#live").dataset.state === "live"`)
	x.Eval(`(() => { window.first = document.querySelector("#rows tbody tr"); window.last = document.querySelector("#rows tbody tr:last-child");
		last.scrollIntoView({behavior: "instant"}); window.at = last.getBoundingClientRect().top; })()`)
	for i := range fresh {
		set(rows + i)
	}
	x.Until(`document.querySelector("button.newer")?.innerText === "12 new, show"`)
	if got := x.Eval(`[first === document.querySelector("#rows tbody tr"), last.isConnected,
		document.querySelectorAll("#rows tbody tr").length].join()`); got != "true,true,50" {
		t.Errorf("rows that are read: %s", got)
	}
	if got := x.Eval("Math.abs(last.getBoundingClientRect().top - at) < 60"); got != "true" {
		t.Errorf("the last row has moved by %s", x.Eval("last.getBoundingClientRect().top - at"))
	}
	x.Axe("newer")
	x.Shot("newer-820-light")
	x.Click("button.newer")
	x.Until(`!document.querySelector("button.newer") && document.querySelectorAll("#rows tbody tr").length === 50 &&
		document.querySelectorAll("#rows tbody tr")[12] === first && !last.isConnected`)
	x.Until(`document.activeElement.closest("tr")?.rowIndex === 1`)

	x.Eval(`scrollTo({top: 0, behavior: "instant"}); document.activeElement.blur()`)
	set(rows + fresh)
	x.Until(`document.querySelectorAll("#rows tbody tr")[13] === first && !document.querySelector("button.newer")`)
}
