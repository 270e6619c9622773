package planner

import (
	"context"
	"crypto/sha256"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// A bounded edit, and the data of the version that it reads.

// bounded is an edit of the version in force that affects only the resources that it puts or drops:
// see docs/design/export.md. Either an index shows that, or the exporter has compared the documents.
//
// Large: each method is one step of the edit, from reading the base to the difference, over the same
// working set.
type bounded struct {
	plan    *planning
	last    state.Version
	known   *version.Contents // the index of the version; nil: none
	graph   *version.Graph    // in force
	agents  map[string]resource.Agent
	read    map[int]*version.Lines // the chunks that were read
	list    []resource.Resource    // the resources that the edit puts
	now     map[resource.ID]*resource.Resource
	reached model.Targets // targets of the agents, which are those of the version
	will    intents       // of list
	before
}

// isInForce reports whether the last version is in force, and its release is complete.
func (p *exporting) isInForce(last state.Version) bool {
	return last.Number > 0 && p.env.Released == last.Number && p.env.Releasing == 0 &&
		p.env.Base == 0
}

// bounded returns an edit of the last version, which is in force, that puts and drops nothing. It
// declines while resources of earlier versions are still being purged.
func (p *exporting) bounded(ctx context.Context, last state.Version) (*bounded, error) {
	known, err := p.pl.readContents(ctx, &last)
	if err != nil {
		return nil, err
	}
	graph, err := p.inForce(ctx)
	if err != nil {
		return nil, err
	}
	s := &bounded{plan: p.planning, last: last, known: known, graph: graph,
		agents: map[string]resource.Agent{}, read: map[int]*version.Lines{},
		now:     map[resource.ID]*resource.Resource{},
		reached: model.TargetsOf(last.Agents, true)}
	for _, a := range last.Agents {
		s.agents[a.Name] = a
	}
	s.was, s.entries = map[resource.ID]*resource.Resource{}, map[resource.ID]version.Entry{}
	return s, s.purges(ctx)
}

// has reports whether the version has a resource.
func (s *bounded) has(id resource.ID) bool {
	n := s.graph.Node(id)
	return n >= 0 && !s.graph.Removing[n]
}

// entry returns the entry of a resource of the version, nil if there is none.
func (s *bounded) entry(ctx context.Context, id resource.ID) (*version.Entry, error) {
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

// fetch reads the chunks of resources.
func (s *bounded) fetch(ctx context.Context, of []resource.Resource) error {
	var chunks []int
	for i := range of {
		chunks = append(chunks, version.ChunkOf(of[i].ID, len(s.last.Chunks)))
	}
	slices.Sort(chunks)
	return s.readChunks(ctx, slices.Compact(chunks))
}

// chunk returns the lines of a chunk.
func (s *bounded) chunk(ctx context.Context, b int) (*version.Lines, error) {
	err := s.readChunks(ctx, []int{b})
	return s.read[b], err
}

// readChunks reads chunks that were not read yet.
func (s *bounded) readChunks(ctx context.Context, chunks []int) error {
	chunks = slices.DeleteFunc(chunks, func(b int) bool { return s.read[b] != nil })
	hashes := make([]string, len(chunks))
	for i, b := range chunks {
		hashes[i] = s.last.Chunks[b]
	}
	texts, err := version.ReadTexts(ctx, s.plan.pl.Files, hashes)
	for i, text := range texts {
		s.read[chunks[i]] = version.LinesOf(text, hashes[i])
	}
	return err
}

// sums returns the sums of the texts of all chunks. Without an index, it reads all chunks.
func (s *bounded) sums(ctx context.Context) ([][sha256.Size]byte, error) {
	if s.known != nil {
		return slices.Clone(s.known.Sums), nil
	}
	chunks := make([]int, len(s.last.Chunks))
	for b := range chunks {
		chunks[b] = b
	}
	if err := s.readChunks(ctx, slices.Clone(chunks)); err != nil {
		return nil, err
	}
	out := make([][sha256.Size]byte, len(chunks))
	for b := range out {
		out[b] = s.read[b].Sum()
	}
	return out, nil
}

// relates identifies the program and the types that define the relations of resources; "": they are
// unknown. Contents that another program stored are not used.
func relates(pl *Config) string {
	if pl.Pack == "" {
		return ""
	}
	return pl.Pack + "-" + pl.Types.Digest()
}

// readContents returns the contents of a version, from the cache or as stored with it; nil if there
// are none.
func (pl *Config) readContents(
	ctx context.Context, v *state.Version,
) (*version.Contents, error) {
	x := pl.Contents.Get(v.Digest)
	if x == nil {
		var err error
		if x, err = version.ReadContents(ctx, pl.Files, v, relates(pl)); err != nil {
			return nil, err
		}
		pl.Contents.Keep(v.Digest, x)
	}
	if x == nil || len(x.Sums) != len(v.Chunks) {
		return nil, nil
	}
	return x, nil
}
