package providertest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/provider"
)

// wrongManners leave things behind, or do not listen.
func wrongManners() []wrong {
	onRead := func(f func(w *twist, ctx *provider.Context)) func(w *twist) {
		return func(w *twist) {
			w.read = func(ctx *provider.Context, req provider.ReadRequest) (provider.Observation,
				error) {
				f(w, ctx)
				return w.shelf.Read(ctx, req)
			}
		}
	}
	onCreate := func(f func(ctx *provider.Context) (done bool, err error)) func(w *twist) {
		return func(w *twist) {
			w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result,
				error) {
				if done, err := f(ctx); done {
					return provider.Result{}, err
				}
				return w.shelf.Create(ctx, req)
			}
		}
	}
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
		{"a goroutine that nobody waits for", "create",
			"a goroutine of the handler goes on after Read of " + box1 + " has ended",
			"wait for every goroutine", onRead(func(w *twist, _ *provider.Context) {
				go func() { <-w.meet }()
			})},
		{"a file that stays open", "create",
			"the file /lock was opened in Read of " + box2 + " and not closed", "close every file",
			func(w *twist) {
				onRead(func(w *twist, _ *provider.Context) {
					w.file, _ = os.Create(w.place + "/lock")
				})(w)
			}},
		{"a loan that is kept", "create",
			"borrowed from the cache were not given back, the last by Read of test::Box[", "back()",
			onRead(func(_ *twist, ctx *provider.Context) {
				_, _, _ = provider.Borrow(ctx, provider.Key{Name: "connection"}, provider.Keep{},
					func(*provider.Context) (int, error) { return 1, nil }, func(int) {})
			})},
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
		{"a wait that nothing ends", "canceled", "calls that were cut off after", "Done",
			onCreate(func(ctx *provider.Context) (bool, error) {
				if ctx.Err() != nil {
					<-time.After(1100 * time.Millisecond)
				}
				return false, nil
			})},
		{"a call that was cut off and says that it went well", "canceled", "says that it went well",
			"return every error", onCreate(func(ctx *provider.Context) (bool, error) {
				return ctx.Err() != nil, nil
			})},
		{"an error that is swallowed", "interrupted",
			"when it is stopped it says that it went well", "return every error", func(w *twist) {
				w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result,
					error) {
					if out, err := w.shelf.Create(ctx, req); !errors.Is(err, ErrStopped) {
						return out, err
					}
					return provider.Result{}, nil
				}
			}},
		{"an error that blames the document", "interrupted", "fails as needs_change",
			"keep their class", wrapped(provider.NeedsChange)},
		{"an error that gives up", "interrupted", "fails as terminal", "",
			wrapped(provider.Terminal)},
		{"differences that are used up", "update",
			"Update of " + box1 + " changed the differences that it was given",
			"copy", func(w *twist) {
				w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
					error) {
					clear(req.Changes)
					return w.shelf.Update(ctx, req)
				}
			}},
		{"an observation that is changed", "update",
			"Update of " + box1 + " changed the attributes of what was observed",
			"maps.Clone", func(w *twist) {
				w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
					error) {
					req.Observed.Attributes["size"] = int64(0)
					return w.shelf.Update(ctx, req)
				}
			}},
	}
}

