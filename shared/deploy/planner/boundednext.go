package planner

import (
	"context"
	"crypto/sha256"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// The version that results from a bounded edit.

// next builds the version after the edit; v has its base, and its files without an index.
func (s *bounded) next(ctx context.Context, x Export, v state.Version) (next, error) {
	d, err := s.delta(ctx, s.will.entries)
	if err != nil {
		return next{}, err
	}
	v.Resources += len(s.list) - len(s.was)
	if version.Buckets(v.Resources, s.plan.pl.ChunkSize) != len(v.Chunks) {
		return next{}, ErrWhole
	}
	v.Number, v.At, v.Pack = s.plan.env.Last+1, s.plan.pl.Clock.Now(), s.plan.pl.Pack
	v.Origin = x.Origin
	v.Chunks, v.Sets = slices.Clone(v.Chunks), replacedSets(v.Sets, s.sets, setsOf(s.list))
	sums, blobs, err := s.chunks(ctx, &v, d)
	if err != nil {
		return next{}, err
	}
	v.Digest = version.Digest(version.SumsDigest(sums), v.Agents)
	if v.Digest == s.last.Digest {
		return next{version: s.last, last: s.last, delta: d}, nil
	}
	marks := version.MarksOf(s.plan.pl.Checker, s.reached, pointers(s.list), len(sums))
	known := s.others.Changed(nil, marks)
	if known != nil {
		known.Sums = sums
		v.Files, known = s.files(known), known.Folded()
	}
	return next{version: v, last: s.last, fresh: true, blobs: blobs, delta: d, contents: known}, nil
}

// chunks applies the difference to the chunks of a version. It returns the sums of all chunks and
// the files of the changed ones.
func (s *bounded) chunks(
	ctx context.Context, v *state.Version, d *delta,
) ([][sha256.Size]byte, []state.Blob, error) {
	var gone []resource.ID
	for id := range d.before {
		if s.now[id] == nil {
			gone = append(gone, id)
		}
	}
	sums, err := s.sums(ctx)
	if err != nil {
		return nil, nil, err
	}
	blobs, err := version.EditChunks(v.Chunks, sums, gone, d.after,
		func(b int) (*version.Lines, error) { return s.chunk(ctx, b) })
	return sums, blobs, err
}

// files returns the files of the version, given its contents.
func (s *bounded) files(now *version.Contents) []string {
	out := slices.Clone(s.last.Files)
	for i := range s.list {
		for _, hash := range version.FilesOf(&s.list[i]) {
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

func pointers(list []resource.Resource) []*resource.Resource {
	out := make([]*resource.Resource, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}
