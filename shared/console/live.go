package console

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/fault"
)

// livePattern is the pattern of the stream of regions.
const livePattern = "GET /console/live"

// The times of a stream.
const (
	streamLife  = 10 * time.Minute // the browser then connects again
	tickEvery   = 5 * time.Second  // the browser looks for a broken connection after twice that
	renderEvery = time.Second      // at most one rendering
	pollEvery   = 2 * time.Second  // between renderings of a page about all environments
	askEvery    = 5 * time.Second  // between questions for changes to a home that does not wait
	changesWait = 20 * time.Second // texts such as "3 min ago" change without a change of the home
	writeTime   = 20 * time.Second // for one event
)

// The numbers of streams at the same time.
const (
	maxStreams        = 256
	maxSessionStreams = 12 // several browsers may have the cookie of one user
)

func (s *site) livePages() []route {
	return []route{{pattern: livePattern, raw: s.stream}}
}

// stream sends the regions of a page that change, until the browser closes it, the session ends, the
// console stops, or 10 minutes have passed.
//
//	event region  the HTML of a region; its id is the digest of all regions
//	event tick    the page is current
//	event lost    the page cannot be rendered now; the data is the reason
func (s *site) stream(w http.ResponseWriter, r *request) {
	page, err := s.streamed(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if !s.streams.take(r.who.key) {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many streams are open; the page polls instead",
			http.StatusServiceUnavailable)
		return
	}
	defer s.streams.give(r.who.key)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // proxies pass each event on
	ctx, cancel := context.WithTimeout(r.Context(), streamLife)
	defer cancel()
	if s.o.Stop != nil {
		stop := context.AfterFunc(s.o.Stop, cancel)
		defer stop()
	}
	x := &streamer{site: s, page: page, out: w, rc: http.NewResponseController(w),
		sent: map[string]string{},
		all:  cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("digest"))}
	_ = x.event("tick", "", nil)
	x.run(ctx, r)
}

// streamed returns the request for the page of a stream.
func (s *site) streamed(r *request) (*http.Request, error) {
	u, err := url.Parse(r.URL.Query().Get("page"))
	if err == nil && u.Scheme == "" && u.Host == "" {
		if inner, under := s.inner(u.Path); under && inner != "" && inner != "/live" {
			page, err := http.NewRequestWithContext(r.Context(), http.MethodGet, u.String(), nil)
			if err != nil {
				return nil, fault.Wrap(fault.Usage, "read page", err)
			}
			page.Header.Set(regionHeader, "*")
			page.RequestURI = u.RequestURI()
			return s.rebased(page, inner), nil
		}
	}
	return nil, fault.New(fault.Usage, "", "a stream needs the page that it is for").
		WithHint("add page=, a path of this console")
}

// envOf returns the environment of a page; "": it is of none.
func envOf(page *http.Request) string {
	env, rest, has := strings.Cut(strings.TrimPrefix(page.URL.Path, "/console/"), "/")
	if !has || rest == "" && env == "" {
		return ""
	}
	return env
}

// streamer sends the regions of one page.
type streamer struct {
	site *site
	page *http.Request
	out  http.ResponseWriter
	rc   *http.ResponseController

	all  string            // the digest of all regions that the browser has
	sent map[string]string // the digests of regions
	lost bool
}

// run sends changed regions until ctx ends or the browser has gone.
func (x *streamer) run(ctx context.Context, r *request) {
	token, ticked := "", time.Now()
	for ctx.Err() == nil {
		began := time.Now()
		if who := x.site.sessions.of(r.Request); who == nil || who.key != r.who.key {
			return
		}
		if err := x.render(ctx); err != nil {
			return
		}
		spent := time.Since(began)
		token = x.wait(ctx, r, token, max(renderEvery, 10*spent), func() error {
			if time.Since(ticked) < tickEvery || x.lost {
				return nil
			}
			ticked = time.Now()
			return x.event("tick", "", nil)
		})
	}
}

// wait waits for a change of the environment, at least for rest. It calls tick every second.
func (x *streamer) wait(
	ctx context.Context, r *request, token string, rest time.Duration, tick func() error,
) string {
	changed := make(chan string, 1)
	ctx, cancel := context.WithTimeout(ctx, max(changesWait, rest))
	defer cancel()
	go func() { changed <- nextChange(ctx, r.home(ctx), envOf(x.page), token) }()
	until := time.Now().Add(rest)
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for arrived := false; ; {
		select {
		case <-ctx.Done():
			return token
		case token = <-changed:
			arrived = true
		case <-every.C:
			if tick() != nil {
				return token
			}
		}
		if arrived && !time.Now().Before(until) {
			return token
		}
	}
}

// nextChange returns the token of an environment after its next change, or after changesWait. A
// token "" gets the present one immediately.
func nextChange(ctx context.Context, home api.Home, env, token string) string {
	if env == "" { // a page about all environments
		pause(ctx, pollEvery)
		return ""
	}
	for until := time.Now().Add(changesWait); ; {
		asked := time.Now()
		got, err := home.Changes(ctx, env, token, time.Until(until))
		switch {
		case err != nil:
			pause(ctx, pollEvery)
			return token
		case got.Token != token || ctx.Err() != nil || time.Until(until) < time.Second:
			return got.Token
		case time.Since(asked) < time.Second: // this home does not wait
			pause(ctx, askEvery)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// render renders the page and sends the regions that the browser does not have.
func (x *streamer) render(ctx context.Context) error {
	status, text := x.site.rendered(x.page.WithContext(context.WithValue(ctx, sessionKey{},
		x.page.Context().Value(sessionKey{}))))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if status != http.StatusOK {
		if x.lost {
			return nil
		}
		x.lost = true
		return x.event("lost", "", []byte(http.StatusText(status)))
	}
	all := digest(text)
	if all == x.all && !x.lost {
		return nil
	}
	var err error
	if all != x.all {
		regions(text, func(id string, html []byte) {
			if d := digest(html); err == nil && x.sent[id] != d {
				x.sent[id] = d
				err = x.event("region", all, html)
			}
		})
		x.all = all
	}
	if x.lost && err == nil {
		x.lost = false
		err = x.event("tick", "", nil)
	}
	return err
}

// event sends one event.
func (x *streamer) event(name, id string, data []byte) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\n", name)
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	for line := range bytes.Lines(append(data, '\n')) {
		fmt.Fprintf(&b, "data: %s\n", strings.TrimRight(string(line), "\r\n"))
	}
	b.WriteByte('\n')
	_ = x.rc.SetWriteDeadline(time.Now().Add(writeTime))
	if _, err := x.out.Write(b.Bytes()); err != nil {
		return fault.Wrap(fault.Unavailable, "send", err)
	}
	return fault.Wrap(fault.Unavailable, "send", x.rc.Flush())
}

// rendered returns the answer of the console itself to a request for regions.
func (s *site) rendered(r *http.Request) (int, []byte) {
	out := &memory{header: http.Header{}, status: http.StatusOK}
	s.pages.ServeHTTP(out, r)
	return out.status, out.body.Bytes()
}

// memory is an answer in memory.
type memory struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (m *memory) Header() http.Header { return m.header }

// WriteHeader implements http.ResponseWriter.
func (m *memory) WriteHeader(status int) { m.status = status }

// Write implements http.ResponseWriter.
func (m *memory) Write(b []byte) (int, error) { return m.body.Write(b) }
