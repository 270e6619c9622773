package planner

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Since describes the previous model of an export: see docs/design/export.md.
type Since struct {
	// Fingerprint is the fingerprint of the previous model. Export.Model holds only the resources
	// that have changed. All of them were in the previous model with the same id, set, purged and
	// documented requires, and nothing else has changed.
	Fingerprint string
	// Files are the hashes of the files that the previous model referred to, sorted. Model.Files
	// has all files that the whole model refers to now.
	Files []string
}

// ErrWhole means that an export with Since was declined and has changed nothing: the whole model
// has to be exported.
var ErrWhole = errors.New("the whole model has to be exported")

// exportSince is Export with Since. It declines if a change may affect other resources, and if
// there is a problem, which an export of the whole model reports.
func (pl *Planner) exportSince(
	ctx context.Context,
	env string,
	x Export,
) (out Exported, err error) {
	mending, err := pl.mustMend(ctx, env)
	if err != nil {
		return out, err
	}
	x.Model = x.Model.Clone()
	if mending || !pl.changesAlone(x) {
		return Exported{}, ErrWhole
	}
	uploaded, err := pl.upload(ctx, env, x.Model)
	if err != nil {
		return out, err
	}
	err = pl.plan(ctx, env, func(p *planning) (err error) {
		out, err = (&exporting{planning: p}).export(ctx, x)
		return err
	})
	if state.Unreadable(err) {
		return Exported{}, ErrWhole
	}
	out.FilesUploaded = uploaded
	return out, err
}

// changesAlone completes the changed resources. It reports whether they have no problem and
// generate no resource, as far as that can be decided without the previous version.
func (pl *Config) changesAlone(x Export) bool {
	whole := !x.Partial && !x.NoRelease && len(x.DeleteSets) == 0 && x.Target.Empty() &&
		x.Expect == ""
	n := len(x.Model.Resources)
	if !whole || x.Since.Fingerprint == "" || len(pl.Checker.Complete(x.Model)) > 0 ||
		len(x.Model.Resources) != n {
		return false
	}
	for i := range x.Model.Resources {
		r := &x.Model.Resources[i]
		if _, more := provider.As[provider.Generator](pl.Handlers[r.Type]); more || !known(r) {
			return false
		}
	}
	return true
}

// known reports whether the intent of a resource refers to no parameter, fact or secret.
func known(r *resource.Resource) bool {
	for _, v := range r.Attributes {
		for _, ref := range resource.References(v) {
			if _, is := ref.(resource.File); !is {
				return false
			}
		}
	}
	return true
}

// delta is the difference of a version to the previous one, if no agent differs.
type delta struct {
	before map[resource.ID]version.Entry
	after  []version.Entry
	put    []version.Node // nodes that are added to the graph, or replace a node of it
	gone   []resource.ID  // nodes that leave the graph
	edited []resource.ID  // resources whose requirements in the graph may have changed
}

// graph returns the graph after the delta, given the previous one and its name; nil: it is
// unchanged.
func (d *delta) graph(g *version.Graph, name string) *version.Graph {
	if len(d.put)+len(d.gone) == 0 {
		return nil
	}
	return g.Edit(name, d.gone, d.put)
}

// nextSince builds the version that results from last by the changes of x.
func (p *exporting) nextSince(ctx context.Context, x Export, last state.Version) (next, error) {
	inForce := p.env.Released == last.Number && p.env.Releasing == 0 && p.env.Base == 0
	if last.Number == 0 || !inForce || p.env.Fingerprint != x.Since.Fingerprint ||
		!slices.Equal(last.Files, x.Since.Files) {
		return next{}, ErrWhole
	}
	owned, err := p.pl.ownedOf(ctx, p.env.Name, setsOf(x.Model.Resources))
	if err != nil || len(owned) > 0 {
		return next{}, cmp.Or(err, ErrWhole)
	}
	if g, err := p.inForce(ctx); err != nil || slices.Contains(g.Removing, true) {
		return next{}, cmp.Or(err, ErrWhole)
	}
	texts, err := version.ReadTexts(ctx, p.pl.Files, last.Chunks)
	if err != nil {
		return next{}, err
	}
	if x.Settings != nil {
		p.env.Settings = *x.Settings
	}
	c := changer{pl: p.pl, texts: texts, hashes: last.Chunks, agents: map[string]resource.Agent{},
		read: map[int][]version.Entry{}, changed: map[int]bool{},
		delta: &delta{before: map[resource.ID]version.Entry{}}}
	for _, a := range last.Agents {
		c.agents[a.Name] = a
	}
	for i := range x.Model.Resources {
		if err := c.change(&x.Model.Resources[i]); err != nil {
			return next{}, err
		}
	}
	return p.nextOf(x, last, &c), nil
}

