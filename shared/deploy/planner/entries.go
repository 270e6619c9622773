package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// The entries of a stored version: a release and a dry run give them the values that are known now.
//
// A version holds a reference to a parameter if its value was unknown when the version was stored, and
// every reference to a fact or a secret output: see docs/design/facts.md. A resource that refers to an
// unknown value is undefined, also if it was deployed before. If the value became known later, the row
// has it, and the version still does not. If the value is forgotten again, the row keeps it until the
// next export.

// resolvedEntry is an entry of a version that refers to values, with the values that are known now.
type resolvedEntry struct {
	version.Entry
	at    int  // its index among the entries of the version
	lacks bool // it refers to a value that is still unknown
	// misfit is the reason why the values of facts do not let the resource run; then Entry has none of
	// them. "" means that they fit.
	misfit string
}

// resolveEntries returns the wanted entries that refer to values, with the values that are known now.
// Secrets keep the versions that they have.
func (p *resolver) resolveEntries(
	ctx context.Context, entries []version.Entry, agents []resource.Agent,
	want func(resource.ID) bool,
) ([]resolvedEntry, error) {
	var open []*resource.Resource
	var out []resolvedEntry
	var refs []any
	for i := range entries {
		en := &entries[i]
		if !en.HasReferences() || !want(en.ID) {
			continue
		}
		res, err := resource.Decode(en.Body)
		if err != nil {
			return nil, fault.Wrap(fault.Damaged, "read version", err)
		}
		if len(model.Missing(res.Attributes)) > 0 {
			open, out = append(open, res), append(out, resolvedEntry{Entry: *en, at: i, lacks: true})
			refs = append(refs, resource.References(res.Attributes)...)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	known, err := p.lookup(ctx, refs)
	purges := slices.ContainsFunc(open, func(r *resource.Resource) bool { return r.Purged })
	if err != nil || known.none() && !purges {
		return out, err
	}
	known.pinned = true
	byName := agentsByName(agents)
	for i, res := range open {
		now, misfit := p.pl.resolveResource(ctx, res, known)
		if out[i].misfit = misfit; misfit != "" {
			if now, misfit = p.pl.resolveResource(ctx, res, known.withoutFacts()); misfit != "" {
				continue
			}
		}
		out[i].lacks = len(model.Missing(now.Attributes)) > 0
		if out[i].Entry, err = version.NewEntry(now, byName[now.Agent]); err != nil {
			return nil, fault.Wrap(fault.Internal, "encode resource "+string(res.ID), err)
		}
	}
	return out, nil
}

// WithValues returns the entries of a version with the values of parameters and facts that are known
// now. misfits has the reasons of the resources whose facts do not fit; these keep references to facts.
func (pl *Planner) WithValues(
	ctx context.Context, env string, entries []version.Entry, agents []resource.Agent,
) (out []version.Entry, misfits map[resource.ID]string, err error) {
	stored := resolver{pl, func(ctx context.Context, refs []any) (*values, error) {
		return pl.readValues(ctx, env, refs)
	}}
	valued, err := stored.resolveEntries(ctx, entries, agents,
		func(resource.ID) bool { return true })
	out, misfits = slices.Clone(entries), map[resource.ID]string{}
	for i := range valued {
		en := &valued[i]
		if out[en.at] = en.Entry; en.misfit != "" {
			misfits[en.ID] = en.misfit
		}
	}
	return out, misfits, err
}

// lostValues returns the resources of entries whose rows have another intent than the entry has with the
// values that are known now: a value was forgotten, or a change of a fact was not followed. An undefined row may have some of its
// values. No other part of these resources needs to have changed.
func lostValues(
	ctx context.Context,
	p *planning,
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
	valued, err := p.resolver().resolveEntries(ctx, entries, agents,
		func(id resource.ID) bool { return hasIntent(rows[id]) })
	lost := map[resource.ID]bool{}
	for i := range valued {
		en := &valued[i]
		row := rows[en.ID]
		if (en.misfit != "" || en.lacks) && !row.Undefined() || en.Hash != row.Hash {
			lost[en.ID] = true
		}
	}
	return lost, err
}

// resolveValues puts known values into the entries to be released. Entries that stay get the values of
// their rows.
func (r *releaser) resolveValues(ctx context.Context) error {
	agents := agentsByName(r.v.Agents)
	for i := range r.after {
		if err := r.keepRowValues(&r.after[i], agents); err != nil {
			return err
		}
	}
	valued, err := r.p.resolver().resolveEntries(ctx, r.after, r.v.Agents, func(id resource.ID) bool {
		_, has := r.written[id]
		return !has
	})
	for i := range valued {
		en := &valued[i]
		if en.misfit != "" {
			r.misfits[en.ID] = en.misfit // it stays undefined until a value fits
		}
		r.written[en.ID], r.after[en.at] = r.after[en.at].Hash, en.Entry
	}
	return err
}

// keepRowValues gives an entry that stays the values of its row, where the version has references. So does
// a purged resource whose description is the same: its facts may be gone with the purge.
func (r *releaser) keepRowValues(en *version.Entry, agents map[string]resource.Agent) error {
	row := r.rows[en.ID]
	if !en.HasReferences() || !hasIntent(row) || row.Undefined() {
		return nil
	}
	res, err := resource.Decode(en.Body)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read version", err)
	}
	was, differs := r.before[en.ID]
	stays := r.stays[en.ID] && (!differs || was.Hash == en.Hash)
	if !stays && res.Purged {
		written, err := writtenOf(row, agents)
		if err != nil {
			return err
		}
		stays = written.Hash == en.Hash
	}
	if !stays {
		return nil
	}
	if !lacksValues(res) {
		return nil
	}
	had, err := resource.Decode(row.Body)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read resource "+string(row.ID), err)
	}
	res.Attributes, res.Followed = had.Attributes, had.Followed
	r.written[res.ID] = en.Hash
	*en, err = version.NewEntry(res, agents[res.Agent])
	return fault.Wrap(fault.Internal, "encode resource "+string(res.ID), err)
}
