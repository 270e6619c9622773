package planner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// versionReader reads parts of the version in force.
type versionReader struct {
	state.Version
	files    state.Files
	contents *version.Contents // its index; nil: none
	graph    *version.Graph    // in force
	byName   map[string]resource.Agent
	targets  model.Targets
	chunks   map[int]*version.Lines // the chunks that were read
}

// newVersionReader returns a reader of version v, whose graph is in force.
func newVersionReader(
	ctx context.Context, pl *Config, v state.Version, g *version.Graph,
) (*versionReader, error) {
	contents, err := pl.readContents(ctx, &v)
	return &versionReader{Version: v, files: pl.Files, contents: contents, graph: g,
		byName: agentsByName(v.Agents), targets: model.TargetsOf(v.Agents, true),
		chunks: map[int]*version.Lines{}}, err
}

// has reports whether the version has a resource.
func (r *versionReader) has(id resource.ID) bool {
	n := r.graph.Node(id)
	return n >= 0 && !r.graph.Removing[n]
}

// find returns a resource of the version and its entry. It declines if the version does not have it.
func (r *versionReader) find(
	ctx context.Context, id resource.ID,
) (*resource.Resource, *version.Entry, error) {
	if !r.has(id) {
		return nil, nil, ErrWhole
	}
	b := version.ChunkOf(id, len(r.Chunks))
	lines, err := r.chunk(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	en, err := lines.Find(id)
	if err != nil || en == nil {
		return nil, nil, cmp.Or(err, ErrWhole)
	}
	res, err := resource.Decode(en.Body)
	if err != nil {
		return nil, nil, version.DamagedChunk(r.Chunks[b])
	}
	return res, en, nil
}

// chunk returns the lines of a chunk.
func (r *versionReader) chunk(ctx context.Context, b int) (*version.Lines, error) {
	err := r.read(ctx, b)
	return r.chunks[b], err
}

// read reads the chunks among some chunks that were not read yet.
func (r *versionReader) read(ctx context.Context, chunks ...int) error {
	chunks = slices.Compact(slices.Sorted(slices.Values(chunks)))
	chunks = slices.DeleteFunc(chunks, func(b int) bool { return r.chunks[b] != nil })
	hashes := make([]string, len(chunks))
	for i, b := range chunks {
		hashes[i] = r.Chunks[b]
	}
	texts, err := version.ReadTexts(ctx, r.files, hashes)
	for i, text := range texts {
		r.chunks[chunks[i]] = version.LinesOf(text, hashes[i])
	}
	return err
}

// sums returns the sums of the texts of all chunks. Without an index, it reads all chunks.
func (r *versionReader) sums(ctx context.Context) ([][sha256.Size]byte, error) {
	if r.contents != nil {
		return slices.Clone(r.contents.Sums), nil
	}
	chunks, out := make([]int, len(r.Chunks)), make([][sha256.Size]byte, len(r.Chunks))
	for b := range chunks {
		chunks[b] = b
	}
	if err := r.read(ctx, chunks...); err != nil {
		return nil, err
	}
	for b := range out {
		out[b] = r.chunks[b].Sum()
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
