package results

import (
	"context"
	"io"
	"slices"

	"southbound/shared/api/chunk"
	"southbound/shared/api/problem"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

const (
	resultMark = `{"southbound_result":1,"items":[`
	maxInline  = 256 << 10
	partBytes  = 2 << 20
)

func ReadPart[T any](
	ctx context.Context, s *Store, hash string,
) (part ResultPart[T], err error) {
	b, err := s.Result(ctx, hash)
	if err == nil {
		err = wire.Decode(b, &part)
	}
	return part, err
}

// Keep makes an answer of bounded size.
func (s *Store) Keep(ctx context.Context, d deploy.DryRun) (ReadDone, error) {
	all := make([]PlannedChange, len(d.Planned))
	for i := range d.Planned {
		all[i] = PlannedChange(d.Planned[i])
	}
	items, parts, err := InParts(ctx, s.Files, all)
	done := ReadDone{Version: d.Version, State: d.State, Covered: d.Covered, Total: len(all),
		Items: items, Parts: parts, Agents: PlannedAgentsOf(d.Agents)}
	if d.Refused != nil {
		f := problem.FailureOf(d.Refused)
		done.Refused = &f
	}
	return done, err
}

// InParts bounds the size of an answer: it returns the first items, and the hashes under which the
// others are stored.
func InParts[T any](
	ctx context.Context, files state.Files, all []T,
) (items []T, parts []string, err error) {
	return Divide(ctx, files, all, maxInline)
}

// Divide is inParts with at most so many bytes of first items.
func Divide[T any](
	ctx context.Context, files state.Files, all []T, inline int,
) (items []T, parts []string, err error) {
	items, parts = []T{}, []string{}
	var blobs []state.Blob
	var text []byte
	flush := func() {
		if len(text) > 0 {
			blobs = append(blobs, chunk.Blob(append(text, "]}"...)))
			parts = append(parts, blobs[len(blobs)-1].Hash)
			text = nil
		}
	}
	size := 0
	for i := range all {
		line, err := wire.Encode(all[i])
		if err != nil {
			return nil, nil, err
		}
		if size += len(line); size <= inline {
			items = append(items, all[i])
			continue
		}
		if len(text)+len(line) > partBytes {
			flush()
		}
		if text == nil {
			text = append(make([]byte, 0, partBytes), resultMark...)
		} else {
			text = append(text, ',')
		}
		text = append(text, line...)
	}
	flush()
	if len(blobs) > 0 {
		if err := files.Put(ctx, blobs); err != nil {
			return nil, nil, fault.Wrap(fault.Unknown, "store result", err)
		}
	}
	return items, parts, nil
}

// Result returns a stored part of the answer to a comparison; other files are NotFound.
func (s *Store) Result(ctx context.Context, hash string) ([]byte, error) {
	gone := fault.New(fault.NotFound, "read result", "there is no such result").
		WithHint("repeat the comparison; results are kept for a day")
	if !wire.ValidHash(hash) {
		return nil, gone
	}
	f, err := s.Files.Open(ctx, hash)
	if fault.Is(err, fault.NotFound) {
		return nil, gone
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read result", err)
	}
	defer func() { _ = f.Close() }()
	start := make([]byte, len(resultMark))
	if _, err := io.ReadFull(f, start); err != nil || string(start) != resultMark {
		return nil, gone
	}
	rest, err := io.ReadAll(io.LimitReader(f, 64<<20))
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "read result", err)
	}
	return slices.Concat(start, rest), nil
}

type Store struct{ Files state.Files }
