package textfile

import (
	"context"
	"errors"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// Store is where texts are; an Editor is one.
type Store interface {
	// Read returns a text; what is missing does not exist.
	Read(ctx *provider.Context, path string) (Text, error)
	// Edit changes a text to what change makes of it, see Editor.Edit.
	Edit(ctx *provider.Context, path string, m Manner, change func(Text) (Text, error)) error
}

// Texts does the work of a handler of things that are parts of text files, all but the comparison.
// Each file is read once for a batch, and all changes of one file are one.
type Texts struct {
	Store Store
	// Place says where a thing is, in the words of the store.
	Place func(provider.Resource) string
	// Observe describes a thing in the text of its place.
	Observe func(provider.Resource, Text) (provider.Observation, error)
	// Change returns what becomes of a text. When it fails, only its own item does.
	Change func(provider.BatchChange, Text) (Text, error)
	// Manner says how a resource wants its file to be changed; nil: as AnyFile.
	Manner func(provider.Resource) (Manner, error)
}

// Read implements provider.Handler.
func (h Texts) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	return provider.ReadOne(ctx, h, req)
}

// Create implements provider.Handler.
func (h Texts) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return provider.CreateOne(ctx, h, req)
}

// Update implements provider.Handler.
func (h Texts) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return provider.UpdateOne(ctx, h, req)
}

// Delete implements provider.Handler.
func (h Texts) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	return provider.DeleteOne(ctx, h, req)
}

// ReadBatch implements provider.BatchReader.
func (h Texts) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	type file struct {
		text Text
		err  error
	}
	files := map[string]file{}
	for i, item := range items {
		if out[i].Err = ctx.Err(); out[i].Err != nil {
			continue
		}
		where := h.Place(item.Resource)
		f, known := files[where]
		if !known {
			f.text, f.err = h.Store.Read(item.Context.With(ctx), where)
			files[where] = f
		}
		if out[i].Err = f.err; f.err == nil {
			out[i].Observation, out[i].Err = h.Observe(item.Resource, f.text)
		}
	}
	return out
}

// ApplyBatch implements provider.BatchApplier. What a file as a whole is refused for is tried again
// for each of its changes, so that it is known which is to blame, and the others are made.
func (h Texts) ApplyBatch(ctx context.Context, items []provider.BatchChange) []provider.Applied {
	out := make([]provider.Applied, len(items))
	of := map[string][]int{}
	var places []string
	for i, item := range items {
		where := h.Place(item.Resource)
		if of[where] == nil {
			places = append(places, where)
		}
		of[where] = append(of[where], i)
	}
	for _, where := range places {
		h.edit(ctx, where, items, of[where], out)
		if len(of[where]) == 1 || !refusedAsAWhole(of[where], out) {
			continue
		}
		for _, i := range of[where] {
			h.edit(ctx, where, items, []int{i}, out)
		}
	}
	return out
}

// refusedAsAWhole reports whether some changes of one file failed for what the text would have
// been.
func refusedAsAWhole(of []int, out []provider.Applied) bool {
	for _, i := range of {
		if out[i].Err != nil && isInvalid(out[i].Err) {
			return true
		}
	}
	return false
}

// edit makes some changes of one file.
func (h Texts) edit(
	ctx context.Context, where string, items []provider.BatchChange, of []int,
	out []provider.Applied,
) {
	m := AnyFile()
	var todo []int
	for _, i := range of {
		out[i].Err = nil
		if h.Manner != nil {
			var its Manner
			if its, out[i].Err = h.Manner(items[i].Resource); out[i].Err != nil {
				continue
			}
			m.also(its)
		}
		m.Mode = min(m.Mode, ModeFor(items[i].Context))
		todo = append(todo, i)
	}
	if len(todo) == 0 {
		return
	}
	err := h.Store.Edit(items[todo[0]].Context.With(ctx), where, m, func(t Text) (Text, error) {
		for _, i := range todo {
			after, err := h.Change(items[i], t)
			if out[i].Err = err; err == nil {
				t = after
			}
		}
		return t, nil
	})
	for _, i := range todo {
		if out[i].Err == nil {
			out[i].Err = err
		}
	}
}

// ErrNoFile is what Change fails with where there is no file, and it makes none.
var ErrNoFile = errors.New("describe it, or set create")

// Noop implements provider.Nooper: whether the file is there, where it has to be, and its directory
// may be written.
func (h Texts) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	where := h.Place(planned.Resource)
	if planned.Change == diff.Created {
		h.saysMissing(ctx, where, planned)
	}
	if w, ok := h.Store.(interface{ Writable(path string) error }); ok {
		return w.Writable(where)
	}
	return nil
}

// saysMissing says that the file or its directory is not there.
func (h Texts) saysMissing(ctx *provider.Context, where string, planned provider.BatchChange) {
	t, err := h.Store.Read(ctx, where)
	if err != nil || t.Exists {
		return
	}
	if _, err := h.Change(planned, t); errors.Is(err, ErrNoFile) {
		ctx.Lacks("there is no file " + where)
		return
	}
	if m, ok := h.Store.(interface{ Lacks(path string) string }); ok {
		if dir := m.Lacks(where); dir != "" {
			ctx.Lacks("there is no directory " + dir)
		}
	}
}
