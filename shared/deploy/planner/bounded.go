package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// bounded is an edit of the version in force that affects only the resources that it puts or drops:
// see docs/design/export.md. Either the index of the version shows that, or the exporter has compared
// the documents.
type bounded struct {
	plan *planning
	base *versionReader
	sets []string                           // changed sets that the base has, sorted
	put  []resource.Resource                // the resources that the edit puts
	now  map[resource.ID]*resource.Resource // of put
	was  map[resource.ID]*resource.Resource // resources of the base that the edit puts or drops
	// the entries of was
	entries map[resource.ID]version.Entry
	others  *version.Contents // the index of the base without was; nil: none
	stays   bool              // all nodes of the graph stay
	done    []resource.ID     // nodes of resources that left an earlier version and are purged by now
}

// isInForce reports whether the last version is in force, and its release is complete.
func isInForce(env *state.Env, last *state.Version) bool {
	return last.Number > 0 && env.Released == last.Number && env.Releasing == 0 && env.Base == 0
}

// newBounded returns an edit of the last version, which is in force, that puts and drops nothing. It
// declines while resources of earlier versions are still being purged.
func newBounded(ctx context.Context, p *planning, last state.Version) (*bounded, error) {
	graph, err := p.inForce(ctx)
	if err != nil {
		return nil, err
	}
	base, err := newVersionReader(ctx, &p.pl.Config, last, graph)
	if err != nil {
		return nil, err
	}
	s := &bounded{plan: p, base: base, now: map[resource.ID]*resource.Resource{},
		was: map[resource.ID]*resource.Resource{}, entries: map[resource.ID]version.Entry{}}
	for n, removing := range graph.Removing {
		if removing {
			s.done = append(s.done, graph.IDs[n])
		}
	}
	rows, err := p.load(ctx, s.done)
	for _, row := range rows {
		if row.Removing {
			return nil, ErrWhole
		}
	}
	return s, err
}

// indexOthers sets the index of all resources but those that the edit changes.
func (s *bounded) indexOthers() {
	if s.base.contents != nil {
		s.others = s.base.contents.Changed(
			s.marks(slices.Collect(maps.Values(s.was)), len(s.base.Chunks)), nil)
	}
}

// marks returns the marks of resources in a number of chunks.
func (s *bounded) marks(of []*resource.Resource, chunks int) version.Marks {
	return version.MarksOf(s.plan.pl.Checker, s.base.targets, of, chunks)
}
