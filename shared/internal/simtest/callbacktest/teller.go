package callbacktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"southbound/shared/service/callback"
)

// hand is a clock that tests advance manually.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) add(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// Sleep implements callback.Clock. Only Run calls it, to wait for events, so it sleeps briefly in
// real time.
func (h *hand) Sleep(ctx context.Context, _ time.Duration) error {
	const turn = 5 * time.Millisecond
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(turn):
		return nil
	}
}

// ear is a web server that receives calls.
type ear struct {
	*httptest.Server
	mu     sync.Mutex
	heard  []string // the instance, number and kind of each event
	status int      // the status of its responses; 0: 200
	header http.Header
}

func (s *suite) ear() *ear {
	e := &ear{}
	e.Server = httptest.NewServer(e)
	s.Cleanup(e.Close)
	return e
}

func (e *ear) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var b callback.Body
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil || r.Header.Get("Idempotency-Key") != fmt.Sprintf("%s/%d", b.Instance, b.Seq) {
		http.Error(w, "what is this?", http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, fmt.Sprintf("%s/%d %s", b.Instance, b.Seq, b.Kind))
	if e.status != 0 {
		for k := range e.header {
			w.Header().Set(k, e.header.Get(k))
		}
		w.WriteHeader(e.status)
	}
}

func (e *ear) answers(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
}

// takes returns and clears the events received since the last call.
func (e *ear) takes() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := strings.Join(e.heard, ", ")
	e.heard = nil
	return out
}

// teller returns a teller whose calls do not time out on a slow machine.
func (s *suite) teller(clock *hand, store callback.Store) *callback.Teller {
	const limit = 10 * time.Minute
	return s.within(limit, clock, store)
}

func (s *suite) within(
	limit time.Duration, clock *hand, store callback.Store,
) *callback.Teller {
	return callback.New(callback.Config{
		Env: env, Store: store, Instances: s.h.Instances, Clock: clock,
		Caller: callback.NewCaller(true, limit),
	})
}

func (s *suite) once(t *callback.Teller) {
	s.Helper()
	s.must(t.Once(s.ctx))
}

// calls delivers events to two callbacks: each event once if no call fails.
func (s *suite) calls() {
	e, clock := s.ear(), &hand{now: began.Add(time.Minute)}
	one, two := of("a"), of("b")
	one.URL, two.URL = e.URL+"/a", e.URL+"/b"
	two.Level = "ERROR"
	s.register(one)
	s.register(two)
	t := s.teller(clock, s.h.B)
	s.once(t)
	s.same("nothing", "", e.takes())
	s.happens("i", "create", "auto")
	s.once(t)
	s.same("what happened", "i/1 create, i/2 auto", e.takes())
	s.same("what is left", 0, len(s.waits()))
	s.once(t)
	s.same("nothing more", "", e.takes())
	s.happens("i", "problem")
	s.once(t)
	s.same("an error is heard by both", "i/3 problem, i/3 problem", e.takes())
}

// failing makes calls fail in each way. They are repeated with growing pauses, and the health shows
// the failures.
func (s *suite) failing() {
	clock := &hand{now: began.Add(time.Minute)}
	e := s.ear()
	one := of("a")
	one.URL = e.URL
	s.register(one)
	t := s.teller(clock, s.h.B)
	s.happens("i", "create")
	e.header = http.Header{"Location": {e.URL}}
	pause := time.Second
	for n, status := range []int{500, 404, 302, 503} {
		e.answers(status)
		s.once(t)
		s.same("it is called", "i/1 create", e.takes())
		s.once(t)
		s.same("it is left alone", "", e.takes())
		h := s.all()[0].Health
		if h.Failures != n+1 || !strings.Contains(h.Error, fmt.Sprint(status)) ||
			!h.Since.Equal(began.Add(time.Minute)) || !h.Next.Equal(clock.Now().Add(pause)) {
			s.Errorf("after %d: %+v at %v", status, h, clock.Now())
		}
		clock.add(pause)
		pause *= 2
	}
	e.Close()
	s.once(t) // no server listens
	if h := s.all()[0].Health; !strings.Contains(h.Error, "refused") {
		s.Errorf("%+v", h)
	}
	s.same("it waits", 1, len(s.waits()))
	back := s.ear()
	s.must(s.h.A.Unregister(s.ctx, env, "a"))
	one.URL = back.URL
	s.register(one)
	s.happens("i", "auto")
	s.once(t)
	if got := back.takes(); !strings.HasSuffix(got, "i/2 auto") {
		s.Errorf("it heard %s", got)
	}
	if h := s.all()[0].Health; h.Failures != 0 {
		s.Errorf("when it is well again: %+v", h)
	}
}

