package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// shelf is a handler that lists what there is, counts that, and acts where a test says so.
type shelf struct {
	clever
	lists  atomic.Int64
	failed error // of every list
	seen   func(ctx *provider.Context)
}

func (s *shelf) List(ctx *provider.Context, found func(provider.Found) error) error {
	s.lists.Add(1)
	if s.seen != nil {
		s.seen(ctx)
	}
	if s.failed != nil {
		return s.failed
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for name, value := range s.w.things {
		if err := found(provider.Found{
			Attributes: map[string]any{"name": name, "value": value}}); err != nil {
			return err
		}
	}
	return nil
}

func shelved(r *rig) *shelf {
	s := &shelf{clever: clever{handler: handler{r.w}}}
	r.e.Handlers["t::T"] = s
	return s
}

// many returns resources with a name and a number from 0 on, written as a format.
func many(n int, format string) []resource.Resource {
	var out []resource.Resource
	for i := range n {
		out = append(out, res(strings.ReplaceAll(format, "#", fmt.Sprintf("%03d", i))))
	}
	return out
}

// TestListIsReadOnceARun has more resources than a batch has, so that there are several batches.
func TestListIsReadOnceARun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := shelved(r)
	s.seen = func(ctx *provider.Context) {
		if d := ctx.Desired(); ctx.ID() != "t::T[a,name=*]" || d.Agent != "a" ||
			len(d.Attributes) > 0 {
			t.Errorf("a list is asked for with %s and %v", ctx.ID(), d)
		}
	}
	const n = 400
	r.export(deploy.Export{Model: modelOf(many(n, "n#")...)})
	r.drain()
	if calls := r.took("create"); s.lists.Load() != 1 || len(calls) != n {
		t.Errorf("%d lists, %d creates", s.lists.Load(), len(calls))
	}
	if calls := r.took("read"); len(calls) > 0 {
		t.Errorf("%d reads", len(calls))
	}
	if _, err := r.e.DryRun(t.Context(), "e", 0); err != nil || s.lists.Load() != 2 {
		t.Errorf("%d lists after a dry run, %v", s.lists.Load(), err)
	}
	if _, err := r.e.Repair(t.Context(), "e", deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	r.drain()
	if calls := r.took("read", "create", "update"); s.lists.Load() != 3 || len(calls) > 0 {
		t.Errorf("%d lists after a repair, and %d calls", s.lists.Load(), len(calls))
	}
}

// TestListIsOutOfDate changes what is listed behind the back of the engine, at times from which on
// it is to be seen.
func TestListIsOutOfDate(t *testing.T) {
	t.Parallel()
	const n = 100
	for _, tc := range []struct {
		name  string
		model []resource.Resource
		at    string // what is created when something happens
		then  func(r *rig) error
		lists int64
		calls []string
	}{
		{"made by what is required", append(many(n, "n#"), many(n, "x#<n000")...), "n000",
			func(r *rig) error {
				for i := range n {
					r.w.things[fmt.Sprintf("x%03d", i)] = "v"
				}
				return nil
			}, 2, nil},
		{"made by what one requires", append(many(n, "n#"), res("y<n000")), "n000",
			func(r *rig) error { r.w.things["y"] = "v"; return nil }, 1, []string{"read y"}},
	} {
		r := newRig(t)
		s := shelved(r)
		s.create = func(c *provider.Context) {
			if nameOf(c.Desired()) == tc.at {
				r.w.mu.Lock()
				defer r.w.mu.Unlock()
				if err := tc.then(r); err != nil {
					t.Error(tc.name, err)
				}
			}
		}
		r.export(deploy.Export{Model: modelOf(tc.model...)})
		r.drain()
		if s.lists.Load() != tc.lists {
			t.Errorf("%s: %d lists", tc.name, s.lists.Load())
		}
		var calls []string
		for _, c := range r.took("read", "create", "update") {
			if !strings.HasPrefix(c, "create n") {
				calls = append(calls, c)
			}
		}
		r.same(tc.name, calls, tc.calls...)
	}
}

// TestListBeforeARequest asks for a look of its own at what is still to run with an older list.
func TestListBeforeARequest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := shelved(r)
	r.export(deploy.Export{Model: modelOf(many(200, "n#")...)})
	once := atomic.Bool{}
	s.create = func(*provider.Context) {
		if once.Swap(true) {
			return
		}
		r.w.mu.Lock()
		for i := range 200 {
			r.w.things[fmt.Sprintf("n%03d", i)] = "v"
		}
		r.w.mu.Unlock()
		if _, err := r.e.Repair(context.Background(), "e", deploy.Request{}); err != nil {
			t.Error(err)
		}
	}
	r.drain()
	if calls := r.took("create"); s.lists.Load() != 2 || len(calls) > 64 {
		t.Errorf("%d lists; %d were created, though a list would have shown them", s.lists.Load(),
			len(calls))
	}
}

