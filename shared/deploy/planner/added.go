package planner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// A partial export of resource sets that are new, such as the order of an instance, is planned by
// what it adds, without reading the rest of the version: see docs/design/export.md. It comes to
// what a merge of the whole comes to, or is declined.

// addable reports whether an export may do no more than add resource sets, as far as that can be
// told without the version before.
func (p *exporting) addable(x Export, last state.Version) bool {
	inForce := p.env.Released == last.Number && p.env.Releasing == 0 && p.env.Base == 0
	if !x.Partial || x.KeepShared || len(x.DeleteSets) > 0 || x.NoRelease || x.Expect != "" ||
		x.Limits != nil ||
		x.Settings != nil || p.mending || p.all || last.Number == 0 || !inForce {
		return false
	}
	for i := range x.Model.Agents {
		same := func(a resource.Agent) bool {
			return state.SameAgents([]resource.Agent{a}, []resource.Agent{laned(x.Model.Agents[i])})
		}
		if !slices.ContainsFunc(last.Agents, same) {
			return false
		}
	}
	for i := range x.Model.Resources {
		r := &x.Model.Resources[i]
		_, more := provider.As[provider.Generator](p.pl.Handlers[r.Type])
		_, there := slices.BinarySearch(last.Sets, r.Set)
		if more || !known(r) || r.Purged || p.pl.Checker.Gathers(r) || there {
			return false
		}
	}
	return true
}

// laned returns an agent as a version has it.
func laned(a resource.Agent) resource.Agent {
	a.Lanes = max(a.Lanes, 1)
	return a
}

// nextAdded makes the version that follows from last by resource sets that are added; ErrWhole: the
// whole has to be merged.
func (p *exporting) nextAdded(ctx context.Context, x Export, last state.Version) (next, error) {
	if !p.addable(x, last) {
		return next{}, ErrWhole
	}
	known, err := p.pl.readContents(ctx, &last)
	if err != nil || known == nil || len(known.sums) != len(last.Chunks) {
		return next{}, cmp.Or(err, ErrWhole)
	}
	graph, err := p.inForce(ctx)
	if err != nil || slices.Contains(graph.Removing, true) {
		return next{}, cmp.Or(err, ErrWhole)
	}
	// As a merge has them, which resolves those of the version before once more.
	agents, problems := (&resolver{p.planning}).resolveAgents(
		ctx, &model.Model{Agents: slices.Clone(last.Agents)}, &values{},
	)
	if len(problems) > 0 {
		return next{}, ErrWhole
	}
	last.Agents = agents.list
	a := &adder{exporting: p, last: last, known: known, graph: graph, agents: agents.byName,
		read: map[int]*version.Lines{}, added: map[resource.ID]*resource.Resource{}}
	if err := a.take(ctx, x.Model); err != nil {
		return next{}, err
	}
	return a.next(ctx, x)
}

// adder adds resource sets to a version.
type adder struct {
	*exporting
	last   state.Version
	known  *contents
	graph  *version.Graph // in force
	agents map[string]resource.Agent
	read   map[int]*version.Lines // the chunks that were read
	added  map[resource.ID]*resource.Resource
	list   []resource.Resource // those that are added
}

// entry returns the entry of a resource of the version, nil if there is none.
func (a *adder) entry(ctx context.Context, id resource.ID) (*version.Entry, error) {
	if a.graph.Node(id) < 0 {
		return nil, nil // there is none
	}
	b := version.ChunkOf(id, len(a.last.Chunks))
	lines, err := a.chunk(ctx, b)
	if err != nil {
		return nil, err
	}
	return lines.Find(id)
}

// chunk returns the lines of a chunk.
func (a *adder) chunk(ctx context.Context, b int) (*version.Lines, error) {
	if lines := a.read[b]; lines != nil {
		return lines, nil
	}
	hash := a.last.Chunks[b]
	texts, err := version.ReadTexts(ctx, a.pl.Files, []string{hash})
	if err != nil {
		return nil, err
	}
	a.read[b] = version.LinesOf(texts[0], hash)
	return a.read[b], nil
}

// take looks at all resources of a model: those of no set are to be as they are, and the others
// anew, and of no concern to anybody else.
func (a *adder) take(ctx context.Context, m *model.Model) error {
	for i := range m.Resources {
		r := m.Resources[i] // what is completed of it counts here alone
		switch {
		case r.Set != "":
			_, known := a.agents[r.Agent]
			if !known || a.graph.Node(r.ID) >= 0 || a.known.concerns(a.pl.Checker, &r) {
				return ErrWhole
			}
			r.Requires = slices.Clone(r.Requires)
			a.list = append(a.list, r)
		default:
			if err := a.same(ctx, &r); err != nil {
				return err
			}
		}
	}
	byID := map[resource.ID]int{}
	for i := range a.list {
		byID[a.list[i].ID] = i
		a.added[a.list[i].ID] = &a.list[i]
	}
	a.pl.Checker.Relate(a.list, byID)
	for i := range a.list {
		if err := a.relate(ctx, &a.list[i]); err != nil {
			return err
		}
	}
	at := m.At
	if len(byID) < len(a.list) || len(a.pl.Checker.CheckThings(a.list, len(a.list), at)) > 0 ||
		len(a.pl.Checker.CheckCycles(a.list, at)) > 0 ||
		len(a.pl.Checker.CheckReach(&model.Model{
			Resources: a.list, Agents: a.last.Agents, Where: at,
		}, true)) > 0 {
		return ErrWhole // which says what is wrong, and where
	}
	return nil
}