// wrongLaws break what holds of optional calls.
func wrongLaws() []wrong {
	generates := func(f func(n int, r provider.Resource) []provider.Generated) func(w *twist) {
		return func(w *twist) {
			n := 0
			w.generate = func(r provider.Resource) ([]provider.Generated,
				error) {
				n++
				return f(n, r), nil
			}
		}
	}
	lid := func(attrs map[string]any) provider.Generated {
		return provider.Generated{Type: "test::Lid", Attributes: attrs}
	}
	return []wrong{
		{"a form that is another when it is made again, of some texts", "canonical",
			"the canonical form of", "leave alone what it has made", func(w *twist) {
				w.form = func(attrs map[string]any) (map[string]any, error) {
					out := maps.Clone(attrs)
					if c, ok := out["colour"].(string); ok {
						out["colour"] = strings.Replace(c, "line", "", 1)
					}
					return out, nil
				}
			}},
		{"a form of the name", "canonical", "the canonical form names another thing",
			"leave naming attributes alone", func(w *twist) {
				w.form = func(attrs map[string]any) (map[string]any, error) {
					out, err := w.shelf.Canonicalise(attrs)
					out["name"] = strings.ToUpper(fmt.Sprint(out["name"]))
					return out, err
				}
			}},
		{"a form of another type", "canonical", "the canonical form of size is not of its type", "",
			func(w *twist) {
				w.form = func(attrs map[string]any) (map[string]any, error) {
					out, err := w.shelf.Canonicalise(attrs)
					out["size"] = fmt.Sprint(out["size"])
					return out, err
				}
			}},
		{"a form with less", "canonical", "the canonical form lacks", "", func(w *twist) {
			w.form = func(attrs map[string]any) (map[string]any, error) {
				return map[string]any{"name": attrs["name"], "size": attrs["size"]}, nil
			}
		}},
		{"a comparison that is content from one side", "in_sync",
			"from one side and not from the other", "OneWay", func(w *twist) {
				w.sync = func(_ *provider.Context, attribute string, desired,
					observed any) (provider.Verdict, error) {
					want, _ := desired.(int64)
					have, _ := observed.(int64)
					if attribute == "size" && want < have {
						return provider.Verdict{Sync: provider.Same}, nil
					}
					return provider.Verdict{}, nil
				}
			}},
		{"what follows in any order", "generate", "and the next time", "sort",
			generates(func(n int, r provider.Resource) []provider.Generated {
				out := []provider.Generated{lid(map[string]any{"n": "1"}),
					lid(map[string]any{"n": "2"})}
				if n%5 == 4 {
					slices.Reverse(out)
				}
				return out
			})},
		{"what follows by the clock", "generate", "and the next time", "without clock",
			generates(func(_ int, r provider.Resource) []provider.Generated {
				return []provider.Generated{lid(map[string]any{"at": time.Now().String()})}
			})},
		{"what follows from itself", "generate", "a resource follows from itself", "",
			generates(func(_ int, r provider.Resource) []provider.Generated {
				return []provider.Generated{{Type: r.Type,
					Attributes: map[string]any{"name": r.Attributes["name"]}}}
			})},
		{"a reference that is taken for a text", "generate",
			"panic in Generate of test::Box[", "references",
			generates(func(_ int, r provider.Resource) []provider.Generated {
				if r.Attributes["colour"] == nil {
					return nil
				}
				// that is the fault
				return []provider.Generated{lid(
					map[string]any{"colour": r.Attributes["colour"].(string)})}
			})},
		{"what follows of a type of Go", "generate", "n of a test::Lid that follows is a int", "",
			generates(func(_ int, r provider.Resource) []provider.Generated {
				return []provider.Generated{lid(map[string]any{"n": 1})}
			})},
		{"a list without the last", "list", "is listed 0 times", "", func(w *twist) {
			w.list = func(ctx *provider.Context, found func(provider.Found) error) error {
				var all []provider.Found
				_ = w.shelf.List(ctx, func(f provider.Found) error {
					all = append(all, f)
					return nil
				})
				for i, f := range all {
					if i == len(all)-1 {
						break
					}
					if err := found(f); err != nil {
						return err
					}
				}
				return nil
			}
		}},
		{"a list of what a read denies", "list", "when it is read it is not there",
			"the same question", func(w *twist) {
				w.list = func(ctx *provider.Context, found func(provider.Found) error) error {
					if err := found(provider.Found{Attributes: map[string]any{"name": "thrown away",
						"size": int64(1)}}); err != nil {
						return err
					}
					return w.shelf.List(ctx, found)
				}
			}},
		{"a list of what has no name", "list", "a thing is listed without name", "",
			func(w *twist) {
				w.list = func(ctx *provider.Context, found func(provider.Found) error) error {
					if err := found(provider.Found{
						Attributes: map[string]any{"size": int64(1)}}); err != nil {
						return err
					}
					return w.shelf.List(ctx, found)
				}
			}},
	}
}

// TestListedMeanwhile pins that what somebody else removes and makes anew while it is looked at is
// not taken for a fault of the list.
func TestListedMeanwhile(t *testing.T) {
	read := 0
	s := twisted(func(w *twist) {
		w.list = func(ctx *provider.Context, found func(provider.Found) error) error {
			if err := found(provider.Found{Attributes: map[string]any{"name": "of others"}}); err != nil {
				return err
			}
			return w.shelf.List(ctx, found)
		}
		w.read = func(
			ctx *provider.Context, req provider.ReadRequest,
		) (provider.Observation, error) {
			if nameOf(req.Resource) == "of others" {
				read++
				return provider.Observation{Exists: read > 1}, nil
			}
			return w.shelf.Read(ctx, req)
		}
	})
	if says, _ := only(t.Context(), t, s, "list"); says != "" || read != 2 {
		t.Errorf("read %d times: %s", read, says)
	}
}