// TestListThatFailsSaysSoOnce pins that there is one warning, which says what to do.
func TestListThatFailsSaysSoOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := shelved(r)
	const hint = "give the agent a larger max_body"
	s.failed = fmt.Errorf("%w; %s", // as api.Call says it
		fault.New(fault.Invalid, "call the API", "the answer is longer than 99 bytes").
			WithHint(hint), hint)
	r.export(deploy.Export{Model: modelOf(many(200, "n#")...)})
	r.drain()
	all, err := r.home.Actions(t.Context(), "e", state.ActionQuery{})
	if err != nil || len(r.took("read")) != 200 || s.lists.Load() != 1 {
		t.Fatalf("%d lists, %v", s.lists.Load(), err)
	}
	var lines []provider.Line
	for _, a := range all {
		lines = append(lines, a.Messages...)
	}
	const want = "resources of t::T cannot be listed and are read one at a time, which may " +
		"take long: call the API: the answer is longer than 99 bytes; give the agent a larger " +
		"max_body"
	if len(lines) != 1 || lines[0].Level != provider.LevelWarning || lines[0].Msg != want {
		t.Errorf("%d lines: %+v", len(lines), lines)
	}
}

// TestListIsBounded has a list that is larger than what is kept of one: what does not fit is read.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const n = 70
	s := &shelf{clever: clever{handler: handler{r.w}}}
	big := strings.Repeat("x", 1<<20)
	r.e.Handlers["t::T"] = lister{
		clever{handler: handler{r.w}, list: func(found func(provider.Found) error) error {
			s.lists.Add(1)
			for i := range 100 * n { // most of them are nobody's
				if err := found(provider.Found{
					Attributes: map[string]any{"name": fmt.Sprintf("n%03d", i), "value": "v",
						"note": big}}); err != nil {
					return err
				}
			}
			return nil
		}}}
	for i := range n {
		r.w.things[fmt.Sprintf("n%03d", i)] = "v"
	}
	r.export(deploy.Export{Model: modelOf(many(n, "n#")...)})
	r.drain()
	reads := len(r.took("read"))
	if calls := r.took("create", "update"); s.lists.Load() != 1 || reads == 0 || reads > n-60 ||
		len(calls) > 0 {
		t.Errorf("%d lists, %d reads, %q", s.lists.Load(), reads, calls)
	}
}

// TestListedByHandlers pins that handlers can keep lists in the same way.
func TestListedByHandlers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := 0
	h := &asking{clever: clever{handler: handler{r.w}}, ask: func(c *provider.Context) error {
		_, err := provider.Listed(c, provider.Key{Name: "all"},
			func(*provider.Context) (int, int, error) {
				if made++; made == 1 {
					return 0, 0, errors.New("not yet")
				}
				return made, 8, nil
			})
		return err
	}}
	r.e.Handlers["t::T"] = h
	r.export(deploy.Export{Model: modelOf(
		append(many(100, "n#"), res("y<n001"), res("z<n001"))...)})
	r.drain()
	// The first fails, the second is for all, and the last for those that follow a change.
	if made != 3 {
		t.Errorf("made %d times", made)
	}
}

type asking struct {
	clever
	ask func(c *provider.Context) error
}

func (a *asking) Read(c *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	if err := a.ask(c); err != nil {
		return provider.Observation{}, err
	}
	return a.clever.Read(c, req)
}

// TestListIsOlderThanARemoval pins that a list does not serve what has waited for something to be
// removed in another lane since: of that no row says any more when it ended.
func TestListIsOlderThanARemoval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	shelved(r)
	behind, before := res("behind"), res("before<behind")
	behind.PurgeOnDelete, before.PurgeOnDelete = true, true
	r.release(res("n0"), res("n1"), behind, on("b", before))
	r.export(deploy.Export{Model: modelOf(valued("n0", "2"), valued("n1", "2"))})
	r.took("read")
	r.w.hook = func(call, name string) {
		if call != "update" || name != "n0" {
			return
		}
		r.w.hook = nil
		if _, err := r.e.RunAgent(t.Context(), "e", "b",
			r.clock.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
		r.took("read")
	}
	if _, err := r.e.RunAgent(t.Context(), "e", "a", r.clock.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	r.same("calls", r.took("read", "delete"), "read behind", "delete behind")
}
