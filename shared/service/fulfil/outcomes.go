package fulfil

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// outcomes reads the outcomes of the resources of instances.
type outcomes struct {
	*Config
	memory *memory
}

// of returns the outcome of the resources of an instance and of those that it follows.
func (o *outcomes) of(
	rec *inventory.Record, rows map[resource.ID]*state.Row,
) lifecycle.Outcome {
	return outcome(o.memory.sets[rec.ID], idsOf(rec.Follows), rows)
}

// outcome combines the outcomes of the own and the followed resources of an instance. The result is
// pending if any of them is in progress, else failed if any of them failed.
func outcome(own, followed []resource.ID, rows map[resource.ID]*state.Row) lifecycle.Outcome {
	failed := false
	for i, id := range slices.Concat(own, followed) {
		row := rows[id]
		if i >= len(own) && (row == nil || row.Orphaned) {
			continue // it is no longer wanted
		}
		if row == nil {
			failed = true // the resource has left the model
			continue
		}
		switch status := row.Status(); {
		case status == state.StatusDeployed, status == state.StatusNonCompliant:
		case row.Ticket() != 0, status == state.StatusAvailable, status == state.StatusDeploying:
			return lifecycle.Pending
		default:
			failed = true
		}
	}
	if failed {
		return lifecycle.Failed
	}
	return lifecycle.Deployed
}

// resources returns the resources of an instance. If the record does not name them, it scans for
// the resources of all instances.
func (o *outcomes) resources(
	ctx context.Context, rec *inventory.Record,
) ([]resource.ID, error) {
	id := rec.ID
	if rec.Resources != nil { // another worker may have exported them
		o.memory.sets[id] = idsOf(rec.Resources)
		return o.memory.sets[id], nil
	}
	if ids, ok := o.memory.sets[id]; ok {
		return ids, nil
	}
	found := map[string][]resource.ID{}
	if err := o.scan(ctx, func(row *state.Row) bool { return !row.Orphaned },
		func(row *state.Row, set string) { found[set] = append(found[set], row.ID) }); err != nil {
		return nil, err
	}
	for set, ids := range found {
		if _, ok := o.memory.sets[set]; !ok {
			o.memory.sets[set] = ids
		}
	}
	if _, ok := o.memory.sets[id]; !ok {
		o.memory.sets[id] = nil
	}
	return o.memory.sets[id], nil
}

func idsOf(names []string) []resource.ID {
	out := make([]resource.ID, len(names))
	for i, name := range names {
		out[i] = resource.ID(name)
	}
	return out
}

// page is the number of rows that are read in one call.
const page = 5000

// scan calls f for each resource whose row is wanted, with its set or "". The rows include
// resources that have left the model.
func (o *outcomes) scan(
	ctx context.Context, wanted func(row *state.Row) bool, f func(row *state.Row, set string),
) error {
	after := resource.ID("")
	for {
		rows, err := o.Engine.State.ScanRows(ctx, o.Env, after, page)
		if err != nil || len(rows) == 0 {
			return err
		}
		for i := range rows {
			if !wanted(&rows[i]) {
				continue
			}
			res, err := resource.Decode(rows[i].Body)
			if err == nil {
				f(&rows[i], res.Set)
			}
		}
		after = rows[len(rows)-1].ID
	}
}

// each calls f for resources in the model, with the set of each or "".
func (o *outcomes) each(
	ctx context.Context, ids []resource.ID, f func(row *state.Row, set string),
) error {
	for some := range slices.Chunk(distinct(ids), page) {
		rows, err := o.Engine.State.Rows(ctx, o.Env, some)
		if err != nil {
			return err
		}
		for i := range rows {
			if res, err := resource.Decode(rows[i].Body); err == nil && !rows[i].Orphaned {
				f(&rows[i], res.Set)
			}
		}
	}
	return nil
}

// rowsOf returns the rows of the own and followed resources of instances.
func (o *outcomes) rowsOf(
	ctx context.Context, of []*inventory.Record,
) (map[resource.ID]*state.Row, error) {
	var ids []resource.ID
	for i := range of {
		some, err := o.resources(ctx, of[i])
		if err != nil {
			return nil, err
		}
		ids = append(ids, some...)
		ids = append(ids, idsOf(of[i].Follows)...)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return o.rowsByID(ctx, ids)
}

// rowsByID returns the rows of resources.
func (o *outcomes) rowsByID(
	ctx context.Context, ids []resource.ID,
) (map[resource.ID]*state.Row, error) {
	rows, err := o.Engine.State.Rows(ctx, o.Env, distinct(ids))
	byID := make(map[resource.ID]*state.Row, len(rows))
	for i := range rows {
		byID[rows[i].ID] = &rows[i]
	}
	return byID, err
}
