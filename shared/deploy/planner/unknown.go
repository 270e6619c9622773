package planner

import (
	"context"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// A version holds a reference to a parameter or a fact if its value was unknown when the version
// was stored. A resource that refers to an unknown value is undefined, whatever it was before. If
// the value became known later, the row has it, and the version still does not. If the value is
// forgotten again, the row keeps it until the next export.

// lost returns the resources of entries that refer to an unknown value while their rows have a
// value for it. The value became known after the same entry was released earlier, and has been
// forgotten since. No other part of these resources needs to have changed.
func (p *releasing) lost(
	ctx context.Context,
	entries []version.Entry,
) (map[resource.ID]bool, error) {
	if p.env.Released == 0 {
		return nil, nil
	}
	var ids []resource.ID
	for i := range entries {
		if en := &entries[i]; en.HasReferences() {
			ids = append(ids, en.ID)
		}
	}
	rows, err := p.load(ctx, ids)
	if err != nil {
		return nil, err
	}
	lost := map[resource.ID]bool{}
	for i := range entries {
		row := rows[entries[i].ID]
		if row == nil || row.Undefined() || row.Orphaned || row.Removing {
			continue
		}
		res, err := resource.Decode(entries[i].Body)
		if err != nil {
			return nil, fault.Wrap(fault.Damaged, "read version", err)
		}
		if len(model.Missing(res.Attributes)) > 0 {
			lost[row.ID] = true
		}
	}
	return lost, nil
}

// resolve puts known values into the entries to be released. Entries that stay get the values of
// their rows.
func (r *releaser) resolve(ctx context.Context) error {
	agents := make(map[string]resource.Agent, len(r.v.Agents))
	for _, a := range r.v.Agents {
		agents[a.Name] = a
	}
	var open []*resource.Resource
	at := map[resource.ID]*version.Entry{}
	var refs []any
	for i := range r.after {
		en := &r.after[i]
		if !en.HasReferences() {
			continue
		}
		res, err := resource.Decode(en.Body)
		if err != nil {
			return fault.Wrap(fault.Damaged, "read version", err)
		}
		if len(model.Missing(res.Attributes)) == 0 {
			continue
		}
		if had, err := r.valuesOf(en); err != nil {
			return err
		} else if had != nil {
			res.Attributes = had
			if *en, err = version.NewEntry(res, agents[res.Agent]); err != nil {
				return fault.Wrap(fault.Internal, "encode resource "+string(res.ID), err)
			}
			continue
		}
		refs = append(refs, resource.References(res.Attributes)...)
		open, at[res.ID] = append(open, res), en
	}
	if len(open) == 0 {
		return nil
	}
	known, err := r.p.lookup(ctx, refs)
	if err != nil {
		return err
	}
	if len(known.known) == 0 {
		return nil
	}
	for _, res := range open {
		attrs, problems := r.p.pl.resolveAttributes(ctx, res, known)
		if len(problems) > 0 {
			continue // it stays undefined until a value fits
		}
		res.Attributes = attrs
		en, err := version.NewEntry(res, agents[res.Agent])
		if err != nil {
			return fault.Wrap(fault.Internal, "encode resource "+string(res.ID), err)
		}
		*at[res.ID] = en
	}
	return nil
}

// valuesOf returns the attributes of a resource that stays as its row has them, with values where
// the version has references. It returns nil if the resource does not stay, or its row has no
// values.
func (r *releaser) valuesOf(en *version.Entry) (map[string]any, error) {
	row := r.rows[en.ID]
	was, differs := r.before[en.ID] // if it does not differ, it only moves to another lane
	if !r.stays[en.ID] || differs && was.Hash != en.Hash || row == nil ||
		row.Undefined() || row.Orphaned || row.Removing || row.Damaged() {
		return nil, nil
	}
	res, err := resource.Decode(row.Body)
	if err != nil {
		return nil, fault.Wrap(fault.Damaged, "read resource "+string(row.ID), err)
	}
	return res.Attributes, nil
}
