package providertest

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// twist is a shelf of which some calls go elsewhere.
type twist struct {
	*shelf
	read     func(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error)
	create   func(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error)
	update   func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error)
	remove   func(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error)
	form     func(attrs map[string]any) (map[string]any, error)
	list     func(ctx *provider.Context, found func(provider.Found) error) error
	noop     func(ctx *provider.Context, planned provider.BatchChange) error
	answers  func(ctx context.Context, out []provider.Applied) []provider.Applied
	readings func(ctx context.Context, out []provider.Reading) []provider.Reading
	diff     func(desired provider.Resource, observed provider.Observation) map[string]diff.Diff
	sync     func(ctx *provider.Context, attribute string, desired, observed any) (provider.Verdict,
		error)
	flush func(done []provider.BatchChange) error
}

// Serves implements provider.Partial.
func (w *twist) Serves(capability reflect.Type) bool {
	switch capability {
	case reflect.TypeFor[provider.Differ]():
		return w.diff != nil
	case reflect.TypeFor[provider.InSyncer]():
		return w.sync != nil
	case reflect.TypeFor[provider.Flusher]():
		return w.flush != nil
	}
	return true
}

func (w *twist) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	if w.read != nil {
		return w.read(ctx, req)
	}
	return w.shelf.Read(ctx, req)
}

func (w *twist) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	if w.create != nil {
		return w.create(ctx, req)
	}
	return w.shelf.Create(ctx, req)
}

func (w *twist) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	if w.update != nil {
		return w.update(ctx, req)
	}
	return w.shelf.Update(ctx, req)
}

func (w *twist) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	if w.remove != nil {
		return w.remove(ctx, req)
	}
	return w.shelf.Delete(ctx, req)
}

func (w *twist) Canonicalise(attrs map[string]any) (map[string]any, error) {
	if w.form != nil {
		return w.form(attrs)
	}
	return w.shelf.Canonicalise(attrs)
}

func (w *twist) List(ctx *provider.Context, found func(provider.Found) error) error {
	if w.list != nil {
		return w.list(ctx, found)
	}
	return w.shelf.List(ctx, found)
}

func (w *twist) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	if w.noop != nil {
		return w.noop(ctx, planned)
	}
	return w.shelf.Noop(ctx, planned)
}

func (w *twist) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	for i, item := range items {
		out[i].Observation, out[i].Err = w.Read(item.Context, item.ReadRequest)
	}
	if w.readings != nil {
		return w.readings(ctx, out)
	}
	return out
}

func (w *twist) ApplyBatch(ctx context.Context, items []provider.BatchChange) []provider.Applied {
	out := make([]provider.Applied, len(items))
	for i, item := range items {
		out[i].Result, out[i].Err = provider.Apply(w, item)
	}
	if w.answers != nil {
		return w.answers(ctx, out)
	}
	return out
}

func (w *twist) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	return w.diff(desired, observed), nil
}

func (w *twist) InSync(
	ctx *provider.Context, attribute string, desired, observed any,
) (provider.Verdict, error) {
	return w.sync(ctx, attribute, desired, observed)
}

func (w *twist) Flush(_ context.Context, done []provider.BatchChange) error { return w.flush(done) }

// twisted is a subject with a twist.
func twisted(change func(w *twist)) Subject {
	s := subject(faults{})
	h, _ := s.Definition.Handler.(*shelf)
	w := &twist{shelf: h}
	s.Definition.Handler = w
	change(w)
	return s
}

// with returns a resource with one attribute changed.
func with(r provider.Resource, name string, f func(v any) any) provider.Resource {
	r.Attributes = maps.Clone(r.Attributes)
	r.Attributes[name] = f(r.Attributes[name])
	return r
}

// stored lets Create and Update store another value of an attribute than they are given.
func (w *twist) stored(name string, f func(v any) any) {
	w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
		req.Resource = with(req.Resource, name, f)
		return w.shelf.Create(ctx, req)
	}
	w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
		req.Resource = with(req.Resource, name, f)
		return w.shelf.Update(ctx, req)
	}
}

// set changes a box directly.
func (w *twist) set(name, attribute string, v any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if box := w.boxes[name]; box != nil {
		box = maps.Clone(box)
		box[attribute] = v
		w.boxes[name] = box
	}
}

func (w *twist) get(name, attribute string) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.boxes[name][attribute]
}

func care(r provider.Resource) string { s, _ := r.Attributes["care"].(string); return s }

func colour(r provider.Resource) string { s, _ := r.Attributes["colour"].(string); return s }

// picky refuses a colour.
func (w *twist) picky() {
	w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
		if colour(req.Resource) == " " {
			return provider.Result{}, provider.Errorf(provider.NeedsChange, "no such colour")
		}
		return w.shelf.Create(ctx, req)
	}
}

func asList(v any) []any { l, _ := v.([]any); return l }

// TestGoodTwists pins that what is unusual and right passes.
func TestGoodTwists(t *testing.T) {
	for _, tc := range []struct {
		why    string
		change func(w *twist)
	}{
		{"none", func(*twist) {}},
		{"a value is refused", (*twist).picky},
		{"changes take effect in Flush", staged},
		{"at least these tags", func(w *twist) {
			w.sync = func(_ *provider.Context, attribute string, desired,
				observed any) (provider.Verdict, error) {
				want, have := asList(desired), asList(observed)
				if attribute == "tags" && slices.Equal(want, have[:min(len(have), len(want))]) {
					return provider.Verdict{Sync: provider.Same}, nil
				}
				return provider.Verdict{}, nil
			}
		}},
		{"a connection that lives with the cache", func(w *twist) {
			w.read = func(ctx *provider.Context, req provider.ReadRequest) (provider.Observation,
				error) {
				end := make(chan struct{})
				_, back, err := provider.Borrow(ctx, provider.Key{Name: "connection"},
					provider.Keep{Idle: time.Hour}, func(*provider.Context) (chan struct{}, error) {
						go func() { <-end }()
						return end, nil
					}, func(c chan struct{}) { close(c) })
				defer back()
				if err != nil {
					return provider.Observation{}, err
				}
				return w.shelf.Read(ctx, req)
			}
		}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			s := twisted(tc.change)
			if s.Definition.Handler.(*twist).flush != nil {
				// staged changes are lost with the process
				s = changed(s, func(c *Case) { c.Interrupt = nil })
			}
			Run(t, s)
		})
	}
}

// staged makes updates take effect in Flush.
func staged(w *twist) {
	updates := map[string]func(){}
	var mu sync.Mutex
	w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		updates[nameOf(req.Resource)] = func() { _, _ = w.shelf.Update(ctx, req) }
		return provider.Result{}, nil
	}
	w.flush = func(done []provider.BatchChange) error {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range done {
			if f := updates[nameOf(c.Resource)]; f != nil {
				f()
			}
			delete(updates, nameOf(c.Resource))
		}
		return nil
	}
}
