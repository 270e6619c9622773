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

// A partial export of a few resource sets is planned from the old and new resources of these sets,
// without reading the rest of the version: see docs/design/export.md. Examples are the order, the
// update and the delete of an instance. The result equals that of a merge of the whole version;
// otherwise the export declines.

// alone reports whether an export may affect its sets only, as far as that can be decided without
// the previous version.
func (p *exporting) alone(x Export, last state.Version) bool {
	inForce := p.env.Released == last.Number && p.env.Releasing == 0 && p.env.Base == 0
	if !x.Partial || x.NoRelease || x.Expect != "" || x.Limits != nil || x.Settings != nil ||
		p.mending || p.all || last.Number == 0 || !inForce {
		return false
	}
	for i := range x.Model.Resources {
		r := &x.Model.Resources[i]
		_, more := provider.As[provider.Generator](p.pl.Handlers[r.Type])
		if more || p.pl.Checker.Gathers(r) {
			return false
		}
	}
	return true
}

// nextOfSets builds the version that results from last by changed resource sets; ErrWhole: the
// whole has to be merged.
func (p *exporting) nextOfSets(ctx context.Context, x Export, last state.Version) (next, error) {
	if !p.alone(x, last) {
		return next{}, ErrWhole
	}
	known, err := p.pl.readContents(ctx, &last)
	if err != nil || known == nil || len(known.sums) != len(last.Chunks) {
		return next{}, cmp.Or(err, ErrWhole)
	}
	graph, err := p.inForce(ctx)
	if err != nil {
		return next{}, err
	}
	s := &setsChange{exporting: p, last: last, known: known, graph: graph,
		agents: map[string]resource.Agent{}, read: map[int]*version.Lines{},
		now:     map[resource.ID]*resource.Resource{},
		reached: model.TargetsOf(last.Agents, true)}
	for _, a := range last.Agents {
		s.agents[a.Name] = a
	}
	steps := []func(context.Context, Export) error{s.purges, s.find, s.take, s.joined, s.resolve}
	for _, step := range steps {
		if err := step(ctx, x); err != nil {
			return next{}, err
		}
	}
	return s.next(ctx, x)
}

// setsChange is a version with changed sets.
type setsChange struct {
	*exporting
	last    state.Version
	known   *contents
	graph   *version.Graph // in force
	agents  map[string]resource.Agent
	read    map[int]*version.Lines // the chunks that were read
	list    []resource.Resource    // the new resources of the sets
	now     map[resource.ID]*resource.Resource
	reached model.Targets // targets of the agents, which are those of the version
	will    intents       // of list
	before
}

// has reports whether the version has a resource.
func (s *setsChange) has(id resource.ID) bool {
	n := s.graph.Node(id)
	return n >= 0 && !s.graph.Removing[n]
}

// entry returns the entry of a resource of the version, nil if there is none.
func (s *setsChange) entry(ctx context.Context, id resource.ID) (*version.Entry, error) {
	if !s.has(id) {
		return nil, nil // the version does not have it
	}
	b := version.ChunkOf(id, len(s.last.Chunks))
	lines, err := s.chunk(ctx, b)
	if err != nil {
		return nil, err
	}
	return lines.Find(id)
}

// chunk returns the lines of a chunk.
func (s *setsChange) chunk(ctx context.Context, b int) (*version.Lines, error) {
	if lines := s.read[b]; lines != nil {
		return lines, nil
	}
	hash := s.last.Chunks[b]
	texts, err := version.ReadTexts(ctx, s.pl.Files, []string{hash})
	if err != nil {
		return nil, err
	}
	s.read[b] = version.LinesOf(texts[0], hash)
	return s.read[b], nil
}

