package fs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

const (
	// mostShown bounds how much of a differing file is kept to be shown.
	mostShown = 4 << 10
	// mostHashed bounds how large a file of the wrong size may be to be hashed all the same, so that people see which one it is.
	mostHashed = 1 << 20
)

// contentOf reports the content of an open file in the form in which it is wanted: the wanted value itself when it is the same, else text
// (the beginning of a long one) or the hash (empty for a large file whose size tells it apart). No more than buf is held in memory.
func contentOf(ctx context.Context, f openFile, size int64, want any, buf []byte) (any, error) {
	switch want := want.(type) {
	case string:
		same, shown, err := sameText(ctx, f, size, want, buf)
		if same {
			return want, err
		}
		return shown, err
	case resource.File:
		if size != want.Size && size > mostHashed {
			return resource.File{Size: size}, nil
		}
		have, err := hashOf(ctx, f, size, buf)
		return have, err
	}
	return nil, provider.Errorf(provider.NeedsChange, "content is neither text nor a file")
}

// hashOf hashes an open file. A small one takes a single read.
func hashOf(ctx context.Context, f openFile, size int64, buf []byte) (resource.File, error) {
	if size < int64(len(buf)) {
		n, err := readUpTo(f, buf, int(size))
		if err == nil && n < int(size) {
			err = provider.Errorf(provider.Retryable, "something else changed the file while it was read")
		}
		if err != nil {
			return resource.File{}, err
		}
		sum := sha256.Sum256(buf[:n])
		return resource.File{Hash: hex.EncodeToString(sum[:]), Size: size}, nil
	}
	h := sha256.New()
	n, err := pump(ctx, nil, h, f, buf)
	return resource.File{Hash: hex.EncodeToString(h.Sum(nil)), Size: n}, err
}

// readUpTo fills buf with n bytes, fewer when the file ends before.
func readUpTo(f openFile, buf []byte, n int) (int, error) {
	got, err := io.ReadFull(f, buf[:n])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return got, err
}

// sameText compares an open file with a text. When they differ, shown is the beginning of the file.
func sameText(ctx context.Context, f openFile, size int64, want string, buf []byte) (same bool, shown string, err error) {
	if size != int64(len(want)) {
		n, err := readUpTo(f, buf, min(mostShown+1, len(buf)))
		return false, preview(buf[:n], size), err
	}
	head := ""
	for rest := want; rest != ""; {
		if err := ctx.Err(); err != nil {
			return false, "", err
		}
		n, err := readUpTo(f, buf, min(len(rest), len(buf)))
		if err != nil {
			return false, "", err
		}
		same := n > 0 && string(buf[:n]) == rest[:n]
		if head == "" && !(same && n == len(rest)) {
			head = preview(buf[:min(n, mostShown+1)], size)
		}
		if !same {
			return false, head, nil
		}
		rest = rest[n:]
	}
	return true, "", nil
}

// sameBytes reports whether two files are the same.
func sameBytes(ctx context.Context, a, b openFile) (bool, error) {
	buf := buffers.Get().(*[]byte) //nolint:forcetypeassert // its own
	defer buffers.Put(buf)
	half := len(*buf) / 2
	one, two := (*buf)[:half], (*buf)[half:2*half]
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := readUpTo(a, one, half)
		if err != nil {
			return false, err
		}
		m, err := readUpTo(b, two, half)
		if err != nil || n != m || !bytes.Equal(one[:n], two[:m]) {
			return false, err
		}
		if n < half {
			return true, nil
		}
	}
}

// preview is the beginning of a file, as text.
func preview(head []byte, size int64) string {
	more := ""
	if size > mostShown {
		head, more = head[:min(len(head), mostShown)], "…"
	}
	return strings.ToValidUTF8(string(head), "?") + more
}

// pump copies src to the end into dst, which may be nil, and h, which may be nil, and stops when ctx is over.
func pump(ctx context.Context, dst io.Writer, h hash.Hash, src io.Reader, buf []byte) (total int64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := src.Read(buf)
		total += int64(n)
		if h != nil {
			_, _ = h.Write(buf[:n]) // never fails
		}
		if dst != nil && n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return total, err
			}
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// fill writes wanted content into an open file. Uploaded bytes are checked against their hash once more on the way.
func fill(ctx *provider.Context, f openFile, content any) error {
	buf := buffers.Get().(*[]byte) //nolint:forcetypeassert // its own
	defer buffers.Put(buf)
	switch c := content.(type) {
	case nil:
		return nil
	case string:
		_, err := pump(ctx, f, nil, strings.NewReader(c), *buf)
		return err
	case resource.File:
		src, err := ctx.Files().Open(ctx, c.Hash)
		if fault.Is(err, fault.NotFound) {
			return provider.Errorf(provider.NeedsChange, "the uploaded bytes %s are gone; export again", c.Hash)
		}
		if err != nil {
			return provider.Errorf(provider.Retryable, "open uploaded bytes: %w", err)
		}
		defer src.Close()
		h := sha256.New()
		if _, err := pump(ctx, f, h, src, *buf); err != nil {
			return err
		}
		if hex.EncodeToString(h.Sum(nil)) != c.Hash {
			return provider.Errorf(provider.Terminal, "the uploaded bytes %s are damaged; upload them again", c.Hash)
		}
		return nil
	}
	return provider.Errorf(provider.NeedsChange, "content is neither text nor a file")
}
