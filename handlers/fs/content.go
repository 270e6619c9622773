package fs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"southbound/handlers/internal/disk"

	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

const (
	// maxShown is the size of the largest text that is shown when it differs.
	maxShown = 64 << 10
	// maxHashed is the largest file of the wrong size that is hashed anyway, so that people see
	// which file it is.
	maxHashed = 1 << 20
)

// contentOf reports the content of an open file in the form of the desired value. If both are
// equal, it returns the desired value itself. Otherwise it returns the text, or, for binary or long
// content, the size and hash (no hash for a large file whose size already differs). A text is
// reported whole or not at all, so that it never appears to differ in unread parts. buf has
// maxShown bytes, and no more is held in memory.
func contentOf(ctx context.Context, f disk.File, size int64, want any, buf []byte) (any, error) {
	text, isText := want.(string)
	file, isFile := want.(resource.File)
	switch {
	case !isText && !isFile:
		return nil, provider.Errorf(provider.NeedsChange, "content is neither text nor a file")
	case size <= maxShown:
		n, err := disk.ReadUpTo(f, buf, int(size))
		if err == nil && n < int(size) {
			err = provider.Errorf(provider.Retryable,
				"something else changed the file while it was read")
		}
		if err != nil {
			return nil, err
		}
		return small(buf[:n], want), nil
	case isText && size == int64(len(text)):
		if same, err := sameText(ctx, f, text, buf); same || err != nil {
			return want, err
		}
		if err := f.Rewind(); err != nil {
			return nil, err
		}
	}
	if size > maxHashed && !(isFile && size == file.Size) {
		return resource.File{Size: size}, nil
	}
	return hashOf(ctx, f, buf)
}

// small reports a content that is in memory.
func small(have []byte, want any) any {
	if text, is := want.(string); is && text == string(have) {
		return want
	}
	_, hashed := want.(resource.File)
	if !hashed && diffview.IsText(have) {
		return string(have)
	}
	sum := sha256.Sum256(have)
	file := resource.File{Hash: hex.EncodeToString(sum[:]), Size: int64(len(have))}
	if want == file || !diffview.IsText(have) {
		return file
	}
	return string(have)
}

// hashOf hashes an open file.
func hashOf(ctx context.Context, f disk.File, buf []byte) (resource.File, error) {
	h := sha256.New()
	n, err := disk.Pump(ctx, nil, h, f, buf)
	return resource.File{Hash: hex.EncodeToString(h.Sum(nil)), Size: n}, err
}

// sameText reports whether an open file begins with a text.
func sameText(ctx context.Context, f disk.File, want string, buf []byte) (bool, error) {
	for rest := want; rest != ""; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := disk.ReadUpTo(f, buf, min(len(rest), len(buf)))
		if err != nil || n == 0 || string(buf[:n]) != rest[:n] {
			return false, err
		}
		rest = rest[n:]
	}
	return true, nil
}

// fill writes desired content into an open file. It verifies the hash of uploaded bytes during the
// copy.
func fill(ctx *provider.Context, f disk.File, content any) error {
	buf := disk.Buffers.Get().(*[]byte)
	defer disk.Buffers.Put(buf)
	switch c := content.(type) {
	case nil:
		return nil
	case string:
		_, err := disk.Pump(ctx, f, nil, strings.NewReader(c), *buf)
		return err
	case resource.File:
		src, err := ctx.Files().Open(ctx, c.Hash)
		if fault.Is(err, fault.NotFound) {
			return provider.Errorf(provider.NeedsChange,
				"the uploaded bytes %s are gone; export again", c.Hash)
		}
		if err != nil {
			return provider.Errorf(provider.Retryable, "open uploaded bytes: %w", err)
		}
		defer src.Close()
		h := sha256.New()
		if _, err := disk.Pump(ctx, f, h, src, *buf); err != nil {
			return err
		}
		if hex.EncodeToString(h.Sum(nil)) != c.Hash {
			return provider.Errorf(provider.Terminal,
				"the uploaded bytes %s are damaged; upload them again", c.Hash)
		}
		return nil
	}
	return provider.Errorf(provider.NeedsChange, "content is neither text nor a file")
}
