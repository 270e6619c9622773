package planner

import (
	"cmp"
	"context"
	"slices"

	"southbound/shared/deploy/version"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// before is the content of the changed sets in the previous version.
type before struct {
	sets    []string // changed sets that exist there, sorted
	was     map[resource.ID]*resource.Resource
	entries map[resource.ID]version.Entry
	others  *version.Contents // the contents of all other sets, and of the shared set
	stays   bool              // all nodes of the graph stay
	done    []resource.ID     // nodes of resources that left an earlier version and are purged by now
}

// purges collects the resources that left an earlier version. It declines unless all of them are
// purged: then they only have to leave the graph.
func (s *bounded) purges(ctx context.Context) error {
	for n, removing := range s.graph.Removing {
		if removing {
			s.done = append(s.done, s.graph.IDs[n])
		}
	}
	rows, err := s.plan.load(ctx, s.done)
	for _, row := range rows {
		if row.Removing {
			return ErrWhole
		}
	}
	return err
}

// find reads the resources that the sets of an export have in the version.
func (s *bounded) find(ctx context.Context, x Export) error {
	for _, set := range slices.Concat(setsOf(x.Model.Resources), x.DeleteSets) {
		if _, there := slices.BinarySearch(s.last.Sets, set); there {
			s.sets = append(s.sets, set)
		}
	}
	slices.Sort(s.sets)
	s.sets = slices.Compact(s.sets)
	for _, set := range s.sets {
		for b := range s.last.Chunks {
			if !s.known.Has(version.IsIn(set, b)) {
				continue
			}
			lines, err := s.chunk(ctx, b)
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
	s.leaveOut()
	return nil
}

// leaveOut sets the index of all resources but those that the edit changes.
func (s *bounded) leaveOut() {
	if s.known == nil {
		return
	}
	was := make([]*resource.Resource, 0, len(s.was))
	for _, r := range s.was {
		was = append(was, r)
	}
	marks := version.MarksOf(s.plan.pl.Checker, s.reached, was, len(s.last.Chunks))
	s.others = s.known.Changed(marks, nil)
}

// joined declines if resources that were in the sets have relations to other resources that change,
// or may change in order.
func (s *bounded) joined(ctx context.Context, _ Export) error {
	if movedIn(s) {
		return ErrWhole
	}
	required, requires := false, false
	for id, r := range s.was {
		from, to := s.outside(id)
		now := s.now[id]
		purged := r.Purged || now != nil && now.Purged
		required, requires = required || len(from) > 0, requires || len(to) > 0
		if len(from) > 0 && (purged || now == nil) ||
			now == nil && s.others.Has(version.RelatesTo(id)) {
			return ErrWhole
		}
		for _, other := range s.plan.pl.Checker.Related(r) {
			if other.Kind != schema.Require && s.was[other.ID] == nil && s.has(other.ID) {
				return ErrWhole
			}
		}
		if !purged {
			continue
		}
		// Edges between purged resources run in the reverse direction.
		for _, id := range to {
			en, err := s.entry(ctx, id)
			if err != nil || en == nil {
				return cmp.Or(err, ErrWhole)
			}
			other, err := resource.Decode(en.Body)
			if err != nil || other.Purged || !slices.Contains(r.Requires, id) {
				return ErrWhole
			}
		}
	}
	for i := range s.list {
		requires = requires || slices.ContainsFunc(s.list[i].Requires, func(id resource.ID) bool {
			return s.now[id] == nil
		})
	}
	if required && requires { // otherwise no cycle passes through other sets
		if s.stays = s.sameOrder(); !s.stays {
			return ErrWhole
		}
	}
	return nil
}

// outside returns the resources of other sets that require a resource in the graph (from), and
// those that it requires (to).
func (s *bounded) outside(id resource.ID) (from, to []resource.ID) {
	others := func(nodes []int32) (out []resource.ID) {
		for _, n := range nodes {
			if id := s.graph.IDs[n]; s.was[id] == nil && !s.graph.Removing[n] {
				out = append(out, id)
			}
		}
		return out
	}
	n := s.graph.Node(id)
	if n < 0 {
		return nil, nil
	}
	return others(s.graph.Dependants(n)), others(s.graph.Requires(n))
}

// sameOrder reports whether the sets have the same resources as before, with the same requirements,
// and the same of them purged.
func (s *bounded) sameOrder() bool {
	for i := range s.list {
		r := &s.list[i]
		was := s.was[r.ID]
		if was == nil || was.Purged != r.Purged || !slices.Equal(was.Requires, r.Requires) {
			return false
		}
	}
	return len(s.list) == len(s.was)
}

// delta returns the differences to the version, given the new entries of the sets.
func (s *bounded) delta(ctx context.Context, entries []version.Entry) (*delta, error) {
	out := &delta{before: map[resource.ID]version.Entry{}, put: pointers(s.list), done: s.done,
		stays: s.stays}
	lost, err := lostValues(ctx, s.plan, entries, s.last.Agents)
	if err != nil {
		return nil, err
	}
	for id, en := range s.entries {
		if s.now[id] == nil {
			out.before[id] = en
		}
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
