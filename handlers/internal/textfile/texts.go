package textfile

import (
	"context"
	"errors"
	"strings"

	"southbound/handlers/internal/held"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// Store contains the texts; an Editor is one.
type Store interface {
	// Read returns a text; Exists is false for a missing one.
	Read(ctx *provider.Context, path string) (Text, error)
	// Edit replaces a text by the result of change, see Editor.Edit.
	Edit(ctx *provider.Context, path string, m Manner, change func(Text) (Text, error)) error
}

// Page is a text in lines, which is split once for all its uses.
type Page struct {
	Exists bool
	*Lines
	binary bool
}

// PageOf splits a text.
func PageOf(t Text) *Page {
	return &Page{t.Exists, LinesOf(t.Bytes), strings.IndexByte(t.Bytes, 0) >= 0}
}

// Binary reports whether the text contains a zero byte, so that it is no text.
func (p *Page) Binary() bool { return p.binary }

// text returns the current text of the page.
func (p *Page) text() Text { return Text{p.Exists, p.Text()} }

// Texts implements a handler of things that are parts of text files, except for the comparison.
// Each file is read once for a batch, and all changes of one file are made together. Before a file
// is replaced, each change is read back, and no change may undo another resource's description.
type Texts struct {
	Store Store
	// Place returns the place of a thing, in the form of the store.
	Place func(provider.Resource) string
	// Observe describes a thing on the page of its place.
	Observe func(provider.Resource, *Page) (provider.Observation, error)
	// Differs reports whether an existing thing differs from its description.
	Differs func(want provider.Resource, seen provider.Observation) bool
	// Change changes a page. An error fails only its own item.
	Change func(provider.BatchChange, *Page) error
	// Manner returns how a resource's file is changed; nil: as AnyFile.
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
	files := map[string]*file{}
	for i, item := range items {
		if out[i].Err = ctx.Err(); out[i].Err != nil {
			continue
		}
		where := h.Place(item.Resource)
		f, known := files[where]
		if !known {
			f = &file{where: where}
			f.text, f.err = h.Store.Read(item.Context.With(ctx), where)
			f.page, f.real = PageOf(f.text), h.real(where)
			files[where] = f
		}
		if out[i].Err = f.err; f.err == nil {
			out[i].Observation, out[i].Err = h.Observe(item.Resource, f.page)
			f.read = append(f.read, i)
		}
	}
	if len(items) == 0 {
		return out
	}
	table := held.Of[provider.Resource](items[0].Context) // all items have the same agent
	for _, f := range files {
		for _, i := range f.read {
			if r := items[i].Resource; h.right(r, out[i]) {
				table.Hold(items[i].Context, r.ID, f.real, r)
			} else {
				table.Release(f.real, r.ID)
			}
		}
		if items[0].Context.DryRun() {
			h.foresee(f, items, out, table)
		}
	}
	return out
}

// file is a text that is read for several items.
type file struct {
	where, real string
	text        Text
	page        *Page
	err         error
	read        []int // items
}

// right reports whether a thing has its described state.
func (h Texts) right(r provider.Resource, got provider.Reading) bool {
	switch {
	case got.Err != nil:
		return false
	case r.Purged:
		return !got.Observation.Exists
	}
	return got.Observation.Exists && !h.Differs(r, got.Observation)
}

// real returns a name of a place that does not depend on the path to it.
func (h Texts) real(where string) string {
	if s, ok := h.Store.(interface{ Real(path string) string }); ok {
		return s.Real(where)
	}
	return where
}

// ApplyBatch implements provider.BatchApplier. If a check rejects the file as a whole, each of its
// changes is tried separately. This finds the change that causes the error, and makes the others.
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

// refusedAsAWhole reports whether some changes of one file failed because the resulting text was
// invalid.
func refusedAsAWhole(of []int, out []provider.Applied) bool {
	for _, i := range of {
		if out[i].Err != nil && isInvalid(out[i].Err) {
			return true
		}
	}
	return false
}

// edit makes several changes of one file.
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
	table, place := held.Of[provider.Resource](items[todo[0]].Context), h.real(where)
	err := h.Store.Edit(items[todo[0]].Context.With(ctx), where, m, func(t Text) (Text, error) {
		w := &work{Texts: h, where: where, before: t, others: table.At(place)}
		for _, i := range todo {
			w.changes = append(w.changes, change{item: items[i], err: &out[i].Err})
		}
		after := w.all()
		for _, i := range todo { // while the place is locked: no other lane can change it
			if out[i].Err == nil {
				table.Hold(items[i].Context, items[i].Resource.ID, place, wantedOf(items[i]))
			}
		}
		return after, nil
	})
	for _, i := range todo {
		if out[i].Err == nil {
			out[i].Err = err
		}
		if out[i].Err != nil {
			table.Release(place, items[i].Resource.ID)
		}
	}
}

// ErrNoFile is the error of Change if the file does not exist, and Change does not create it.
var ErrNoFile = errors.New("describe it, or set create")

// Noop implements provider.Nooper: it checks that a required file exists, that its directory may be
// written, and that the change would undo no other.
func (h Texts) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	where := h.Place(planned.Resource)
	for _, c := range foreseen(ctx).At(where) {
		if c.ID == planned.Resource.ID {
			return c.Described
		}
	}
	if planned.Change == diff.Created {
		h.reportMissing(ctx, where, planned)
	}
	if w, ok := h.Store.(interface{ Writable(path string) error }); ok {
		return w.Writable(where)
	}
	return nil
}

// reportMissing reports that the file or its directory does not exist.
func (h Texts) reportMissing(ctx *provider.Context, where string, planned provider.BatchChange) {
	t, err := h.Store.Read(ctx, where)
	if err != nil || t.Exists {
		return
	}
	if err := h.Change(planned, PageOf(t)); errors.Is(err, ErrNoFile) {
		ctx.Lacks("there is no file " + where)
		return
	}
	if m, ok := h.Store.(interface{ Lacks(path string) string }); ok {
		if dir := m.Lacks(where); dir != "" {
			ctx.Lacks("there is no directory " + dir)
		}
	}
}