// take checks all resources of a model. Resources of no set have to be unchanged, or are kept. All
// others must not affect resources of other sets.
func (s *setsChange) take(ctx context.Context, x Export) error {
	m := x.Model
	for i := range m.Resources {
		r := m.Resources[i] // a copy: completing it must not change the model
		switch {
		case r.Set != "":
			a, known := s.agents[r.Agent]
			if !known || !a.Described && anyDescribed(s.last.Agents) || s.concerns(&r) {
				return ErrWhole
			}
			r.Requires = slices.Clone(r.Requires)
			s.list = append(s.list, r)
		case s.was[r.ID] != nil:
			return ErrWhole
		case x.KeepShared && s.has(r.ID):
		default:
			if err := s.same(ctx, &r); err != nil {
				return err
			}
		}
	}
	byID := map[resource.ID]int{}
	for i := range s.list {
		byID[s.list[i].ID] = i
		s.now[s.list[i].ID] = &s.list[i]
	}
	s.pl.Checker.Relate(s.list, byID)
	for i := range s.list {
		if err := s.relate(ctx, &s.list[i]); err != nil {
			return err
		}
	}
	at := m.At
	if len(byID) < len(s.list) || len(s.pl.Checker.CheckThings(s.list, len(s.list), s.reached,
		at)) > 0 ||
		len(s.pl.Checker.CheckCycles(s.list, at)) > 0 ||
		len(s.pl.Checker.CheckReach(&model.Model{
			Resources: s.list, Agents: s.last.Agents, Where: at,
		}, true)) > 0 {
		return ErrWhole // the whole merge reports the problem and its place
	}
	return nil
}

// concerns reports whether the new state of a resource may affect a resource of another set.
func (s *setsChange) concerns(r *resource.Resource) bool {
	names, shared := s.pl.Checker.ThingsOf(r, s.reached)
	all, _ := s.pl.Checker.DescribesAll(r)
	for _, of := range names {
		if !shared && s.others.has(standsFor(of)) || all && s.others.has(partOf(of)) {
			return true
		}
	}
	if of, is := s.pl.Checker.PartOf(r, s.reached); is && s.others.has(wholeOf(of)) {
		return true
	}
	if s.was[r.ID] != nil {
		return s.others.has(tiedTo(r.ID))
	}
	return s.graph.Node(r.ID) >= 0 || s.others.has(relatesTo(r.ID))
}

