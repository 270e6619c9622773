package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/patience"
)

// TestWaitedComparisons pins that the requests that wait for a comparison include the resources of
// agents that only runners reach.
func TestWaitedComparisons(t *testing.T) {
	t.Parallel()
	p := startParts(t, toB(runs(12)))
	for _, c := range []struct{ path, body, want string }{
		{"dryruns", `{}`, `"covered":12`},
		{"dryruns", `{"filter":["agent=b/1"]}`, `"covered":6`},
		{"discover", `{"type":"acct::Group","agent":"b/1"}`, `"id":"acct::Group[b/1,`},
	} {
		ended := make(chan struct{})
		go p.goesOn(ended)
		resp, text := p.world.ask(t, "POST", "/v1/environments/e/"+c.path, c.body)
		close(ended)
		if resp.StatusCode != http.StatusOK || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %d %.300s, want %s", c.path, c.body, resp.StatusCode, text, c.want)
		}
	}
}

// TestWaitedTooLong pins that a request whose time is nearly over gives its job up, and names the
// way that has no such limit.
func TestWaitedTooLong(t *testing.T) {
	t.Parallel()
	j := startJobs(t, runs(2)) // nobody works on the job
	ctx, cancel := patience.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, "POST", "/v1/environments/e/dryruns",
		strings.NewReader(`{}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	api.Handler(j.service).ServeHTTP(w, r)
	if w.Code != http.StatusGatewayTimeout ||
		!strings.Contains(w.Body.String(), "PUT /v1/environments/e/jobs/ID") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	all, err := j.home.Jobs(t.Context(), "e", "job/", j.clock.Now())
	if err != nil || len(all) != 1 || !strings.Contains(string(all[0].Body), `"outcome":`) {
		t.Errorf("the job goes on: %v, %v", all, err)
	}
}

// TestWaitedWithoutJobs pins that a server for exports alone refuses comparisons.
func TestWaitedWithoutJobs(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.service.Jobs = nil
	resp, text := w.ask(t, "POST", "/v1/environments/e/plans", `{"chunks":[],"read":true}`)
	if resp.StatusCode != http.StatusNotImplemented ||
		!strings.Contains(text, "send the request to the function of the API") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}
