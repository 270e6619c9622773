package providertest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// TestWrongHandlers pins that the named check finds each of these mistakes, and what it advises.
func TestWrongHandlers(t *testing.T) {
	for _, tc := range slices.Concat(wrongValues(), wrongSteps(), wrongWords(), wrongCutOff(),
		wrongLaws()) {
		t.Run(tc.check+" finds "+tc.why, func(t *testing.T) {
			t.Parallel()
			says, fix := only(t.Context(), t, twisted(tc.change), tc.check)
			if says == "" || !strings.Contains(says, tc.says) {
				t.Fatalf("found: %q", says)
			}
			if fix == "" || tc.fix != "" && !strings.Contains(fix, tc.fix) {
				t.Errorf("to do: %s", fix)
			}
		})
	}
}

// wrong is a handler that is.
type wrong struct {
	why, check, says, fix string
	change                func(w *twist)
}

// wrongValues lose or change values on the way.
func wrongValues() []wrong {
	return []wrong{
		{"an update to the empty text that is left out", "edges", `colour = ""`, "",
			func(w *twist) {
				w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
					error) {
					before := w.get(nameOf(req.Resource), "colour")
					out, err := w.shelf.Update(ctx, req)
					if c, ok := req.Resource.Attributes["colour"].(string); ok && c == "" {
						w.set(nameOf(req.Resource), "colour", before)
					}
					return out, err
				}
			}},
		{"texts that are composed", "edges", `colour = "e\u0301"`, "as it is", func(w *twist) {
			w.stored("colour", func(v any) any {
				if s, ok := v.(string); ok {
					return strings.ReplaceAll(s, "e\u0301", "é")
				}
				return v
			})
		}},
		{"lists that are sorted", "edges", "tags = ", "", func(w *twist) {
			w.stored("tags", func(v any) any {
				out := slices.Clone(asList(v))
				slices.SortFunc(out, func(a, b any) int {
					return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
				})
				return out
			})
		}},
		{"lists without what is there twice", "edges", "tags = ", "", func(w *twist) {
			w.stored("tags", func(v any) any {
				out := []any{}
				for _, tag := range asList(v) {
					if !slices.Contains(out, tag) {
						out = append(out, tag)
					}
				}
				return out
			})
		}},
		{"the number 0 for none", "edges", "size = 0", "", func(w *twist) {
			w.stored("size", func(v any) any {
				if v == int64(0) {
					return nil
				}
				return v
			})
		}},
		{"numbers of another type of Go", "create",
			"size was reported with a value that its type does not allow", "", func(w *twist) {
				w.read = func(ctx *provider.Context,
					req provider.ReadRequest) (provider.Observation,
					error) {
					obs, err := w.shelf.Read(ctx, req)
					if n, ok := obs.Attributes["size"].(int64); ok {
						obs.Attributes["size"] = int(n)
					}
					return obs, err
				}
			}},
		{"what is wanted in place of what is there", "edges", "tags is compared, and none of",
			"return the observed values from Read", func(w *twist) {
				w.read = func(ctx *provider.Context,
					req provider.ReadRequest) (provider.Observation,
					error) {
					obs, err := w.shelf.Read(ctx, req)
					if obs.Exists {
						obs.Attributes["tags"] = req.Resource.Attributes["tags"]
					}
					return obs, err
				}
			}},
		{"a create that forgets what an update would set", "create", "[tags] differ", "",
			func(w *twist) {
				w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result,
					error) {
					req.Resource = with(req.Resource, "tags", func(any) any { return []any{} })
					return w.shelf.Create(ctx, req)
				}
			}},
	}
}

