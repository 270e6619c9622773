package providertest

import (
	"context"
	"fmt"
	"maps"
	"os"
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
	place    string   // the directory of the case
	file     *os.File // that stays open
	read     func(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error)
	create   func(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error)
	update   func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error)
	remove   func(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error)
	form     func(attrs map[string]any) (map[string]any, error)
	list     func(ctx *provider.Context, found func(provider.Found) error) error
	noop     func(ctx *provider.Context, planned provider.BatchChange) error
	applies  func(ctx context.Context, items []provider.BatchChange)
	answers  func(ctx context.Context, out []provider.Applied) []provider.Applied
	readings func(ctx context.Context, out []provider.Reading) []provider.Reading
	diff     func(desired provider.Resource, observed provider.Observation) map[string]diff.Diff
	sync     func(ctx *provider.Context, attribute string, desired, observed any) (provider.Verdict,
		error)
	flush    func(done []provider.BatchChange) error
	generate func(r provider.Resource) ([]provider.Generated, error)
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
	case reflect.TypeFor[provider.Generator]():
		return w.generate != nil
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
	if w.applies != nil {
		w.applies(ctx, items)
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

func (w *twist) Generate(r provider.Resource) ([]provider.Generated, error) { return w.generate(r) }

// twisted is a subject with a twist.
func twisted(change func(w *twist)) Subject {
	s := subject(faults{})
	h, _ := s.Definition.Handler.(*shelf)
	w := &twist{shelf: h}
	s.Definition.Handler = w
	newCase := s.New
	s.New = func(dir string, host *Host) (Case, error) {
		c, err := newCase(dir, host)
		w.place = dir
		return c, err
	}
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

// TestGoodTwists pins that what is unusual and right passes.
func TestGoodTwists(t *testing.T) {
	for _, tc := range []struct {
		why    string
		change func(w *twist)
		oneWay map[string]string
	}{
		{"none", func(*twist) {}, nil},
		{"a value is refused", (*twist).picky, nil},
		{"what is said and copied", rightClaims, nil},
		{"what is done is in force after the flush", func(w *twist) {
			staged := map[string]func(){}
			var mu sync.Mutex
			w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
				error) {
				mu.Lock()
				defer mu.Unlock()
				staged[nameOf(req.Resource)] = func() { _, _ = w.shelf.Update(ctx, req) }
				return provider.Result{}, nil
			}
			w.flush = func(done []provider.BatchChange) error {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range done {
					if f := staged[nameOf(c.Resource)]; f != nil {
						f()
					}
					delete(staged, nameOf(c.Resource))
				}
				return nil
			}
		}, nil},
		{"at least these tags", func(w *twist) {
			w.sync = func(_ *provider.Context, attribute string, desired,
				observed any) (provider.Verdict, error) {
				have, _ := observed.([]any)
				for _, tag := range asList(desired) {
					if !slices.Contains(have, tag) {
						return provider.Verdict{Sync: provider.Differs,
							Why: fmt.Sprint("the tag ", tag, " is missing")}, nil
					}
				}
				if attribute == "tags" && slices.Equal(asList(desired),
					have[:min(len(have), len(asList(desired)))]) {
					return provider.Verdict{Sync: provider.Same}, nil
				}
				return provider.Verdict{}, nil
			}
		}, map[string]string{"tags": "others may add some"}},
		{"something follows", func(w *twist) {
			w.generate = func(r provider.Resource) ([]provider.Generated, error) {
				return []provider.Generated{{Type: "test::Lid",
					Attributes: map[string]any{"box": r.Attributes["name"],
						"colour": r.Attributes["colour"]}, Purged: r.Purged}}, nil
			}
		}, nil},
		{"a loan that is given back, and a connection that lives with the cache", func(w *twist) {
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
		}, nil},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			s := twisted(tc.change)
			newCase := s.New
			s.New = func(dir string, host *Host) (Case, error) {
				c, err := newCase(dir, host)
				c.OneWay = tc.oneWay
				if s.Definition.Handler.(*twist).flush != nil {
					c.Interrupt = nil // what is staged in memory is lost with the process
				}
				return c, err
			}
			Run(t, s)
		})
	}
}

func asList(v any) []any { l, _ := v.([]any); return l }
