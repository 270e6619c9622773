package deploy_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/seal"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// memo keeps in its state under which number it has made each thing. A thing whose number it does
// not know is missing for it.
type memo struct {
	handler
	reads   *[]string // the kept state of each Read
	made    *int
	keeping func(c *provider.Context) // called before a create keeps its number
	last    *provider.Context
}

func (memo) Keeps(provider.Resource) bool { return true }

func (m memo) Read(
	c *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	*m.reads = append(*m.reads, string(c.Kept()))
	out, err := m.handler.Read(c, req)
	out.Exists = out.Exists && len(c.Kept()) > 0
	return out, err
}

func (m memo) Create(
	c *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	*m.made++
	*m.last = *c
	if _, err := m.handler.Create(c, req); err != nil {
		return provider.Result{}, err
	}
	if m.keeping != nil {
		m.keeping(c)
	}
	return provider.Result{}, c.Keep(fmt.Appendf(nil, "s3cret number %d", *m.made))
}

// keptRig is a rig with that handler, whose things have labels.
func keptRig(t *testing.T) (*rig, *memo) {
	t.Helper()
	r := newLabelRig(t)
	r.e.Sealer = r.home.Sealer(r.home.Secrets(), "")
	m := &memo{handler: handler{r.w}, reads: new([]string), made: new(int),
		last: new(provider.Context)}
	r.e.Handlers["t::T"] = m
	return r, m
}

func (r *rig) keptOf(ids ...resource.ID) map[resource.ID]state.Kept {
	r.t.Helper()
	out := map[resource.ID]state.Kept{}
	for _, k := range must(r.home.Kept(context.Background(), "e", ids))(r.t) {
		out[k.ID] = k
	}
	return out
}

// check checks everything again, and returns what Read got.
func (r *rig) check(m *memo) string {
	r.t.Helper()
	*m.reads = nil
	if _, err := r.e.Repair(context.Background(), "e", deploy.Request{}); err != nil {
		r.t.Fatal(err)
	}
	r.drain()
	return strings.Join(*m.reads, ", ")
}

// TestKept pins the life of a kept state: stored sealed, given to later runs, not written when
// equal, moved with its thing, and removed with it.
func TestKept(t *testing.T) {
	t.Parallel()
	r, m := keptRig(t)
	first, second := labelled("a", "one", "x"), labelled("b", "two", "x")
	r.export(deploy.Export{Model: modelOf(first)})
	r.drain()
	stored := r.keptOf(first.ID)[first.ID]
	if len(stored.Sealed) == 0 || bytes.Contains(stored.Sealed, []byte("s3cret")) {
		t.Fatalf("stored %q", stored.Sealed)
	}
	if got := r.check(m); got != "s3cret number 1" {
		t.Errorf("the next run got %q", got)
	}
	r.w.things = map[string]string{} // made again under the same number
	*m.made = 0
	r.check(m)
	if now := r.keptOf(first.ID)[first.ID]; *m.made != 1 || now.Revision != stored.Revision {
		t.Errorf("made %d more, and an equal state was written: %v", *m.made, now.Revision)
	}
	r.export(deploy.Export{Model: modelOf(second)})
	r.drain()
	both := r.keptOf(first.ID, second.ID)
	if len(both) != 1 || len(both[second.ID].Sealed) == 0 || *m.made != 1 {
		t.Errorf("moved: made %d, kept %v", *m.made, slices.Collect(maps.Keys(both)))
	}
	if got := r.check(m); got != "s3cret number 1" {
		t.Errorf("after the move the run got %q", got)
	}
	second.Purged = true
	r.export(deploy.Export{Model: modelOf(second)})
	r.drain()
	if left := r.keptOf(first.ID, second.ID); len(left) != 0 || len(r.w.things) != 0 {
		t.Errorf("purged, and kept %v, things %v", left, r.w.things)
	}
}

// TestForgottenKept pins that to forget a resource removes its state, also one under an earlier id.
func TestForgottenKept(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} {
		r, _ := keptRig(t)
		first, second := labelled("a", "one", "x"), labelled("b", "two", "x")
		first.PurgeOnDelete, second.PurgeOnDelete = false, false
		r.export(deploy.Export{Model: modelOf(first)})
		r.drain()
		gone := first.ID
		if moved {
			r.export(deploy.Export{Model: modelOf(second)})
			gone = second.ID
		}
		r.export(deploy.Export{Model: modelOf(labelled("a", "other", "y"))})
		if _, err := r.e.Forget(t.Context(), "e", gone); err != nil {
			t.Fatal(err)
		}
		if left := r.keptOf(first.ID, second.ID); len(left) != 0 {
			t.Errorf("moved %v: kept %v", moved, left)
		}
	}
}

