package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

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

// content returns the content of the version after the edit: entries are those of the put resources.
// Without an index, the version has the given files.
func (s *bounded) content(
	ctx context.Context, entries []version.Entry, files []string,
) (next, error) {
	d, err := s.delta(ctx, entries)
	if err != nil {
		return next{}, err
	}
	v := state.Version{Resources: s.base.Resources + len(s.put) - len(s.was), Agents: s.base.Agents,
		Sets:   replacedSets(s.base.Sets, s.sets, setsOf(s.put)),
		Chunks: slices.Clone(s.base.Chunks), Files: files}
	if version.Buckets(v.Resources, s.plan.pl.ChunkSize) != len(v.Chunks) {
		return next{}, ErrWhole
	}
	sums, err := s.base.sums(ctx)
	if err != nil {
		return next{}, err
	}
	blobs, err := version.EditChunks(v.Chunks, sums, s.dropped(), d.after,
		func(b int) (*version.Lines, error) { return s.base.chunk(ctx, b) })
	if err != nil {
		return next{}, err
	}
	contents := s.others.Changed(nil, s.marks(d.put, len(sums)))
	if contents != nil {
		contents.Sums = sums
		v.Files, contents = s.files(contents), contents.Folded()
	}
	return next{version: v, sums: sums, blobs: blobs, delta: d, contents: contents}, nil
}

// dropped returns the resources that the edit drops.
func (s *bounded) dropped() []resource.ID {
	var out []resource.ID
	for id := range s.was {
		if s.now[id] == nil {
			out = append(out, id)
		}
	}
	return out
}

// files returns the files of the version, given its contents.
func (s *bounded) files(now *version.Contents) []string {
	out := slices.Clone(s.base.Files)
	for i := range s.put {
		for _, hash := range version.FilesOf(&s.put[i]) {
			if at, there := slices.BinarySearch(out, hash); !there {
				out = slices.Insert(out, at, hash)
			}
		}
	}
	for _, r := range s.was {
		for _, hash := range version.FilesOf(r) {
			if at, there := slices.BinarySearch(out, hash); there && !now.Has(version.RefersTo(hash)) {
				out = slices.Delete(out, at, at+1)
			}
		}
	}
	return out
}

// replacedSets returns sets without dropped sets and with put sets, sorted.
func replacedSets(sets, drop, put []string) []string {
	out := slices.DeleteFunc(slices.Clone(sets), func(s string) bool {
		_, dropped := slices.BinarySearch(drop, s)
		return dropped
	})
	out = append(out, put...)
	slices.Sort(out)
	return slices.Compact(out)
}
