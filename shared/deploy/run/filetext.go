package run

import (
	"context"
	"io"
	"unicode/utf8"

	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// maxFileText is the greatest length, in bytes, of a file that is used as a text.
const maxFileText = 1 << 20

// MaxCompared is the greatest length, in bytes, of a file that is shown by its text.
const MaxCompared = 256 << 10

// Texts returns the text of a file; false for files that are not text, too long or not available.
type Texts func(f resource.File) (string, bool)

// of returns the text of a value: of a file, of a string, or "" for nil.
func (t Texts) of(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case resource.File:
		if v.Hash == "" || v.Size > MaxCompared {
			return "", false
		}
		return t(v)
	}
	return "", false
}

// TextsOf returns the texts of files. It never fails: a file without a text is shown by size and
// hash.
func TextsOf(ctx context.Context, from provider.Files) Texts {
	return func(f resource.File) (string, bool) {
		in, err := from.Open(ctx, f.Hash)
		if err != nil {
			return "", false
		}
		defer func() { _ = in.Close() }()
		b, err := io.ReadAll(io.LimitReader(in, MaxCompared+1))
		if err != nil || int64(len(b)) != f.Size || !diffview.IsText(b) {
			return "", false
		}
		return string(b), true
	}
}

// maxTexts is how many files one preview reads to show them by their texts.
const maxTexts = 1000

// FewTexts limits t to maxTexts calls.
func FewTexts(t Texts) Texts {
	left := maxTexts
	return func(f resource.File) (string, bool) {
		if left--; left < 0 {
			return "", false
		}
		return t(f)
	}
}

// texts returns the texts of files for a call; nil if there is no call.
func (h *host) texts(ctx *provider.Context) Texts {
	if ctx == nil || ctx.Context == nil {
		return nil
	}
	return TextsOf(ctx.Context, h.Files())
}

// fileText returns the text of a file.
func fileText(ctx context.Context, files provider.Files, f resource.File) (string, error) {
	if f.Size > maxFileText {
		return "", provider.Errorf(
			provider.NeedsChange,
			"the file has %d bytes, and a text has at most %d",
			f.Size,
			maxFileText,
		)
	}
	in, err := files.Open(ctx, f.Hash)
	if fault.Is(err, fault.NotFound) {
		return "", provider.Errorf(
			provider.NeedsChange,
			"the uploaded bytes %s are gone; export again",
			f.Hash,
		)
	}
	if err != nil {
		return "", provider.Errorf(provider.Retryable, "open uploaded bytes: %w", err)
	}
	defer func() { _ = in.Close() }()
	b, err := io.ReadAll(io.LimitReader(in, maxFileText+1))
	switch {
	case err != nil:
		return "", provider.Errorf(provider.Retryable, "read uploaded bytes: %w", err)
	case len(b) > maxFileText || !utf8.Valid(b):
		return "", provider.Errorf(
			provider.NeedsChange,
			"the file is not text in UTF-8 of at most %d bytes",
			maxFileText,
		)
	}
	return string(b), nil
}