// wrongSteps do too little, too much, or something else.
func wrongSteps() []wrong {
	return []wrong{
		{"an update of the first difference alone", "update",
			"update 2: after it was applied, a dry run would do \"updated\"", "", func(w *twist) {
				w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
					error) {
					for _, name := range slices.Sorted(maps.Keys(req.Changes)) {
						w.set(nameOf(req.Resource), name, w.store(req.Resource)[name])
						break
					}
					return provider.Result{}, nil
				}
			}},
		{"a delete that hides", "delete", "creating and purging changed the world", "",
			func(w *twist) {
				w.remove = func(_ *provider.Context, req provider.DeleteRequest) (provider.Result,
					error) {
					w.set(nameOf(req.Resource), "hidden", true)
					return provider.Result{}, nil
				}
				w.read = func(ctx *provider.Context,
					req provider.ReadRequest) (provider.Observation,
					error) {
					if w.get(nameOf(req.Resource), "hidden") == true {
						return provider.Observation{}, nil
					}
					return w.shelf.Read(ctx, req)
				}
			}},
		{"a delete of all that begins alike", "neighbours", "after it was purged, test::Box[",
			"address exactly the named object", func(w *twist) {
				w.remove = func(_ *provider.Context, req provider.DeleteRequest) (provider.Result,
					error) {
					w.mu.Lock()
					defer w.mu.Unlock()
					prefix := strings.TrimSuffix(nameOf(req.Resource), "a")
					maps.DeleteFunc(w.boxes, func(name string, _ map[string]any) bool {
						return strings.HasPrefix(name, prefix)
					})
					return provider.Result{}, nil
				}
			}},
		{"an update of all that there are", "neighbours", "[size] differ", "", func(w *twist) {
			w.update = func(_ *provider.Context, req provider.UpdateRequest) (provider.Result,
				error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				for name, box := range w.boxes {
					box = maps.Clone(box)
					box["size"] = req.Resource.Attributes["size"]
					w.boxes[name] = box
				}
				return provider.Result{}, nil
			}
		}},
		{"a read that creates", "dry_run", "while it is missing: a dry run sees",
			"change nothing in Read", func(w *twist) {
				w.read = func(ctx *provider.Context,
					req provider.ReadRequest) (provider.Observation,
					error) {
					obs, err := w.shelf.Read(ctx, req)
					if err == nil && !obs.Exists && !req.Resource.Purged {
						_, err = w.shelf.Create(ctx, provider.CreateRequest{Resource: req.Resource})
					}
					return obs, err
				}
			}},
		{"a read that denies what is to be purged", "delete",
			`apply did "nochange", expected "purged"`, "", func(w *twist) {
				w.read = func(ctx *provider.Context,
					req provider.ReadRequest) (provider.Observation,
					error) {
					if req.Resource.Purged {
						return provider.Observation{}, nil
					}
					return w.shelf.Read(ctx, req)
				}
			}},
		{"a noop that does what it is told of", "noop",
			"a noop of a updated resource changed the world", "only queries", func(w *twist) {
				w.noop = func(ctx *provider.Context, planned provider.BatchChange) error {
					if len(planned.Changes) == 0 {
						return nil
					}
					_, err := provider.Apply(w.shelf,
						provider.BatchChange{Context: ctx, Change: planned.Change,
							Resource: planned.Resource, Observed: planned.Observed,
							Changes: planned.Changes})
					return err
				}
			}},
		{"what can only be set at creation, and is not compared", "init_only",
			"another value of wood is not refused", "", func(w *twist) {
				w.diff = func(desired provider.Resource,
					observed provider.Observation) map[string]diff.Diff {
					c, _ := w.Canonicalise(desired.Attributes)
					out := map[string]diff.Diff{}
					for _, name := range []string{"size", "colour", "tags"} {
						if c[name] != nil && !resource.Equal(c[name], observed.Attributes[name]) {
							out[name] = diff.Diff{Current: observed.Attributes[name],
								Desired: c[name]}
						}
					}
					return out
				}
			}},
		{"a memory between Read and Update", "parallel",
			"all were read before the first was changed", "keep no state between calls",
			func(w *twist) {
				var last string
				w.read = func(ctx *provider.Context,
					req provider.ReadRequest) (provider.Observation,
					error) {
					w.mu.Lock()
					last = nameOf(req.Resource)
					w.mu.Unlock()
					return w.shelf.Read(ctx, req)
				}
				w.remove = func(ctx *provider.Context, req provider.DeleteRequest) (provider.Result,
					error) {
					w.mu.Lock()
					req.Resource = with(req.Resource, "name", func(any) any { return last })
					w.mu.Unlock()
					return w.shelf.Delete(ctx, req)
				}
			}},
	}
}

