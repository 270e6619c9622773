package net

import (
	"context"

	"southbound/handlers/fs"
	"southbound/shared/plan"
	"southbound/shared/provider"
)

type handler struct{ editor fs.Editor }

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