// dying is a store that fails when a delivery is recorded.
type dying struct{ callback.Store }

var errDead = errors.New("dead")

func (dying) Delivered(context.Context, string, string, string, int64, []string) error {
	return errDead
}

// killed ends the process between the call and its record: the event is delivered again.
func (s *suite) killed() {
	e, clock := s.ear(), &hand{now: began.Add(time.Minute)}
	one := of("a")
	one.URL = e.URL
	s.register(one)
	s.happens("i", "create")
	if err := s.teller(clock, dying{s.h.A}).Once(s.ctx); !errors.Is(err, errDead) {
		s.Errorf("it did not die: %v", err)
	}
	s.same("before", "i/1 create", e.takes())
	s.once(s.teller(clock, s.h.B))
	s.same("after", "i/1 create", e.takes())
	s.same("what is left", 0, len(s.waits()))
}

// hanging checks that a callback that hangs does not block another one, and that Run can be
// canceled.
func (s *suite) hanging() {
	e, clock := s.ear(), &hand{now: began.Add(time.Minute)}
	reached, end := make(chan struct{}, 100), make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		reached <- struct{}{}
		<-end
	}))
	defer hung.Close()
	defer close(end)
	slow, quick := of("a"), of("b")
	slow.URL, quick.URL = hung.URL, e.URL
	s.register(slow)
	s.register(quick)
	s.happens("i", "create")
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		const limit = 200 * time.Millisecond
		s.within(limit, clock, s.h.B).Run(ctx)
	}()
	var failures [2]int
	again := func(i int) { // on a slow machine, even a call to the working callback may time out
		if n := s.all()[i].Health.Failures; n > failures[i] {
			failures[i] = n
			clock.add(time.Hour / 6)
		}
	}
	for called := false; !called; {
		select {
		case <-reached:
			called = true
		case <-s.ctx.Done():
			s.Fatal("what hangs is not called")
		default:
			again(0)
		}
	}
	for got := ""; got == ""; got = e.takes() {
		if s.ctx.Err() != nil {
			s.Fatal("the other one is not called")
		}
		again(1)
	}
	for s.all()[0].Health.Failures == failures[0] {
		if s.ctx.Err() != nil {
			s.Fatal("it is not given up")
		}
	}
	s.same("why", "call: it did not answer in time", s.all()[0].Health.Error)
	cancel()
	<-done
}

// late checks that no call starts after the limit, and that remaining events are reported.
func (s *suite) late() {
	e, clock := s.ear(), &hand{now: began.Add(time.Minute)}
	one := of("a")
	one.URL = e.URL
	s.register(one)
	s.happens("i", "create", "auto")
	t := s.teller(clock, s.h.B)
	left, err := t.Visit(s.ctx, began)
	s.must(err)
	s.same("it is too late", true, left)
	s.same("what is told", "", e.takes())
	left, err = t.Visit(s.ctx, began.Add(time.Hour))
	s.must(err)
	s.same("there is time", false, left)
	s.same("what is told", "i/1 create, i/2 auto", e.takes())
	s.same("what is left", 0, len(s.waits()))
}

// dropped checks that events older than a day are dropped and counted.
func (s *suite) dropped() {
	e, clock := s.ear(), &hand{now: began.Add(time.Minute)}
	one := of("a")
	one.URL = e.URL
	s.register(one)
	s.happens("i", "create", "auto")
	e.answers(http.StatusInternalServerError)
	t := s.teller(clock, s.h.B)
	s.once(t)
	e.takes()
	e.answers(0)
	clock.add(25 * time.Hour)
	s.once(t)
	s.same("what is told", "", e.takes())
	s.same("what is left", 0, len(s.waits()))
	if h := s.all()[0].Health; h.Dropped != 2 {
		s.Errorf("%+v", h)
	}
}

// unwanted checks that events that a callback does not select are skipped.
func (s *suite) unwanted() {
	e, clock := s.ear(), &hand{now: began.Add(time.Minute)}
	one, other, late := of("a"), of("b"), of("c")
	one.Events = []string{"ON_UPDATE_TRANSITION"}
	other.Service = "lab"
	late.Created = began.Add(time.Hour)
	for _, c := range []callback.Callback{one, other, late} {
		c.URL = e.URL
		s.register(c)
	}
	s.happens("i", "create", "on_update", "auto")
	s.once(s.teller(clock, s.h.B))
	s.once(s.teller(clock, s.h.B))
	s.same("what is told", "i/2 on_update", e.takes())
	s.same("what is left", 0, len(s.waits()))
}
