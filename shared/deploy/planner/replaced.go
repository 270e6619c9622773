package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/version"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// delta is the difference of a version to the previous one that a bounded edit makes.
type delta struct {
	before map[resource.ID]version.Entry
	after  []version.Entry
	put    []*resource.Resource // the resources that the edit puts, also the unchanged ones
	stays  bool                 // their nodes in the graph stay as they are, and none leaves
	done   []resource.ID        // nodes of resources that left earlier and are purged by now
}

// delta returns the differences to the version, given the entries of the resources that are put.
func (s *bounded) delta(ctx context.Context, entries []version.Entry) (*delta, error) {
	out := &delta{before: map[resource.ID]version.Entry{}, done: s.done, stays: s.stays}
	for i := range s.put {
		out.put = append(out.put, &s.put[i])
	}
	lost, err := lostValues(ctx, s.plan, entries, s.base.Agents)
	if err != nil {
		return nil, err
	}
	for _, id := range s.dropped() {
		out.before[id] = s.entries[id]
	}
	for i := range entries {
		en := &entries[i]
		was, had := s.entries[en.ID]
		if had && was.Same(en) && !lost[en.ID] {
			continue
		}
		if had && !lost[en.ID] {
			out.before[en.ID] = was
		}
		out.after = append(out.after, *en)
	}
	return out, nil
}

// readSets reads the resources that the version has in the given sets.
func (s *bounded) readSets(ctx context.Context, sets []string) error {
	for _, set := range slices.Compact(slices.Sorted(slices.Values(sets))) {
		if _, there := slices.BinarySearch(s.base.Sets, set); there {
			s.sets = append(s.sets, set)
		}
	}
	for _, set := range s.sets {
		for b := range s.base.Chunks {
			if !s.base.contents.Has(version.IsIn(set, b)) {
				continue
			}
			lines, err := s.base.chunk(ctx, b)
			if err != nil {
				return err
			}
			entries, resources, err := lines.OfSet(set)
			if err != nil {
				return err
			}
			for i, r := range resources {
				s.was[r.ID], s.entries[r.ID] = r, entries[i]
			}
		}
	}
	s.indexOthers()
	return nil
}

// checkRelations declines if resources that were in the sets have relations to other resources that
// change, or may change in order.
func (s *bounded) checkRelations(ctx context.Context) error {
	if movedIn(s) {
		return ErrWhole
	}
	required, requires := false, false
	for id, r := range s.was {
		from, to := s.neighbours(id)
		now := s.now[id]
		purged := r.Purged || now != nil && now.Purged
		required, requires = required || len(from) > 0, requires || len(to) > 0
		if len(from) > 0 && (purged || now == nil) ||
			now == nil && s.others.Has(version.RelatesTo(id)) {
			return ErrWhole
		}
		for _, other := range s.plan.pl.Checker.Related(r) {
			if other.Kind != schema.Require && s.was[other.ID] == nil && s.base.has(other.ID) {
				return ErrWhole
			}
		}
		if !purged {
			continue
		}
		// Edges between purged resources run in the reverse direction.
		for _, id := range to {
			other, _, err := s.base.find(ctx, id)
			if err != nil {
				return err
			}
			if other.Purged || !slices.Contains(r.Requires, id) {
				return ErrWhole
			}
		}
	}
	for i := range s.put {
		requires = requires || slices.ContainsFunc(s.put[i].Requires, func(id resource.ID) bool {
			return s.now[id] == nil
		})
	}
	if required && requires { // otherwise no cycle passes through other sets
		if s.stays = s.hasSameOrder(); !s.stays {
			return ErrWhole
		}
	}
	return nil
}

// neighbours returns the resources of other sets that require a resource in the graph (from), and
// those that it requires (to).
func (s *bounded) neighbours(id resource.ID) (from, to []resource.ID) {
	g := s.base.graph
	others := func(nodes []int32) (out []resource.ID) {
		for _, n := range nodes {
			if id := g.IDs[n]; s.was[id] == nil && !g.Removing[n] {
				out = append(out, id)
			}
		}
		return out
	}
	n := g.Node(id)
	if n < 0 {
		return nil, nil
	}
	return others(g.Dependants(n)), others(g.Requires(n))
}

// hasSameOrder reports whether the sets have the same resources as before, with the same
// requirements, and the same of them purged.
func (s *bounded) hasSameOrder() bool {
	for i := range s.put {
		r := &s.put[i]
		was := s.was[r.ID]
		if was == nil || was.Purged != r.Purged || !slices.Equal(was.Requires, r.Requires) {
			return false
		}
	}
	return len(s.put) == len(s.was)
}
