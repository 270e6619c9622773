package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// releaser plans the changes of rows from one version to another.
type releaser struct {
	p *planning
	difference
	interrupted

	decoded []*resource.Resource       // the resources of all
	rows    map[resource.ID]*state.Row // the rows that may change
	index   map[resource.ID]bool       // the ids of after
	same    bool                       // the graph in force stays
	written map[resource.ID]string     // hashes of entries of after that have got values
	misfits map[resource.ID]string     // why values of entries of after do not fit
	// with a delta: the resources whose requirements in the graph may have changed
	edited []resource.ID
	wave   waveProgress
	// resources that may owe a reload for new requirements: see findNewReceivers
	owesReload map[resource.ID]bool
	released   changeCounts
}

// difference is the version to release, and the entries that may differ from the version in force.
type difference struct {
	v      state.Version
	agents []resource.Agent              // agents in force; nil: unknown
	before map[resource.ID]version.Entry // entries of the version in force that may differ
	after  []version.Entry               // entries of v that may differ
	all    []version.Entry               // the whole of v
	delta  *delta                        // of a bounded edit; then all is unknown
	// entries of after that are unchanged, but for requirements
	stays map[resource.ID]bool
}

// interrupted is the work that an interrupted release may have left, since its progress is unknown.
type interrupted struct {
	removing []resource.ID        // rows to purge; the graph in force lacks those that have moved
	skipped  []resource.ID        // rows that may no longer have to be skipped
	blocked  []resource.ID        // undefined or blocked rows, whose dependants may be outdated
	unasked  map[resource.ID]bool // resources whose facts may not have been requested
}

// newReleaser returns a releaser for a difference.
func newReleaser(p *planning, d difference) *releaser {
	return &releaser{p: p, difference: d, wave: waveProgress{p: p},
		written: map[resource.ID]string{}, misfits: map[resource.ID]string{}}
}

// plan plans the rows, the graph and all other changes of the release.
func (r *releaser) plan(ctx context.Context) (changeCounts, error) {
	p := r.p
	if !state.SameAgents(r.agents, r.v.Agents) || !sameDescribed(r.agents, r.v.Agents) {
		p.store.agents = r.v.Agents
	}
	differ := len(r.after)
	if err := r.load(ctx); err != nil {
		return changeCounts{}, err
	}
	if err := (&mover{r}).findMoves(ctx); err != nil {
		return changeCounts{}, err
	}
	if err := r.resolveValues(ctx); err != nil {
		return changeCounts{}, err
	}
	if err := r.findNewReceivers(ctx); err != nil {
		return changeCounts{}, err
	}
	graph, err := r.graph(ctx)
	if err != nil {
		return changeCounts{}, err
	}
	p.graph = graph
	for i := range r.after {
		if err := r.planEntry(&r.after[i], i < differ); err != nil {
			return changeCounts{}, err
		}
	}
	r.remove(graph)
	if err := r.checkPurges(ctx); err != nil {
		return changeCounts{}, err
	}
	old, err := p.inForce(ctx)
	if err != nil {
		return changeCounts{}, err
	}
	if err := r.wake(ctx, old, graph); err != nil {
		return changeCounts{}, err
	}
	if err := requestFacts(ctx, p, r.unasked); err != nil {
		return changeCounts{}, err
	}
	if err := p.spreadBlocks(ctx, graph, r.blocked); err != nil {
		return changeCounts{}, err
	}
	p.orderBy(graph)
	return r.released, r.begin(ctx)
}

// load reads the rows that may change.
func (r *releaser) load(ctx context.Context) error {
	r.index = make(map[resource.ID]bool, len(r.after))
	if r.p.env.Released == 0 && r.p.env.Releasing == 0 {
		r.rows = map[resource.ID]*state.Row{} // the first version: there are no rows
		for i := range r.after {
			r.index[r.after[i].ID] = true
		}
		return nil
	}
	var ids []resource.ID
	for i := range r.after {
		r.index[r.after[i].ID] = true
		ids = append(ids, r.after[i].ID)
	}
	for id := range r.before {
		if !r.index[id] {
			ids = append(ids, id)
		}
	}
	ids = append(ids, r.removing...)
	slices.Sort(ids)
	var err error
	r.rows, err = r.p.load(ctx, slices.Compact(ids))
	return err
}

// missingOf returns the unknown values of a resource. Most resources have no references, which is
// visible in their bodies without decoding them.
func missingOf(en *version.Entry) ([]string, error) {
	if !en.HasReferences() {
		return nil, nil
	}
	res, err := resource.Decode(en.Body)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "read resource", err)
	}
	return model.Missing(res.Attributes), nil
}

// planEntry plans one resource of the new version. A resource that is not fresh has not changed.
func (r *releaser) planEntry(en *version.Entry, fresh bool) error {
	missing, err := missingOf(en)
	if err != nil {
		return err
	}
	row := r.rows[en.ID]
	if row == nil {
		row = &state.Row{ID: en.ID}
	}
	old, had := r.before[en.ID]
	if fresh && (!had || old.Hash != en.Hash && old.Hash != r.written[en.ID]) {
		r.released.changed++
	}
	r.p.whole[en.ID] = true
	r.p.set(row, func(row *state.Row) bool {
		e := step.Released{Version: r.v.Number, Hash: en.Hash, Body: en.Body, Missing: missing,
			Problem: r.misfits[en.ID], MayOweReload: r.owesReload[row.ID], From: r.p.moves.from[en.ID]}
		return r.p.change(row, e)
	})
	return nil
}

// remove plans the resources that left the model: it purges them where the model requested that,
// and orphans all others.
func (r *releaser) remove(g *version.Graph) {
	var left []resource.ID
	for id := range r.before {
		if row := r.rows[id]; !r.index[id] && row != nil && !row.Orphaned && !row.Removing &&
			r.p.moves.to[id] == "" {
			left = append(left, id)
		}
	}
	for _, id := range r.removing {
		if row := r.rows[id]; !r.index[id] && row != nil && row.Removing &&
			r.p.moves.to[id] == "" && g.Node(id) < 0 {
			left = append(left, id) // it was moved, and what has its thing has a state of its own
		}
	}
	(&mover{r}).moveAway()
	slices.Sort(left) // the same release writes the same rows in the same order
	r.released.removed += len(left)
	for _, id := range left {
		row := r.rows[id]
		purge := g.Node(id) >= 0 && g.Removing[g.Node(id)]
		r.p.apply(row, step.Left{Version: r.v.Number, Purge: purge})
	}
}