// TestKeepOfAStaleHolder pins that a worker that has lost its lane keeps nothing, and that the next
// one continues from what was stored: with the state, if it was stored before the lane was lost.
func TestKeepOfAStaleHolder(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"lost before Keep": true, "lost after Keep": false} {
		r, m := keptRig(t)
		var refused error
		lose := func() {
			r.clock.advance(time.Hour)
			now := r.clock.Now()
			if _, err := r.home.Acquire(t.Context(), "e", "a", "another", now,
				now.Add(time.Second)); err != nil {
				t.Error(err)
			}
			r.clock.advance(time.Minute)
		}
		m.keeping = func(c *provider.Context) {
			m.keeping = nil
			if late {
				lose()
				refused = c.Keep([]byte("stale"))
				return
			}
			if refused = c.Keep([]byte("s3cret number 0")); refused == nil {
				lose()
			}
		}
		r.export(deploy.Export{Model: modelOf(labelled("a", "one", "x"))})
		if _, err := r.e.RunAgent(t.Context(), "e", "a", r.clock.Now().Add(24*time.Hour)); err != nil {
			t.Fatal(name, err)
		}
		if late != fault.Is(refused, fault.Fenced) {
			t.Errorf("%s: Keep returned %v", name, refused)
		}
		want, made := "s3cret number 0", 1
		if late {
			want, made = "", 2
		}
		got := r.check(m)
		if !strings.HasPrefix(got, want) || *m.made != made {
			t.Errorf("%s: the next run got %q, and %d were made, want %d", name, got, *m.made, made)
		}
	}
}

// TestKeepAfterAMove pins that a worker whose lease has ended keeps nothing once the resource was moved
// to another lane and has run there, or a person has changed its state. No worker serves the former
// lane again, so the fence of its lease does not grow on its own.
func TestKeepAfterAMove(t *testing.T) {
	t.Parallel()
	until := func(r *rig) time.Time { return r.clock.Now().Add(24 * time.Hour) }
	second := labelled("b", "two", "x")
	for name, meanwhile := range map[string]func(r *rig) error{
		"another worker": func(r *rig) error {
			_, err := r.e.RunAgent(t.Context(), "e", "b", until(r))
			return err
		},
		"a person": func(r *rig) error {
			sealed := must(r.e.Sealer.Seal(t.Context(), "e", second.ID,
				state.Plain{State: []byte("s3cret number 2")}.Encode()))(t)
			_, _, err := r.e.ImportKept(t.Context(), "e", second.ID, sealed, "")
			return err
		},
	} {
		r, m := keptRig(t)
		var refused error
		m.keeping = func(c *provider.Context) {
			m.keeping = nil
			r.export(deploy.Export{Model: modelOf(second)})
			if err := meanwhile(r); name == "a person" && !fault.Is(err, fault.Busy) {
				t.Errorf("%s, before the lease has ended: %v", name, err)
			}
			r.clock.advance(time.Hour)
			if err := meanwhile(r); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			refused = c.Keep([]byte("stale"))
		}
		r.export(deploy.Export{Model: modelOf(labelled("a", "one", "x"))})
		if _, err := r.e.RunAgent(t.Context(), "e", "a", until(r)); err != nil {
			t.Fatal(name, err)
		}
		if !fault.Is(refused, fault.Fenced) {
			t.Errorf("%s: Keep returned %v", name, refused)
		}
		if got := r.check(m); !strings.HasSuffix(got, "s3cret number 2") {
			t.Errorf("%s: the next run got %q", name, got)
		}
	}
}

// TestKeepRefused pins when a handler keeps nothing.
func TestKeepRefused(t *testing.T) {
	t.Parallel()
	r, m := keptRig(t)
	model := modelOf(labelled("a", "one", "x"))
	big := 0
	m.keeping = func(c *provider.Context) {
		big++
		if err := c.Keep(make([]byte, state.MaxKept+1)); provider.ClassOf(err) != provider.Terminal {
			t.Errorf("too much: %v", err)
		}
		if err := c.Keep(make([]byte, state.MaxKept)); err != nil {
			t.Errorf("as much as may be: %v", err)
		}
	}
	r.export(deploy.Export{Model: model})
	r.drain()
	if big != 1 {
		t.Fatal("nothing was created")
	}
	id := model.Resources[0].ID
	before := r.keptOf(id)[id]
	if err := m.last.Keep([]byte("late")); err == nil || r.keptOf(id)[id].Revision != before.Revision {
		t.Errorf("a state after the run has ended: %v", err)
	}
	r.e.Sealer = seal.Ring{Keys: func(context.Context) ([]seal.Key, error) {
		return []seal.Key{seal.NewKey()}, nil
	}}
	r.check(m)
	row := must(r.e.Row(t.Context(), "e", id))(t)
	if row.Class != provider.Terminal || !strings.Contains(row.Reason, "another key") || *m.made != 1 {
		t.Errorf("without the key: %s, %s; %d made", row.Class, row.Reason, *m.made)
	}
}
