package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// wake schedules skipped rows that are not planned otherwise and no longer wait for a resource that
// they waited for. A row can stop waiting without a change of its own: its requirement leaves the
// model, or an edge is reversed because of resources that must not exist.
func (r *releaser) wake(ctx context.Context, old, now *version.Graph) error {
	ids := slices.Clone(r.skipped)
	var rewired []resource.ID
	if r.delta == nil {
		rewired = version.Rewired(old, now)
	} else {
		rewired = version.RewiredOf(old, now, r.edited)
	}
	for _, id := range rewired {
		for _, q := range old.Requires(old.Node(id)) {
			if !now.DirectlyRequires(id, old.IDs[q]) {
				ids = append(ids, id)
				break
			}
		}
	}
	ids = slices.DeleteFunc(ids, func(id resource.ID) bool { return r.p.rows[id] != nil })
	slices.Sort(ids)
	ids = slices.Compact(ids)
	rows, err := r.p.load(ctx, ids)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		if err := r.wave.read(ctx); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		r.p.set(rows[id], func(row *state.Row) bool {
			e := step.RequirementEnded{}
			if r.wave.asks(row) {
				e.Asked = r.wave.schedule.Wave.Priority
			}
			return r.p.change(row, e)
		})
	}
	return nil
}

// findNewReceivers finds unchanged resources with a new requirement or subscription that sends
// events and is already scheduled. The new requirement may be changing now, by a run that does not
// know of this resource.
func (r *releaser) findNewReceivers(ctx context.Context) error {
	fresh, senders := map[resource.ID][]resource.ID{}, map[resource.ID]*resource.Resource{}
	var ids []resource.ID
	for i := range r.after {
		en := &r.after[i]
		row := r.rows[en.ID]
		if row == nil || row.Hash != en.Hash || row.Orphaned || row.Removing || row.Damaged() ||
			string(row.Body) == string(en.Body) {
			continue
		}
		was, err := resource.Decode(row.Body)
		if err != nil {
			return fault.Wrap(fault.Damaged, "read resource "+string(row.ID), err)
		}
		now, err := resource.Decode(en.Body)
		if err != nil {
			return fault.Wrap(fault.Damaged, "read version", err)
		}
		for _, id := range now.Requires {
			newly := !slices.Contains(was.Requires, id) ||
				slices.Contains(now.Subscriptions, id) && !slices.Contains(was.Subscriptions, id)
			if newly && now.ReceiveEvents {
				fresh[en.ID], senders[en.ID] = append(fresh[en.ID], id), now
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return r.findPendingEvents(ctx, fresh, senders, ids)
}

// findPendingEvents records the resources with fresh requirements that may owe a reload; ids are all
// of these requirements.
func (r *releaser) findPendingEvents(
	ctx context.Context,
	fresh map[resource.ID][]resource.ID,
	now map[resource.ID]*resource.Resource,
	ids []resource.ID,
) error {
	if err := r.wave.read(ctx); err != nil {
		return err
	}
	slices.Sort(ids)
	rows, err := r.p.load(ctx, slices.Compact(ids))
	if err != nil {
		return err
	}
	after := map[resource.ID]*version.Entry{}
	for i := range r.after {
		after[r.after[i].ID] = &r.after[i]
	}
	r.owesReload = map[resource.ID]bool{}
	for id, reqs := range fresh {
		r.owesReload[id] = slices.ContainsFunc(reqs, func(q resource.ID) bool {
			row := rows[q]
			if row == nil || row.Ticket() == 0 && !r.wave.asks(row) {
				return false // when it runs, its dependants are known
			}
			if en := after[q]; en != nil {
				then := &state.Row{Intent: state.Intent{Body: en.Body}}
				if then.SendsEventsTo(now[id]) {
					return true
				}
			}
			return row.SendsEventsTo(now[id])
		})
	}
	return nil
}
