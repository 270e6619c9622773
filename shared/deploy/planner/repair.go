package planner

import (
	"cmp"
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// needsRepair reports whether files that the engine made itself are lost. A home that cannot lose
// files is not checked, and costs no request.
func (pl *Config) needsRepair(ctx context.Context, env string) (bool, error) {
	if _, asks := pl.Files.(state.Verifier); !asks {
		return false, nil
	}
	state, err := pl.State.Env(ctx, env)
	if err != nil {
		return false, fault.Wrap(fault.Unknown, "read environment", err)
	}
	if pl.Intact(ctx, state) {
		return false, nil
	}
	if err := restoreChunks(ctx, pl, state); err != nil {
		return false, err
	}
	return !pl.Intact(ctx, state), nil
}

// restoreChunks restores lost chunks of the version in force from the rows, which have the same
// bodies.
// The hash of a chunk shows whether the restored chunk is identical. If a row has changed since,
// the chunk stays lost.
func restoreChunks(ctx context.Context, pl *Config, stored state.Env) error {
	if stored.Released == 0 {
		return nil
	}
	v, err := pl.Client.Version(ctx, stored, stored.Released)
	if err != nil {
		return err
	}
	lost := map[int][]version.Entry{} // the entries of the lost chunks
	for i, hash := range v.Chunks {
		_, err := pl.Files.Get(ctx, []string{hash})
		if state.Unreadable(err) {
			lost[i] = nil
		} else if err != nil {
			return fault.Wrap(fault.Unknown, "find files", err)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	agents := agentsByName(v.Agents)
	if err := pl.Client.EachRow(ctx, stored.Name, func(r *state.Row) error {
		b := version.ChunkOf(r.ID, len(v.Chunks))
		_, is := lost[b]
		if !is || r.Orphaned || r.Removing || r.Gone {
			return nil
		}
		en, err := writtenOf(r, agents)
		if err != nil {
			return nil // the chunk stays lost
		}
		en.Body = slices.Clone(en.Body)
		lost[b] = append(lost[b], en)
		return nil
	}); err != nil {
		return err
	}
	var blobs []state.Blob
	for i, entries := range lost {
		slices.SortFunc(entries, func(a, b version.Entry) int { return cmp.Compare(a.ID, b.ID) })
		if blob := version.Chunk(entries); blob.Hash == v.Chunks[i] {
			blobs = append(blobs, blob)
		}
	}
	return pl.putFiles(ctx, blobs)
}

// Intact reports whether the files that the engine made itself can be read: the graph in force, and
// the resources of that version and of the last one.
func (pl *Config) Intact(ctx context.Context, stored state.Env) bool {
	v, asks := pl.Files.(state.Verifier)
	if !asks || stored.Last == 0 {
		return true
	}
	versions, err := pl.State.Versions(ctx, stored.Name, stored.Last, stored.Released)
	if err != nil {
		return true // the next operation reports the error
	}
	hashes := version.GraphFiles(stored.Graph)
	for i := range versions {
		hashes = append(hashes, versions[i].Chunks...)
	}
	slices.Sort(hashes)
	return !state.Unreadable(v.Verify(ctx, slices.Compact(hashes)))
}

// inForce returns the graph in force. If it is lost while the store is mended, the graph is built
// from the rows.
func (p *planning) inForce(ctx context.Context) (*version.Graph, error) {
	g, err := p.pl.Graphs.Get(ctx, p.env.Graph)
	if !p.repair || !state.Unreadable(err) {
		return g, err
	}
	if p.rowGraph == nil {
		p.rowGraph, err = p.graphOfRows(ctx)
	} else {
		err = nil
	}
	return p.rowGraph, err
}

// graphOfRows builds a graph from the rows. A resource that left the model and is being purged
// waits for the resources that required it.
func (p *planning) graphOfRows(ctx context.Context) (*version.Graph, error) {
	var nodes []version.Node
	removing := map[resource.ID][]resource.ID{} // the resources that require it
	if err := p.pl.Client.EachRow(ctx, p.env.Name, func(row *state.Row) error {
		if row.Orphaned {
			return nil
		}
		node := version.Node{ID: row.ID, Removing: row.Removing}
		if res, err := resource.Decode(row.Body); err == nil {
			node.Requires = res.Requires
		}
		if row.Removing {
			removing[row.ID] = nil
		}
		nodes = append(nodes, node)
		return nil
	}); err != nil {
		return nil, err
	}
	for i := range nodes {
		for _, id := range nodes[i].Requires {
			if _, goes := removing[id]; goes {
				removing[id] = append(removing[id], nodes[i].ID)
			}
		}
	}
	for i := range nodes {
		if nodes[i].Removing {
			nodes[i].Requires = removing[nodes[i].ID]
		}
	}
	return version.NewGraph(nodes), nil
}
