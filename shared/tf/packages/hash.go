package packages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"southbound/shared/fault"
)

// The schemes of hashes, as in the lock file of OpenTofu.
const (
	SchemeContent = "h1:" // of the unpacked files
	SchemeArchive = "zh:" // SHA-256 of the zip file
)

// contentHash returns the h1 hash of an unpacked package.
func contentHash(dir string) (string, error) {
	h, err := dirhash.HashDir(dir, "", dirhash.Hash1)
	return h, fault.Wrap(fault.Unavailable, "hash package", err)
}

// archiveHash returns the zh hash of a zip file.
func archiveHash(ctx context.Context, path string) (string, error) {
	digest, err := fileDigest(ctx, path)
	return SchemeArchive + digest, err
}

// fileDigest returns the SHA-256 of a file in hexadecimal.
func fileDigest(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fault.Wrap(fault.Unavailable, "hash file", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, &stopped{ctx, f}); err != nil {
		return "", fault.Wrap(fault.Unavailable, "hash file", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// stopped is a reader that ends with a context.
type stopped struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (s *stopped) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, fault.Ended(s.ctx)
	}
	return s.Reader.Read(b)
}

// ValidHash reports whether s is a hash of a scheme that this program knows.
func ValidHash(s string) bool {
	if rest, ok := strings.CutPrefix(s, SchemeArchive); ok {
		b, err := hex.DecodeString(rest)
		return err == nil && len(b) == sha256.Size && strings.ToLower(rest) == rest
	}
	rest, ok := strings.CutPrefix(s, SchemeContent)
	return ok && len(rest) == 44 && strings.HasSuffix(rest, "=")
}

// Check compares the hashes of a package with those that a lock allows. One common hash is enough,
// since each hash covers the whole package. Check returns Refused if there is none.
func Check(what string, hashes, allowed []string) error {
	for _, h := range hashes {
		if slices.Contains(allowed, h) {
			return nil
		}
	}
	if len(allowed) == 0 {
		return fault.New(fault.Refused, what, "the lock has no hashes").
			WithHint("add the provider again")
	}
	return fault.New(fault.Refused, what, "none of the hashes %s is in the lock",
		strings.Join(hashes, ", ")).
		WithHint("install the locked package, or update the lock if you trust this one")
}
