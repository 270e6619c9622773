package console_test

import (
	"net/http"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/api"
	"southbound/shared/console"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/consoletest"
)

// TestAuditPage pins the list of requests in both homes.
func TestAuditPage(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	at := "/console/" + consoletest.Env + "/audit"
	homes := w.Homes(t)
	wants(t, signedIn(t, console.New(w.Service, options())).Get(at, http.StatusOK))
	ctx := api.WithMessage(api.WithCaller(t.Context(),
		api.Caller{User: "<b>ann</b>", Via: api.ViaConsole}), "new disk <script>")
	for range 51 {
		if err := w.Service.Pause(ctx, consoletest.Env, true, "web1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Service.Forget(ctx, consoletest.Env,
		api.Forgetting{ID: "std::Null[x,name=none]"}); err == nil {
		t.Fatal("a resource that is not there was forgotten")
	}
	for name, home := range homes {
		b := signedIn(t, console.New(home, options()))
		page := b.Get(at, http.StatusOK)
		consoletest.CheckHTML(t, name, page)
		wants(t, page, "<b>ann</b>", "console", "pause", "web1", "new disk <script>", "forget",
			"failed", "Next page", "50 requests")
		i := strings.Index(page, `rel="next" href="`) + len(`rel="next" href="`)
		next := page[i : i+strings.IndexByte(page[i:], '"')]
		wants(t, b.Get(strings.ReplaceAll(next, "&amp;", "&"), http.StatusOK), "First page", "pause")
	}
	gone := fault.New(fault.Unavailable, "", "the server does not answer")
	b := signedIn(t, console.New(consoletest.FailingAt(w.Service, "AuditPage", gone), options()))
	wants(t, b.Get(at, http.StatusServiceUnavailable), "Try again")
}

// TestNamesOfInstances pins that lists name instances by their identities, and not by their ids.
func TestNamesOfInstances(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	up, broken := w.FillServices(t, "testdata/forms.cf")
	for name, home := range w.Homes(t) {
		b := signedIn(t, console.New(home, options()))
		audit := b.Get(at+"audit", http.StatusOK)
		wants(t, audit, "site/www.example.com, state up", "site/broken.example.com, state failed")
		if strings.Contains(consoletest.TextOf(audit), broken.ID) {
			t.Errorf("%s: the audit has an id", name)
		}
		row := `<a class="pill" href="` + at + "instances/" + up.ID + `" title="` + up.ID + `">instance</a>`
		if list := b.Get(at+"resources", http.StatusOK); !strings.Contains(list, row) {
			t.Errorf("%s: no link to the instance of a resource: %s", name, consoletest.TextOf(list))
		}
		if list := b.Get(at+"versions/3", http.StatusOK); !strings.Contains(list, row) {
			t.Errorf("%s: no link to the instance of a resource of a version: %s", name, consoletest.TextOf(list))
		}
		wants(t, b.Get(at+"services/site", http.StatusOK), "aliases list: text matches", "empty list")
		for page, column := range map[string]string{"instances/" + broken.ID + "?tab=resources": "Place in the model",
			"versions": "Commit", "versions/3": "Files", "services/customer": "Relation"} {
			if strings.Contains(b.Get(at+page, http.StatusOK), ">"+column+"</th>") {
				t.Errorf("%s: %s has an empty column", name, page)
			}
		}
	}
}