// same declines a resource of no set that differs from the version.
func (s *setsChange) same(ctx context.Context, r *resource.Resource) error {
	en, err := s.entry(ctx, r.ID)
	if err != nil || en == nil {
		return cmp.Or(err, ErrWhole)
	}
	was, err := resource.Decode(en.Body)
	if err != nil {
		return version.DamagedChunk(s.last.Chunks[version.ChunkOf(r.ID, len(s.last.Chunks))])
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

// relate adds the relations of a resource of the sets to other resources of the version. It
// declines if the other resource would change, or the order in which things are removed.
func (s *setsChange) relate(ctx context.Context, r *resource.Resource) error {
	for _, to := range s.pl.Checker.Related(r) {
		if s.now[to.ID] != nil || s.was[to.ID] != nil || !s.has(to.ID) {
			continue
		}
		// A resource that is only required by type does not change, unless it gathers its
		// dependants.
		if to.Kind != schema.Require {
			return ErrWhole
		}
		r.Requires = append(r.Requires, to.ID)
	}
	slices.Sort(r.Requires)
	r.Requires = slices.Compact(r.Requires)
	for _, id := range r.Requires {
		if s.now[id] != nil {
			continue
		}
		en, err := s.entry(ctx, id)
		if err != nil || en == nil || s.was[id] != nil {
			return cmp.Or(err, ErrWhole)
		}
		if other, err := resource.Decode(en.Body); err != nil || other.Purged ||
			s.pl.Checker.Gathers(other) {
			return ErrWhole
		}
	}
	return nil
}

// resolve gives values to the references in the new resources of the sets. It declines if an agent
// of the model differs from the version, or a resource changes its meaning for other resources.
func (s *setsChange) resolve(ctx context.Context, x Export) error {
	r := &resolver{s.planning}
	m := &model.Model{Resources: s.list, Agents: x.Model.Agents}
	known, refs, err := r.references(ctx, m, kept{})
	if err != nil {
		return err
	}
	agents, problems := r.resolveAgents(ctx, &model.Model{Agents: m.Agents}, known, nil)
	for _, a := range agents.list {
		was, there := s.agents[a.Name]
		if !there || !was.Described || !state.SameAgents([]resource.Agent{was}, []resource.Agent{a}) {
			return ErrWhole
		}
	}
	s.will, err = r.resolveResources(
		ctx, m, refs, known, agentSet{list: s.last.Agents, byName: s.agents}, kept{},
	)
	if len(problems) > 0 || err != nil || s.will.unsettled {
		return ErrWhole // the whole merge reports the problem and its place
	}
	return nil
}

// next builds the version.
func (s *setsChange) next(ctx context.Context, x Export) (next, error) {
	if s.check {
		return next{}, nil
	}
	d, err := s.delta(ctx, s.will.entries)
	if err != nil {
		return next{}, err
	}
	v := s.last
	v.Resources += len(s.list) - len(s.was)
	if version.Buckets(v.Resources, s.pl.ChunkSize) != len(v.Chunks) {
		return next{}, ErrWhole
	}
	v.Number, v.At, v.Pack = s.env.Last+1, s.pl.Clock.Now(), s.pl.Pack
	v.Base, v.Origin = s.last.Number, x.Origin
	v.Chunks, v.Sets = slices.Clone(v.Chunks), replacedSets(v.Sets, s.sets, setsOf(s.list))
	sums, blobs, err := s.chunks(ctx, &v, d)
	if err != nil {
		return next{}, err
	}
	v.Digest = version.Digest(version.SumsDigest(sums), v.Agents)
	if v.Digest == s.last.Digest {
		return next{version: s.last, last: s.last, delta: d}, nil
	}
	known := s.others.changed(nil, marksOf(s.pl.Checker, s.reached, pointers(s.list), len(sums)))
	known.sums = sums
	v.Files = s.files(known)
	return next{version: v, last: s.last, fresh: true, blobs: blobs, delta: d,
		contents: known.folded()}, nil
}

func pointers(list []resource.Resource) []*resource.Resource {
	out := make([]*resource.Resource, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// replacedSets returns sets without gone and with more; all are sorted.
func replacedSets(sets, gone, more []string) []string {
	out := make([]string, 0, len(sets)+len(more))
	for len(gone)+len(more) > 0 {
		var s string
		puts := len(gone) == 0 || len(more) > 0 && more[0] <= gone[0]
		if puts {
			s, more = more[0], more[1:]
		} else {
			s = gone[0]
		}
		if len(gone) > 0 && gone[0] == s {
			gone = gone[1:]
		}
		at, there := slices.BinarySearch(sets, s)
		out, sets = append(out, sets[:at]...), sets[at:]
		if there {
			sets = sets[1:]
		}
		if puts {
			out = append(out, s)
		}
	}
	return append(out, sets...)
}

// files returns the files of the version, given its contents.
func (s *setsChange) files(now *contents) []string {
	out := slices.Clone(s.last.Files)
	for i := range s.list {
		for _, hash := range filesOf(&s.list[i]) {
			if at, there := slices.BinarySearch(out, hash); !there {
				out = slices.Insert(out, at, hash)
			}
		}
	}
	for _, r := range s.was {
		for _, hash := range filesOf(r) {
			if at, there := slices.BinarySearch(out, hash); there && !now.has(refersTo(hash)) {
				out = slices.Delete(out, at, at+1)
			}
		}
	}
	return out
}

// chunks applies the differences to the chunks of a version. It returns the sums of all chunks and
// the files of the changed ones.
func (s *setsChange) chunks(
	ctx context.Context, v *state.Version, d *delta,
) ([][sha256.Size]byte, []state.Blob, error) {
	put, gone := map[int][]version.Entry{}, map[int][]resource.ID{}
	for i := range d.after {
		b := version.ChunkOf(d.after[i].ID, len(v.Chunks))
		put[b] = append(put[b], d.after[i])
	}
	for id := range d.before {
		if b := version.ChunkOf(id, len(v.Chunks)); s.now[id] == nil {
			gone[b] = append(gone[b], id)
		}
	}
	sums := slices.Clone(s.known.sums)
	var blobs []state.Blob
	for b := range v.Chunks {
		if len(put[b])+len(gone[b]) == 0 {
			continue
		}
		lines, err := s.chunk(ctx, b)
		if err != nil {
			return nil, nil, err
		}
		text, err := lines.Edit(gone[b], put[b])
		if err != nil {
			return nil, nil, err
		}
		sums[b] = sha256.Sum256(text)
		blob := version.ChunkFile(text)
		v.Chunks[b], blobs = blob.Hash, append(blobs, blob)
	}
	return sums, blobs, nil
}