// nextOf builds the version of changed chunks.
func (p *exporting) nextOf(x Export, last state.Version, c *changer) next {
	v := last
	v.Number, v.At, v.Pack, v.Base, v.Origin = p.env.Last+1, p.pl.Clock.Now(), p.pl.Pack, 0,
		x.Origin
	v.Chunks = slices.Clone(last.Chunks)
	v.Files = slices.Sorted(maps.Keys(x.Model.Files))
	var blobs []state.Blob
	for _, b := range slices.Sorted(maps.Keys(c.changed)) {
		c.texts[b] = version.ChunkText(c.read[b])
		blob := version.ChunkFile(c.texts[b])
		v.Chunks[b], blobs = blob.Hash, append(blobs, blob)
	}
	v.Digest = version.Digest(version.ContentDigest(c.texts), v.Agents)
	out := next{
		version: v,
		last:    last,
		fresh:   v.Digest != last.Digest,
		blobs:   blobs,
		delta:   c.delta,
	}
	if !out.fresh {
		out.version = last
	}
	return out
}

// changer puts changed resources into the chunks of a version.
type changer struct {
	pl      *Planner
	texts   [][]byte // of the chunks
	hashes  []string
	agents  map[string]resource.Agent
	read    map[int][]version.Entry // chunks that were read
	changed map[int]bool            // chunks that have changed
	delta   *delta
}

// entry returns the entry of a resource, and the number of its chunk; nil: there is none.
func (c *changer) entry(id resource.ID) (*version.Entry, int, error) {
	b := version.ChunkOf(id, len(c.texts))
	if c.read[b] == nil {
		entries, err := version.ParseChunk(c.texts[b], c.hashes[b])
		if err != nil {
			return nil, b, err
		}
		c.read[b] = entries
	}
	for i := range c.read[b] {
		if en := &c.read[b][i]; en.ID == id {
			return en, b, nil
		}
	}
	return nil, b, nil
}

// change replaces the entry of a resource.
func (c *changer) change(now *resource.Resource) error {
	en, b, err := c.entry(now.ID)
	if err != nil || en == nil {
		return cmp.Or(err, ErrWhole)
	}
	was, err := resource.Decode(en.Body)
	if err != nil {
		return version.DamagedChunk(c.hashes[b])
	}
	agent, known := c.agents[now.Agent]
	if !known || !c.sameEdges(was, now) {
		return ErrWhole
	}
	now.Requires, now.Subscriptions, now.Subscribed = was.Requires, was.Subscriptions,
		was.Subscribed
	entry, err := version.NewEntry(now, agent)
	if err != nil {
		return ErrWhole
	}
	if !entry.Same(en) {
		c.delta.before[en.ID] = *en
		c.delta.after = append(c.delta.after, entry)
		c.changed[b] = true
		*en = entry
	}
	return nil
}

// sameEdges reports whether two descriptions of a resource have the same meaning for all other
// resources: they manage the same thing, keep the same paths and have the same relations by their
// type.
func (c *changer) sameEdges(was, now *resource.Resource) bool {
	return was.Type == now.Type && was.Agent == now.Agent && was.Set == now.Set &&
		was.Purged == now.Purged && !c.pl.Checker.Gathers(was) && !c.pl.Checker.Gathers(now) &&
		c.pl.Checker.MeansTheSame(was, now)
}
