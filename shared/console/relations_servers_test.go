//go:build servers

package console

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/handlers"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/internal/simtest/consoletest/chrome"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// related offers a service with relations to more teams than a select lists. It returns the ids of the
// teams and an instance with relations, also in an embedded entity.
func related(t *testing.T, w *consoletest.World) (teams []string, site orders.Instance) {
	t.Helper()
	w.Offer(t, "testdata/relations.cf")
	for i := range maxFound + 10 {
		one, err := w.Orders(t).Create(t.Context(), consoletest.Env, orders.Creation{Service: "team",
			Attributes: map[string]any{"name": fmt.Sprintf("team%02d", i)}})
		if err != nil {
			t.Fatal(err)
		}
		teams = append(teams, one.ID)
	}
	return teams, w.Create(t, "site", map[string]any{"name": "www", "owner": teams[1],
		"partners": []any{teams[2]}, "caches": []any{map[string]any{"name": "edge", "watcher": teams[2]}}})
}

// choose gives the combobox of a relation another instance, as a user does with the keyboard.
func choose(x *chrome.Tab, pointer, name string) {
	fieldOf(x, pointer)
	x.Type(name)
	x.Until(isOpen + " && " + listed + `.join().startsWith("` + name + ` (")`)
	x.Type(chrome.Down)
	x.Type(chrome.Enter)
}

// another adds an instance to a relation to many.
func another(x *chrome.Tab, relation, row, name string) {
	button := `button[name=add][value="` + relation + `"]`
	x.Eval(`document.querySelector('` + button + `').scrollIntoView({block: "center", behavior: "instant"})`)
	x.Click(button)
	x.Until(`document.querySelector('[name="` + row + `"]')`)
	choose(x, row, name)
}

// sending is the button that sends a form.
const sending = `form.order p.actions:last-of-type button.primary[value="order"]`

// theirsIn returns the table of an overtaken form, a line a value.
const theirsIn = `[...document.querySelectorAll("#theirs tbody tr")].map(row =>
	[...row.cells].map(cell => cell.innerText.trim().replace(/\s+/g, " ")).join(" | ")).join("\n")`

// TestRelationConflict lets two users change the relations of one instance in their forms: the second
// sees the values of the first beside their own, with names, keeps all that they chose and typed, and
// can send it.
func TestRelationConflict(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	teams, site := related(t, w)
	c, mine, url := served(t, w)
	theirs := chrome.Start(t).Tab(t)
	theirs.Open(url + c.Path(c.Code()))
	edit := url + "/console/" + consoletest.Env + "/instances/" + site.ID + "/edit"
	mine.Open(edit)
	theirs.Open(edit)

	choose(theirs, "/owner", "team03")
	another(theirs, "/partners", "/partners/1", "team04")
	choose(theirs, "/caches/0/watcher", "team05")
	theirs.Click(sending)
	theirs.Until(`document.body.innerText.includes("3 changes of www sent")`)
	o, wish := w.Orders(t), orders.Wish{Ref: orders.Ref{Service: "site", ID: site.ID}}
	if _, err := o.Force(t.Context(), consoletest.Env, wish, "up", lifecycle.Promote); err != nil {
		t.Fatal(err)
	}

	choose(mine, "/owner", "team06")
	// A button that changes the form alone works as before: the values of the other user come with the
	// preview or the order, and not in an answer that the next button replaces.
	another(mine, "/partners", "/partners/1", "team07")
	fieldOf(mine, "/motto")
	mine.Type("for everybody")
	mine.Eval(`document.querySelector("[name=\"/partners/-\"]").closest("details").open = true`)
	mine.Eval(`document.querySelector("[name=\"/partners/-\"]").focus()`)
	mine.Type("nobody")
	mine.Expect("status of 4")
	mine.Click(sending)
	mine.Until(`document.querySelector("#theirs")`)
	cache := func(team string) string { return `[ { "name": "edge", "watcher": "` + team + `" } ]` }
	want := "Caches | " + cache("team02") + " | " + cache("team05") + " | " + cache("team02") + "\n" +
		"Owner | team01 | team03 | team06 both changed it\n" +
		"Partners | team02 | team02 team04 | team02 team07 nobody both changed it"
	if d := cmp.Diff(want, mine.Eval(theirsIn)); d != "" {
		t.Error(d)
	}
	for pointer, want := range map[string]string{"/owner": teams[6], "/partners/0": teams[2],
		"/partners/1": teams[7], "/partners/2": "nobody", "/motto": "for everybody", "/caches/0/watcher": teams[5]} {
		if got := valueAt(mine, pointer); got != want {
			t.Errorf("%s: the form sends %q, want %q", pointer, got, want)
		}
	}
	examine(mine, "relation-conflict", func() {})
	mine.Click(`button[name=remove][value="/partners/2"]`)
	mine.Until(`!document.querySelector('[name="/partners/2"]')`)
	mine.Click(sending)
	mine.Until(`document.body.innerText.includes("changes of www sent")`)
	is, err := o.Instance(t.Context(), consoletest.Env, wish.Ref)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]any{"name": "www", "motto": "for everybody", "owner": teams[6],
		"partners": []any{teams[2], teams[7]}, "caches": []any{map[string]any{"name": "edge", "watcher": teams[5]}},
	}, map[string]any(is.Candidate)); d != "" {
		t.Error(d)
	}
}
