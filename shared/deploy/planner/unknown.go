package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// A version holds a reference to a parameter if its value was unknown when the version was stored, and
// every reference to a fact or a secret output: see docs/design/facts.md. A resource that refers to an
// unknown value is undefined, also if it was deployed before. If the value became known later, the row
// has it, and the version still does not. If the value is forgotten again, the row keeps it until the
// next export.

// lost returns the resources of entries whose rows have another intent than the entry has with the
// values that are known now: a value was forgotten, or a change of a fact was not followed. No other
// part of these resources needs to have changed.
func (p *releasing) lost(
	ctx context.Context,
	entries []version.Entry,
	agents []resource.Agent,
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
	var open []*resource.Resource
	var refs []any
	for i := range entries {
		row := rows[entries[i].ID]
		if row == nil || row.Undefined() || row.Orphaned || row.Removing || row.Damaged() {
			continue
		}
		res, err := resource.Decode(entries[i].Body)
		if err != nil {
			return nil, fault.Wrap(fault.Damaged, "read version", err)
		}
		if len(model.Missing(res.Attributes)) > 0 {
			open, refs = append(open, res), append(refs, resource.References(res.Attributes)...)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	known, err := p.lookup(ctx, refs)
	if err != nil {
		return nil, err
	}
	known.pinned = true
	lost, byName := map[resource.ID]bool{}, agentsByName(agents)
	for _, res := range open {
		now, misfit := p.pl.valued(ctx, res, known)
		if misfit != "" {
			lost[res.ID] = true
			continue
		}
		en, err := version.NewEntry(now, byName[now.Agent])
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "encode resource "+string(res.ID), err)
		}
		if len(model.Missing(now.Attributes)) > 0 || en.Hash != rows[res.ID].Hash {
			lost[res.ID] = true
		}
	}
	return lost, nil
}

func agentsByName(agents []resource.Agent) map[string]resource.Agent {
	out := make(map[string]resource.Agent, len(agents))
	for _, a := range agents {
		out[a.Name] = a
	}
	return out
}

// writtenOf returns the entry that a version has of the resource of a row: with references to facts
// instead of their values.
func writtenOf(row *state.Row, agents map[string]resource.Agent) (version.Entry, error) {
	if !row.Follows() {
		return version.Entry{ID: row.ID, Hash: row.Hash, Body: row.Body}, nil
	}
	res, err := resource.Decode(row.Body)
	if err != nil {
		return version.Entry{}, fault.Wrap(fault.Damaged, "read resource "+string(row.ID), err)
	}
	en, err := version.NewEntry(res.Written(), agents[res.Agent])
	return en, fault.Wrap(fault.Internal, "encode resource "+string(row.ID), err)
}

// resolve puts known values into the entries to be released. Entries that stay get the values of
// their rows.
func (r *releaser) resolve(ctx context.Context) error {
	agents := agentsByName(r.v.Agents)
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
			res.Attributes, res.Followed = had.Attributes, had.Followed
			r.written[res.ID] = en.Hash
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
	known.pinned = true
	if known.none() {
		return nil
	}
	for _, res := range open {
		now, misfit := r.p.pl.valued(ctx, res, known)
		if misfit != "" {
			r.misfits[res.ID] = misfit // it stays undefined until a value fits
			continue
		}
		en, err := version.NewEntry(now, agents[res.Agent])
		if err != nil {
			return fault.Wrap(fault.Internal, "encode resource "+string(res.ID), err)
		}
		r.written[res.ID] = at[res.ID].Hash
		*at[res.ID] = en
	}
	return nil
}

// valuesOf returns a resource that stays as its row has it, with values where the version has
// references. It returns nil if the resource does not stay, or its row has no values.
func (r *releaser) valuesOf(en *version.Entry) (*resource.Resource, error) {
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
	return res, nil
}

// WithValues returns the entries of a version with the values of parameters and facts that are known
// now. misfits has the reasons of the resources whose values do not fit; these keep their references.
func (pl *Planner) WithValues(
	ctx context.Context, env string, entries []version.Entry, agents []resource.Agent,
) (out []version.Entry, misfits map[resource.ID]string, err error) {
	var open []*resource.Resource
	var at []int
	var refs []any
	for i := range entries {
		if !entries[i].HasReferences() {
			continue
		}
		res, err := resource.Decode(entries[i].Body)
		if err != nil {
			return nil, nil, fault.Wrap(fault.Damaged, "read version", err)
		}
		if len(model.Missing(res.Attributes)) > 0 {
			open, at = append(open, res), append(at, i)
			refs = append(refs, resource.References(res.Attributes)...)
		}
	}
	if len(open) == 0 {
		return entries, nil, nil
	}
	known, err := pl.lookup(ctx, env, refs)
	if err != nil {
		return nil, nil, err
	}
	known.pinned = true
	out, misfits = slices.Clone(entries), map[resource.ID]string{}
	byName := agentsByName(agents)
	for i, res := range open {
		now, misfit := pl.valued(ctx, res, known)
		if misfit != "" {
			misfits[res.ID] = misfit
			continue
		}
		if out[at[i]], err = version.NewEntry(now, byName[now.Agent]); err != nil {
			return nil, nil, fault.Wrap(fault.Internal, "encode resource "+string(res.ID), err)
		}
	}
	return out, misfits, nil
}