// wrongWords put secrets into their output, or report changes that they have not made.
func wrongWords() []wrong {
	onCreate := func(f func(ctx *provider.Context, r provider.Resource) provider.Result) func(w *twist) {
		return func(w *twist) {
			w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result,
				error) {
				if out := f(ctx, req.Resource); out.Again != nil && ctx.State() == nil {
					return out, nil
				}
				return w.shelf.Create(ctx, req)
			}
		}
	}
	onRead := func(f func(ctx *provider.Context, r provider.Resource)) func(w *twist) {
		return func(w *twist) {
			w.read = func(ctx *provider.Context, req provider.ReadRequest) (provider.Observation,
				error) {
				f(ctx, req.Resource)
				return w.shelf.Read(ctx, req)
			}
		}
	}
	const leak = "a secret is in the output of the handler"
	return []wrong{
		{"a secret in base64", "create", leak + ", in a log line of Create of " + box1,
			"put no value", onCreate(func(ctx *provider.Context, r provider.Resource) provider.Result {
				ctx.Debug("sending", "header",
					"Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+care(r))))
				return provider.Result{}
			})},
		{"a secret in the name of a block", "create", leak, "",
			onCreate(func(ctx *provider.Context, r provider.Resource) provider.Result {
				_ = ctx.Creating("a box handled with "+care(r), func(*provider.Context) error {
					return nil
				})
				return provider.Result{}
			})},
		{"a secret in the state for the next call", "create", leak, "",
			onCreate(func(_ *provider.Context, r provider.Resource) provider.Result {
				return provider.Result{Again: &provider.Again{After: time.Second,
					State: []byte(care(r))}}
			})},
		{"a secret in the reason for a provider", "create", leak, "",
			onCreate(func(ctx *provider.Context, r provider.Resource) provider.Result {
				ctx.SetProvider("one", "it can handle "+care(r))
				return provider.Result{}
			})},
		{"a secret in the reason for a difference", "update", leak, "", func(w *twist) {
			w.sync = func(ctx *provider.Context, _ string, desired,
				observed any) (provider.Verdict, error) {
				if resource.Equal(desired, observed) {
					return provider.Verdict{}, nil
				}
				return provider.Verdict{Sync: provider.Differs,
					Why: "not what it is with " + care(ctx.Desired())}, nil
			}
		}},
		{"a secret in an error of a batch that was cut short", "batch", leak, "",
			func(w *twist) {
				w.readings = func(ctx context.Context, out []provider.Reading) []provider.Reading {
					for i := range out {
						if ctx.Err() != nil {
							out[i].Err = errors.New("cut short while it was handled with s3cr3t")
						}
					}
					return out
				}
			}},
		{"a change that every Read reports", "create", "reports by Changed that size was changed",
			"never in Read", onRead(func(ctx *provider.Context, r provider.Resource) {
				ctx.Changed("size", nil, r.Attributes["size"])
			})},
		{"a SetChange in every Read", "create",
			"a second apply, which has nothing to do, reports updated by SetChange",
			"never in Read", onRead(func(ctx *provider.Context, _ provider.Resource) {
				ctx.SetChange(diff.Updated)
			})},
		{"an order that is another each time", "create", "", "", func(w *twist) {
			n := 0
			w.read = func(ctx *provider.Context, req provider.ReadRequest) (provider.Observation,
				error) {
				obs, err := w.shelf.Read(ctx, req)
				w.mu.Lock()
				defer w.mu.Unlock()
				if n++; obs.Exists && n%7 == 6 {
					obs.Attributes["tags"] = []any{"a", "b"}
				}
				return obs, err
			}
		}},
		{"an immediate call again", "create", "it asks to be called again after 0s", "After",
			onCreate(func(*provider.Context, provider.Resource) provider.Result {
				return provider.Result{Again: &provider.Again{State: []byte("x")}}
			})},
	}
}

