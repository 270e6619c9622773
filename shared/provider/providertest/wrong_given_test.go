package providertest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// wrongWithGiven change what they are given.
func wrongWithGiven() []wrong {
	return []wrong{
		{"a list of what exists that is put into another order", "neighbours",
			" changed the list of what exists, which other calls see as well", "copy",
			func(w *twist) {
				w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result,
					error) {
					all, err := provider.Existing(ctx, w, provider.Keep{For: time.Hour})
					if err != nil {
						return provider.Result{}, err
					}
					slices.Reverse(all)
					return w.shelf.Create(ctx, req)
				}
			}},
		{"a thing of a list of what exists", "neighbours",
			" changed the list of what exists, which other calls see as well", "copy",
			func(w *twist) {
				n := int64(0)
				w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result,
					error) {
					all, err := provider.Existing(ctx, w, provider.Keep{For: time.Hour})
					if err != nil {
						return provider.Result{}, err
					}
					w.mu.Lock()
					n++
					for _, f := range all {
						f.Attributes["size"] = n
					}
					w.mu.Unlock()
					return w.shelf.Create(ctx, req)
				}
				w.list = func(_ *provider.Context, found func(provider.Found) error) error {
					return found(provider.Found{Attributes: map[string]any{"name": "x"}})
				}
			}},
		{"an attribute of a batch", "batch", "ApplyBatch changed the attributes of item 1",
			"maps.Clone", func(w *twist) {
				w.applies = func(_ context.Context, items []provider.BatchChange) {
					for _, item := range items {
						delete(item.Resource.Attributes, "colour")
					}
				}
			}},
		{"what was observed of an item of a batch", "batch",
			"ApplyBatch changed what was observed of item 1", "maps.Clone", func(w *twist) {
				w.applies = func(_ context.Context, items []provider.BatchChange) {
					for _, item := range items {
						clear(item.Observed.Attributes)
					}
				}
			}},
		{"what is planned", "noop", "Noop of " + box1 + " changed the differences that it was given",
			"maps.Clone", func(w *twist) {
				w.noop = func(_ *provider.Context, planned provider.BatchChange) error {
					clear(planned.Changes)
					return nil
				}
			}},
		{"what is compared", "create",
			"Diff of " + box1 + " changed the attributes of what was observed",
			"maps.Clone", func(w *twist) {
				w.diff = func(_ provider.Resource,
					observed provider.Observation) map[string]diff.Diff {
					clear(observed.Attributes)
					return nil
				}
			}},
		{"the differences within a list", "update",
			"Update of " + box1 + " changed the differences that it was given", "maps.Clone",
			func(w *twist) {
				w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
					error) {
					out, err := w.shelf.Update(ctx, req)
					for name, d := range req.Changes {
						d.Desired = "forgotten"
						req.Changes[name] = d
					}
					return out, err
				}
			}},
	}
}

// wrongClaims say through Changed what is not so.
func wrongClaims() []wrong {
	return []wrong{
		{"a change that was refused", "edges",
			" failed, and says through Changed that colour is another now, and that is not what is read",
			"call Changed after", func(w *twist) {
				w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
					error) {
					if c, differs := req.Changes["colour"]; differs {
						ctx.Changed("colour", c.Current, c.Desired)
					}
					if colour(req.Resource) == " " {
						return provider.Result{}, provider.Errorf(provider.NeedsChange,
							"no such colour")
					}
					return w.shelf.Update(ctx, req)
				}
			}},
		{"a change that was stopped", "interrupted",
			" failed, and says through Changed that size is another now", "call Changed after",
			func(w *twist) {
				w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
					error) {
					if d, differs := req.Changes["size"]; differs {
						ctx.Changed("size", d.Current, d.Desired)
					}
					return w.shelf.Update(ctx, req)
				}
			}},
		{"a change that was cut off", "canceled",
			" failed, and says through Changed that size is another now, and that is not what is read",
			"call Changed after", func(w *twist) {
				w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result,
					error) {
					if d, differs := req.Changes["size"]; differs {
						ctx.Changed("size", d.Current, d.Desired)
					}
					if ctx.Err() != nil {
						return provider.Result{}, ctx.Err()
					}
					return w.shelf.Update(ctx, req)
				}
			}},
		{"a change of what was deleted", "delete",
			"it says through Changed that size is another now, and the thing is gone",
			"call Changed", func(w *twist) {
				w.remove = func(ctx *provider.Context, req provider.DeleteRequest) (provider.Result,
					error) {
					ctx.Changed("size", req.Observed.Attributes["size"], int64(9))
					return w.shelf.Delete(ctx, req)
				}
			}},
	}
}

// rightClaims is a handler that says in time what is so, whatever becomes of the rest of a call.
func rightClaims(w *twist) {
	w.update = func(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
		out, err := w.shelf.Update(ctx, req)
		if d, differs := req.Changes["size"]; differs && err == nil {
			ctx.Changed("size", d.Current, d.Desired)
			if ctx.Err() != nil {
				return out, errors.New("what follows was cut off")
			}
		}
		return out, err
	}
	w.remove = func(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
		out, err := w.shelf.Delete(ctx, req)
		if err == nil && req.Observed.Exists {
			ctx.Changed("size", req.Observed.Attributes["size"], nil)
		}
		return out, err
	}
	w.create = func(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
		all, err := provider.Existing(ctx, w, provider.Keep{For: time.Hour})
		if err != nil {
			return provider.Result{}, err
		}
		all = slices.Clone(all)
		slices.Reverse(all)
		for i := range all {
			all[i].Attributes = maps.Clone(all[i].Attributes)
			all[i].Attributes["size"] = int64(i)
		}
		return w.shelf.Create(ctx, req)
	}
}
