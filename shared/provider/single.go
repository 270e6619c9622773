package provider

import "southbound/shared/diff"

// A handler that works in batches gets its calls for one thing from this file: each is a batch of
// one.

// ReadOne implements Handler.Read for a handler that reads batches.
func ReadOne(ctx *Context, b BatchReader, req ReadRequest) (Observation, error) {
	out := b.ReadBatch(ctx, []BatchRead{{Context: ctx, ReadRequest: req}})
	return out[0].Observation, out[0].Err
}

// CreateOne implements Handler.Create for a handler that applies batches.
func CreateOne(ctx *Context, b BatchApplier, req CreateRequest) (Result, error) {
	return applyOne(ctx, b, BatchChange{Change: diff.Created, Resource: req.Resource,
		Observed: Observation{Carried: req.Carried}, Token: req.Token})
}

// UpdateOne implements Handler.Update for a handler that applies batches.
func UpdateOne(ctx *Context, b BatchApplier, req UpdateRequest) (Result, error) {
	return applyOne(ctx, b, BatchChange{Change: diff.Updated, Resource: req.Resource,
		Observed: req.Observed, Changes: req.Changes})
}

// DeleteOne implements Handler.Delete for a handler that applies batches.
func DeleteOne(ctx *Context, b BatchApplier, req DeleteRequest) (Result, error) {
	return applyOne(ctx, b, BatchChange{Change: diff.Purged, Resource: req.Resource,
		Observed: req.Observed})
}

func applyOne(ctx *Context, b BatchApplier, item BatchChange) (Result, error) {
	item.Context = ctx
	out := b.ApplyBatch(ctx, []BatchChange{item})
	return out[0].Result, out[0].Err
}