// wrongCutOff answer wrongly for a call that was cut off.
func wrongCutOff() []wrong {
	wrapped := func(class provider.Class) func(w *twist) {
		return func(w *twist) {
			w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result,
				error) {
				out, err := w.shelf.Create(ctx, req)
				if err != nil {
					err = provider.Errorf(class, "create a box: %w", err)
				}
				return out, err
			}
		}
	}
	return []wrong{
		{"a create without an error", "canceled", "it returns no error", "return every error",
			func(w *twist) {
				w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result,
					error) {
					if ctx.Err() != nil {
						return provider.Result{}, nil
					}
					return w.shelf.Create(ctx, req)
				}
			}},
		{"a delete without an error", "canceled",
			"Delete: after it was cut off it returns no error, and the resource would still be purged",
			"return every error", func(w *twist) {
				w.remove = func(ctx *provider.Context, req provider.DeleteRequest) (provider.Result,
					error) {
					if ctx.Err() != nil {
						return provider.Result{}, nil
					}
					return w.shelf.Delete(ctx, req)
				}
			}},
		{"an error that is swallowed", "interrupted",
			"when it is stopped it returns no error", "return every error", func(w *twist) {
				w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result,
					error) {
					if out, err := w.shelf.Create(ctx, req); !errors.Is(err, ErrStopped) {
						return out, err
					}
					return provider.Result{}, nil
				}
			}},
		{"an error that blames the document", "interrupted", "fails as needs_change",
			"keep the class", wrapped(provider.NeedsChange)},
		{"an error that gives up", "interrupted", "fails as terminal", "",
			wrapped(provider.Terminal)},
		{"answers of a batch in another order", "batch", "was answered as done",
			"each item the answer that is its own", func(w *twist) {
				w.answers = func(_ context.Context, out []provider.Applied) []provider.Applied {
					slices.Reverse(out)
					return out
				}
			}},
		{"an item of a batch whose error is dropped", "batch", "was answered as done",
			"each item the answer that is its own", func(w *twist) {
				w.answers = func(_ context.Context, out []provider.Applied) []provider.Applied {
					for i := range out[1:] {
						out[i+1].Err = nil
					}
					return out
				}
			}},
		{"a cache whose key is too narrow", "neighbours", "", "", func(w *twist) {
			w.read = func(ctx *provider.Context, req provider.ReadRequest) (provider.Observation,
				error) {
				obs, err := w.shelf.Read(ctx, req)
				if err != nil || !obs.Exists {
					return obs, err
				}
				wood, err := provider.Cached(ctx, provider.Key{Name: "wood"},
					provider.Keep{For: time.Hour}, func(*provider.Context) (any, error) {
						return obs.Attributes["wood"], nil
					})
				obs.Attributes["wood"] = wood
				return obs, err
			}
		}},
		{"a cache of what changes", "create", "would do \"created\"", "", func(w *twist) {
			w.read = func(ctx *provider.Context, req provider.ReadRequest) (provider.Observation,
				error) {
				return provider.Cached(ctx, provider.Key{Name: "read",
					Args: []any{req.Resource.ID}}, provider.Keep{},
					func(ctx *provider.Context) (provider.Observation, error) {
						return w.shelf.Read(ctx, req)
					})
			}
		}},
		{"an update that resets an attribute that is left out", "left_out",
			"colour was left out: it was changed to", "req.Changes",
			func(w *twist) { w.resets = true }},
	}
}
