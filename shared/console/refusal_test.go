package console_test

import (
	"net/url"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// TestChangeBack: the release of a version that has instances otherwise names them and leads to the
// forms that change them back; a version with these resources again is released.
func TestChangeBack(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Offer(t, "testdata/forms.cf")
	acme := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@b"})
	site := func(name string) orders.Instance {
		return w.Create(t, "site", map[string]any{"host_name": name, "region": "eu-west-1", "customer": acme.ID})
	}
	export := func(i *orders.Instance, text string) {
		file := w.File(i.ID, text)
		file.Set = i.ID
		w.ExportOwned(t, file)
	}
	one, gone := site("one.example"), site("gone.example")
	export(&gone, "gone")
	export(&one, "quota 5") // version 2
	wish := func(i *orders.Instance) orders.Wish {
		return orders.Wish{Ref: orders.Ref{Service: i.Service, ID: i.ID}}
	}
	o := w.Orders(t)
	if _, err := o.Update(t.Context(), consoletest.Env, wish(&one), map[string]any{"quota": 7}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Force(t.Context(), consoletest.Env, wish(&one), "up", lifecycle.Promote); err != nil {
		t.Fatal(err)
	}
	export(&one, "quota 7")
	later := site("later.example")
	export(&later, "later")
	export(&gone, "changed") // version 5
	if _, err := o.Destroy(t.Context(), consoletest.Env, wish(&gone)); err != nil {
		t.Fatal(err)
	}
	for name, home := range w.Homes(t) {
		b := signedIn(t, console.New(home, options()))
		page := b.Get(at+"compare?from=5&to=2", 200)
		wants(t, page, "The release would be refused", "one.example site", "other resources", "Change back",
			"later.example site", "not there yet", "Delete…", "gone.example site", "not yet deleted", "Order again")
		if strings.Contains(page, "Release version 2</button>") {
			t.Errorf("%s: a release that would be refused is offered", name)
		}
		page = b.Get(at+"instances/"+one.ID+"/edit?asof=2", 200)
		wants(t, page, "that one.example had with version 2 of the model", "Preview", "replace quota 7 5")
		if back := formOf(t, page, "seen").Get("asof"); back != "2" {
			t.Errorf("%s: the form returns to the comparison with %q", name, back)
		}
		wants(t, b.Get(at+"services/site/new?from="+gone.ID+"&asof=2", 200), "that gone.example had with version 2")
		wants(t, b.Get(at+"instances/"+one.ID+"/edit?asof=x", 400), "is not the number of a version")
		wants(t, b.Get(at+"instances/"+later.ID+"/edit?asof=2", 404), "are not kept", "Quota")
		wants(t, b.Post(at+"do/release", with(url.Values{}, "from", "5", "to", "2", "deletes", "0"), 422), "one.example Version 2 has it with other resources")
	}
	b := signedIn(t, console.New(w.Service, options()))
	form := formOf(t, b.Get(at+"instances/"+one.ID+"/edit?asof=2", 200), "seen")
	wants(t, b.Post(at+"instances/"+one.ID+"/edit", with(form, "do", "order"), 200), "1 change of one.example sent",
		"Changes from version 5 to version 2", "it is being changed")
}
