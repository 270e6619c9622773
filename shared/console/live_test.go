package console_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"southbound/handlers"
	"southbound/shared/console"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/consoletest"
)

// event is an event of a stream.
type event struct{ name, id, data string }

// events are the events of an open stream.
type events struct {
	t    *testing.T
	scan *bufio.Scanner
}

// next returns the next event that is no tick, and how many ticks were before it. At the end of the
// stream its name is "end".
func (e *events) next() (x event, ticks int) {
	e.t.Helper()
	for e.scan.Scan() {
		k, v, _ := strings.Cut(e.scan.Text(), ": ")
		switch {
		case k == "event":
			x.name = v
		case k == "id":
			x.id = v
		case k == "data":
			x.data += v + "\n"
		case k == "" && x.name == "tick":
			ticks++
			x = event{}
		case k == "":
			return x, ticks
		}
	}
	return event{name: "end"}, ticks
}

// server is a console on a port.
type server struct {
	t *testing.T
	*httptest.Server
	c *http.Client
}

func serve(t *testing.T, home *consoletest.Faulty, stop context.Context) *server {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	pages := console.New(home, console.Options{Hosts: []string{s.Listener.Addr().String()},
		Stop: stop})
	s.Config.Handler = pages
	s.Start()
	t.Cleanup(s.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	res, err := c.Get(s.URL + pages.Path(pages.Code()))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	return &server{t, s, c}
}

// stream opens the stream of a page; headers are in pairs.
func (s *server) stream(page string, headers ...string) (*events, int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Minute)
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		s.URL+"/console/live?page="+url.QueryEscape(page), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.c.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return &events{s.t, bufio.NewScanner(res.Body)}, res.StatusCode
}

// TestStream sends regions that change, and only these; a stream that is resumed sends nothing twice;
// a home that fails is reported, and so is its return.
func TestStream(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Export(t, "one", consoletest.Null("a", "n"))
	w.Export(t, "two", consoletest.Null("a", "n"))
	var gone atomic.Bool
	home := &consoletest.Faulty{Home: w.Service, Before: func(string) error {
		if gone.Load() {
			return fault.New(fault.Unavailable, "", "gone")
		}
		return nil
	}}
	stopped, stop := context.WithCancel(t.Context())
	defer stop()
	s := serve(t, home, stopped)
	first, status := s.stream("/console/")
	got, ticks := first.next()
	if status != http.StatusOK || ticks != 1 || got.name != "region" || got.id == "" ||
		!strings.Contains(got.data, "available") || strings.Contains(got.data, "<h1") {
		t.Fatalf("%d, %d ticks, %+v", status, ticks, got)
	}
	consoletest.CheckHTML(t, "region", got.data)
	w.Deploy(t, "one")
	changed, _ := first.next()
	if changed.name != "region" || changed.id == got.id || !strings.Contains(changed.data, "deployed") {
		t.Fatalf("after a change: %+v", changed)
	}
	resumed, _ := s.stream("/console/", "Last-Event-ID", changed.id)
	gone.Store(true)
	if x, ticks := first.next(); x.name != "lost" {
		t.Errorf("the home fails: %+v after %d ticks", x, ticks)
	}
	if x, ticks := resumed.next(); x.name != "lost" || ticks == 0 {
		t.Errorf("resumed: %+v after %d ticks", x, ticks)
	}
	w.Deploy(t, "two")
	gone.Store(false)
	if x, _ := resumed.next(); x.name != "region" {
		t.Errorf("the home is back: %+v", x)
	}
	stop()
	if x, _ := resumed.next(); x.name != "end" {
		t.Errorf("the console stops: %+v", x)
	}
}

// TestStreamRefusals refuses streams of other pages, and too many of one session.
func TestStreamRefusals(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Export(t, "one", consoletest.Null("a", "n"))
	s := serve(t, consoletest.Failing(w.Service, nil), nil)
	for _, page := range []string{"", "/", "https://elsewhere.example/console/", "/console/live", "//x/y",
		"%zz"} {
		if _, status := s.stream(page); status != http.StatusBadRequest {
			t.Errorf("a stream of %q: %d", page, status)
		}
	}
	statuses := map[int]int{}
	for range 14 {
		_, status := s.stream("/console/")
		statuses[status]++
	}
	if statuses[200] != 12 || statuses[503] != 2 {
		t.Errorf("14 streams of a session: %v", statuses)
	}
	if _, status := s.stream("/console/", "Sec-Fetch-Site", "cross-site"); status != 403 {
		t.Errorf("from another site: %d", status)
	}
}
