package net

import (
	"context"
	"slices"
	"strings"

	"southbound/handlers/fs"
	"southbound/shared/plan"
	"southbound/shared/provider"
)

type handler struct {
	editor fs.Editor
	listed string // the file that is listed, "" for usualFile
}

func fileOf(r provider.Resource) string {
	s, _ := r.Attributes["file"].(string)
	return s
}

func look(r provider.Resource, text fs.Text) (provider.Observation, error) {
	w, err := wantedOf(r)
	if err != nil {
		return provider.Observation{}, err
	}
	return w.look(r, fs.LinesOf(text.Bytes)), nil
}

// Read implements provider.Handler.
func (h handler) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	text, err := h.editor.Read(ctx, fileOf(req.Resource))
	if err != nil {
		return provider.Observation{}, err
	}
	return look(req.Resource, text)
}

// ReadBatch implements provider.BatchReader.
func (h handler) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return fs.ReadTogether(ctx, h.editor, items, fileOf, look)
}

// Create implements provider.Handler.
func (h handler) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return h.one(ctx, plan.Created, req.Resource)
}

// Update implements provider.Handler.
func (h handler) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return h.one(ctx, plan.Updated, req.Resource)
}

// Delete implements provider.Handler.
func (h handler) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	return h.one(ctx, plan.Purged, req.Resource)
}

func (h handler) one(ctx *provider.Context, change plan.Change, r provider.Resource) (provider.Result, error) {
	return provider.Result{}, h.ApplyBatch(ctx, []provider.BatchChange{{Context: ctx, Change: change, Resource: r}})[0].Err
}

// ApplyBatch implements provider.BatchApplier.
func (h handler) ApplyBatch(ctx context.Context, items []provider.BatchChange) []provider.Applied {
	return fs.ApplyTogether(ctx, h.editor, items, fileOf, fs.AnyFile(), func(item provider.BatchChange, t fs.Text) (fs.Text, error) {
		w, err := wantedOf(item.Resource)
		if err != nil {
			return t, err
		}
		return w.changed(item.Change, t), nil
	})
}

// List implements provider.Lister: the names in /etc/hosts. A name whose lines differ in aliases or comment is listed without these.
func (h handler) List(ctx *provider.Context, found func(provider.Found) error) error {
	path := usualFile
	if h.listed != "" {
		path = h.listed
	}
	text, err := h.editor.Read(ctx, path)
	if err != nil {
		return err
	}
	ls := fs.LinesOf(text.Bytes)
	of := map[string][]entry{}
	var names []string
	for i := range ls.Len() {
		e, ok := parse(ls.At(i))
		if !ok {
			continue
		}
		key := strings.ToLower(e.name)
		if of[key] == nil {
			names = append(names, key)
		}
		of[key] = append(of[key], e)
	}
	for _, name := range names {
		if err := found(provider.Found{Attributes: listed(path, of[name])}); err != nil {
			return err
		}
	}
	return nil
}

// listed describes the lines of one name.
func listed(path string, entries []entry) map[string]any {
	first := entries[0]
	attrs := map[string]any{"name": first.name, "file": path}
	var ips []string
	same := true
	for _, e := range entries {
		ips = append(ips, e.ip.String())
		same = same && e.comment == first.comment && slices.Equal(e.aliases, first.aliases)
	}
	attrs["ip"] = values(ips)
	if len(ips) == 1 {
		attrs["ip"] = ips[0]
	}
	if same && len(first.aliases) > 0 {
		attrs["aliases"] = values(first.aliases)
	}
	if same && first.comment != "" {
		attrs["comment"] = strings.ToValidUTF8(first.comment, "?")
	}
	return attrs
}