// same declines a resource of no set that is not as it is in the version.
func (a *adder) same(ctx context.Context, r *resource.Resource) error {
	en, err := a.entry(ctx, r.ID)
	if err != nil || en == nil {
		return cmp.Or(err, ErrWhole)
	}
	was, err := resource.Decode(en.Body)
	if err != nil {
		return version.DamagedChunk(a.last.Chunks[0])
	}
	if was.Set != "" || !sameIntent(r, was) || r.Flags != was.Flags {
		return ErrWhole
	}
	for _, id := range r.Requires {
		if !slices.Contains(was.Requires, id) {
			return ErrWhole
		}
	}
	return nil
}

// relate adds the relations of an added resource with those that are in the version. It declines
// where the other one would change.
func (a *adder) relate(ctx context.Context, r *resource.Resource) error {
	for _, to := range a.pl.Checker.Related(r) {
		if a.added[to.ID] != nil || a.graph.Node(to.ID) < 0 {
			continue
		}
		// Of what it only requires by its type nothing changes, unless it gathers what requires it.
		if to.Kind != schema.Require {
			return ErrWhole
		}
		r.Requires = append(r.Requires, to.ID)
	}
	slices.Sort(r.Requires)
	r.Requires = slices.Compact(r.Requires)
	for _, id := range r.Requires {
		if a.added[id] != nil {
			continue
		}
		en, err := a.entry(ctx, id)
		if err != nil || en == nil {
			return cmp.Or(err, ErrWhole)
		}
		if other, err := resource.Decode(en.Body); err != nil || other.Purged ||
			a.pl.Checker.Gathers(other) {
			return ErrWhole
		}
	}
	return nil
}

// next makes the version.
func (a *adder) next(ctx context.Context, x Export) (next, error) {
	if len(a.list) == 0 {
		return next{version: a.last, last: a.last, delta: &delta{}}, nil
	}
	entries, err := version.NewEntries(a.list, a.agents)
	if err != nil {
		return next{}, ErrWhole
	}
	if a.check {
		return next{}, nil
	}
	v := a.last
	v.Resources += len(entries)
	if version.Buckets(v.Resources, a.pl.ChunkSize) != len(v.Chunks) {
		return next{}, ErrWhole
	}
	v.Number, v.At, v.Pack = a.env.Last+1, a.pl.Clock.Now(), a.pl.Pack
	v.Base, v.Origin = a.last.Number, x.Origin
	v.Chunks, v.Files = slices.Clone(v.Chunks), a.files(x.Model)
	v.Sets = withSets(v.Sets, setsOf(a.list))
	sums, blobs, err := a.chunks(ctx, &v, entries)
	if err != nil {
		return next{}, err
	}
	v.Digest = version.Digest(version.SumsDigest(sums), v.Agents)
	return next{version: v, last: a.last, fresh: true, blobs: blobs,
		delta:    &delta{after: entries, nodes: a.nodes()},
		contents: a.known.with(a.pl.Checker, a.list, sums)}, nil
}

// withSets returns sets, which are sorted, with more.
func withSets(sets, more []string) []string {
	out := make([]string, 0, len(sets)+len(more))
	for _, s := range more {
		at, _ := slices.BinarySearch(sets, s)
		out, sets = append(append(out, sets[:at]...), s), sets[at:]
	}
	return append(out, sets...)
}

// files returns the files of the version.
func (a *adder) files(m *model.Model) []string {
	out := slices.Clone(a.last.Files)
	for i := range a.list {
		for _, v := range a.list[i].Attributes {
			for _, ref := range resource.References(v) {
				if f, is := ref.(resource.File); is {
					out = append(out, f.Hash)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// chunks puts entries into the chunks of a version, and returns the sums of all of them and the
// files of those that have changed.
func (a *adder) chunks(
	ctx context.Context, v *state.Version, entries []version.Entry,
) ([][sha256.Size]byte, []state.Blob, error) {
	changed := map[int][]version.Entry{}
	for i := range entries {
		b := version.ChunkOf(entries[i].ID, len(v.Chunks))
		changed[b] = append(changed[b], entries[i])
	}
	sums := slices.Clone(a.known.sums)
	var blobs []state.Blob
	for b, more := range changed {
		lines, err := a.chunk(ctx, b)
		if err != nil {
			return nil, nil, err
		}
		text, err := lines.With(more)
		if err != nil {
			return nil, nil, err
		}
		sums[b] = sha256.Sum256(text)
		blob := version.ChunkFile(text)
		v.Chunks[b], blobs = blob.Hash, append(blobs, blob)
	}
	return sums, blobs, nil
}

// nodes returns the nodes of what is added.
func (a *adder) nodes() []version.Node {
	lanes := state.LanesOf(a.last.Agents)
	var more []version.Node
	for i := range a.list {
		r := &a.list[i]
		more = append(more, version.Node{
			ID: r.ID, Lane: state.LaneOf(r.ID, r.Agent, lanes[r.Agent]), Requires: r.Requires,
		})
	}
	return more
}
