package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"southbound/handlers"
	"southbound/shared/api"
	"southbound/shared/console"
	"southbound/shared/deploy"
	"southbound/shared/internal/simtest/consoletest"
)

// started starts a dry run and returns the address of its page.
func started(t *testing.T, b *consoletest.Browser, form url.Values) string {
	t.Helper()
	res := b.Do(http.MethodPost, "/console/production/do/dryrun", form.Encode())
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "/console/production/dryruns/") {
		t.Fatalf("start: %d %s: %s", res.StatusCode, to, consoletest.TextOf(consoletest.Body(t, res)))
	}
	to, _, _ = strings.Cut(to, "?")
	return to
}

// TestDryRunRestarted: after a restart of the console, the page of a dry run says what happened, and
// runs it again.
func TestDryRunRestarted(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	w.Break(t, "app.conf", "listen 666\n")
	for _, form := range []url.Values{{"filter": {"agent=web1\ntype=fs::File"}},
		{"scope": {"ticked"}, "id": {"fs::File[web1,path=" + w.Dir + "/app.conf]", brokenID}}} {
		b := signedIn(t, console.New(w.Service, realTime()))
		res := b.Do(http.MethodPost, "/console/production/do/dryrun", form.Encode())
		at := res.Header.Get("Location")
		b = signedIn(t, console.New(w.Service, realTime()))
		page := b.Get(at, http.StatusNotFound)
		wants(t, page, "forgets them when it is restarted", "It compared the version in force, ", "Run it again")
		wants(t, ended(t, b, started(t, b, formOf(t, page, "filter"))), "update 1", "listen 666")
	}
}

// ended waits for the end of a dry run and returns its page.
func ended(t *testing.T, b *consoletest.Browser, at string) string {
	t.Helper()
	for {
		page := b.Get(at, http.StatusOK)
		if !strings.Contains(page, "Look again") {
			return page
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the dry run does not end")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestDryRun finds a file that was changed by hand, and repairs it, in both homes.
func TestDryRun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"service", "client"} {
		w := consoletest.Open(t, handlers.All())
		w.Fill(t)
		w.Break(t, "app.conf", "listen 666\n")
		b := signedIn(t, console.New(w.Homes(t)[name], realTime()))
		wants(t, b.Get("/console/production/dryruns", http.StatusOK), "No dry run was started")
		at := started(t, b, url.Values{"filter": {"agent=web1\ntype=fs::File\n"}})
		page := ended(t, b, at)
		wants(t, page, "done", "1 change, 2 compared", "update 1", "listen 666", "Repair the resource shown", "Start again")
		wants(t, b.Get(at+"?change=update&diff=sides", http.StatusOK), "Before", "After", "listen 8080")
		wants(t, b.Get("/console/production/dryruns", http.StatusOK), "agent=web1 type=fs::File", "1 change, 2 compared")
		id := "fs::File[web1,path=" + w.Dir + "/app.conf]"
		page = b.Post("/console/production/do/repair", url.Values{"scope": {"ticked"}, "id": {id}, "back": {at}}, http.StatusOK)
		wants(t, page, "1 resource is checked and repaired")
		w.Deploy(t, "production")
		at = started(t, b, url.Values{"scope": {"ticked"}, "id": {id, brokenID}})
		wants(t, ended(t, b, at), "compares the version in force, 2 resources")
		wants(t, ended(t, b, started(t, b, url.Values{"scope": {"ticked"}, "id": {id}})), "Everything that was compared is as desired")
		for _, bad := range []url.Values{{"version": {"x"}, "filter": {"kept text"}}, {"filter": {"status=odd", "kept text"}},
			{"filter": {"a=b"}}, {"scope": {"ticked"}}} {
			b.Post("/console/production/do/dryrun", bad, http.StatusBadRequest)
		}
		wants(t, b.Post("/console/production/do/dryrun", url.Values{"version": {"x"}, "filter": {"kept text"}}, http.StatusBadRequest), "kept text")
		wants(t, b.Get("/console/production/dryruns/none", http.StatusNotFound), "does not have the result")
		b.Get("/console/staging/"+strings.TrimPrefix(at, "/console/production/"), http.StatusNotFound)
	}
}

// blockedHome makes dry runs that end only when they are canceled.
type blockedHome struct{ api.Home }

func (blockedHome) DryRun(ctx context.Context, _ string, _ int, _ []string, _ bool) (deploy.DryRun, error) {
	<-ctx.Done()
	return deploy.DryRun{Unread: []string{"web1"}}, ctx.Err()
}

// TestDryRunCancel cancels a dry run that does not end, and refuses one too many.
func TestDryRunCancel(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Fill(t)
	b := signedIn(t, console.New(blockedHome{w.Service}, realTime()))
	var all []string
	for range 4 {
		all = append(all, started(t, b, url.Values{"filter": {"agent=web1"}}))
	}
	page := b.Post("/console/production/do/dryrun", url.Values{"filter": {"kept=text"}}, http.StatusBadRequest)
	wants(t, page, "kept=text")
	page = b.Post("/console/production/do/dryrun", url.Values{"filter": {"agent=kept"}}, http.StatusServiceUnavailable)
	wants(t, page, "4 dry runs run already", "agent=kept")
	for _, at := range all {
		wants(t, b.Get(at, http.StatusOK), "running", "Look again", "Cancel")
		job := at[strings.LastIndex(at, "/")+1:]
		b.Post("/console/production/do/cancel-dryrun", url.Values{"job": {job}}, http.StatusOK)
		wants(t, ended(t, b, at), "canceled", "Not compared completely: web1")
		b.Post("/console/production/do/cancel-dryrun", url.Values{"job": {job}}, http.StatusNotFound)
	}
}
