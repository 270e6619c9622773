package deploy

import (
	"context"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"southbound/shared/deploy/state"
	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// mostFileText is the greatest length, in bytes, of a file that is used as a text.
const mostFileText = 1 << 20

// resolveFiles replaces uploaded files by their text in what the handler sees, unless its type takes files as they are.
func (e *Engine) resolveFiles(ctx context.Context, r *run) {
	if r.over() || r.typ == nil || slices.Contains(r.typ.Features, schema.FeatureFiles) {
		return
	}
	for name, v := range r.want.Attributes {
		if len(resource.References(v)) == 0 {
			continue
		}
		changed := false
		resolved, err := resource.Walk(v, func(ref any) (any, error) {
			f, ok := ref.(resource.File)
			if !ok {
				return ref, nil
			}
			changed = true
			return fileText(ctx, r.host.Files(), f)
		})
		switch {
		case err != nil:
			r.end(state.StatusFailed, provider.ClassOf(err), fmt.Sprintf("attribute %s: %v", name, err))
			return
		case !changed:
			continue
		}
		if a, ok := r.typ.Attribute(name); ok && a.DataType.Check(resolved) != nil {
			r.end(state.StatusFailed, provider.NeedsChange, fmt.Sprintf("attribute %s: the text of the file is not %s", name, a.DataType.Describe()))
			return
		}
		r.want.Attributes[name] = resolved
	}
}

// MostCompared is the greatest length, in bytes, of a file that is shown by its text.
const MostCompared = 256 << 10

// fileTexts gives files as texts that people can read; false for others, for long ones, and for those that are not at hand.
type fileTexts func(f resource.File) (string, bool)

// of returns the text of a value: of a file, a text itself, or nothing.
func (t fileTexts) of(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case resource.File:
		if v.Hash == "" || v.Size > MostCompared {
			return "", false
		}
		return t(v)
	}
	return "", false
}

// textsOf returns texts from files. It never fails: what cannot be had is shown by size and hash.
func textsOf(ctx context.Context, from provider.Files) fileTexts {
	return func(f resource.File) (string, bool) {
		in, err := from.Open(ctx, f.Hash)
		if err != nil {
			return "", false
		}
		defer func() { _ = in.Close() }()
		b, err := io.ReadAll(io.LimitReader(in, MostCompared+1))
		if err != nil || int64(len(b)) != f.Size || !diffview.IsText(b) {
			return "", false
		}
		return string(b), true
	}
}

// mostTexts is how many files one preview reads to show them by their texts.
const mostTexts = 1000

// few gives only so many texts.
func few(t fileTexts) fileTexts {
	left := mostTexts
	return func(f resource.File) (string, bool) {
		if left--; left < 0 {
			return "", false
		}
		return t(f)
	}
}

// texts gives the files that a run is about as texts.
func (r *run) texts() fileTexts {
	if r.ctx == nil || r.ctx.Context == nil {
		return nil
	}
	return textsOf(r.ctx.Context, r.host.Files())
}

// fileText returns the text of a file.
func fileText(ctx context.Context, files provider.Files, f resource.File) (string, error) {
	if f.Size > mostFileText {
		return "", provider.Errorf(provider.NeedsChange, "the file has %d bytes, and a text has at most %d", f.Size, mostFileText)
	}
	in, err := files.Open(ctx, f.Hash)
	if fault.Is(err, fault.NotFound) {
		return "", provider.Errorf(provider.NeedsChange, "the uploaded bytes %s are gone; export again", f.Hash)
	}
	if err != nil {
		return "", provider.Errorf(provider.Retryable, "open uploaded bytes: %w", err)
	}
	defer func() { _ = in.Close() }()
	b, err := io.ReadAll(io.LimitReader(in, mostFileText+1))
	switch {
	case err != nil:
		return "", provider.Errorf(provider.Retryable, "read uploaded bytes: %w", err)
	case len(b) > mostFileText || !utf8.Valid(b):
		return "", provider.Errorf(provider.NeedsChange, "the file is not text in UTF-8 of at most %d bytes", mostFileText)
	}
	return string(b), nil
}
