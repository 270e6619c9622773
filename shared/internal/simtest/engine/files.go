package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Files is state.Files in memory, with exactly the contract of the port. It is not safe for
// concurrent use.
type Files struct {
	// Now returns the time of storing a file; nil: always the zero time.
	Now func() time.Time

	stored map[string]stored
}

type stored struct {
	data []byte
	at   time.Time
}

// NewFiles returns an empty store.
func NewFiles() *Files { return &Files{stored: map[string]stored{}} }

// Missing implements state.Files.
func (f *Files) Missing(_ context.Context, hashes []string) ([]string, error) {
	var out []string
	for _, h := range hashes {
		if _, ok := f.stored[h]; !ok {
			out = append(out, h)
		}
	}
	return out, nil
}

// Put implements state.Files. It stores the blobs before one that does not match its hash.
func (f *Files) Put(_ context.Context, blobs []state.Blob) error {
	for i := range blobs {
		data, err := bytesOf(&blobs[i])
		if err != nil {
			return err
		}
		if sumOf(data) != blobs[i].Hash {
			return fault.New(fault.Invalid, "store file", "the bytes do not match the hash %s",
				blobs[i].Hash)
		}
		f.keep(blobs[i].Hash, data)
	}
	return nil
}

func bytesOf(b *state.Blob) ([]byte, error) {
	if b.Open == nil {
		return b.Data, nil
	}
	r, err := b.Open()
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "open file "+b.Hash, err)
	}
	data, err := io.ReadAll(r)
	if err == nil {
		err = r.Close()
	}
	return data, fault.Wrap(fault.Invalid, "read file "+b.Hash, err)
}

// sumOf returns the name under which bytes are stored.
func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (f *Files) keep(hash string, data []byte) {
	if s, ok := f.stored[hash]; ok && sumOf(s.data) == hash {
		return
	}
	s := stored{data: data}
	if f.Now != nil {
		s.at = f.Now()
	}
	f.stored[hash] = s
}

// Get implements state.Files.
func (f *Files) Get(_ context.Context, hashes []string) ([][]byte, error) {
	out := make([][]byte, len(hashes))
	for i, h := range hashes {
		s, ok := f.stored[h]
		switch {
		case !ok:
			return nil, fault.New(fault.NotFound, "read file", "file %s is not stored", h)
		case sumOf(s.data) != h:
			return nil, fault.New(fault.Damaged, "read file", "file %s is not what it was", h)
		}
		out[i] = s.data
	}
	return out, nil
}

// Open implements state.Files.
func (f *Files) Open(ctx context.Context, hash string) (io.ReadCloser, error) {
	blobs, err := f.Get(ctx, []string{hash})
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(blobs[0])), nil
}

// List implements state.Files.
func (f *Files) List(_ context.Context, each func(hash string, stored time.Time) error) error {
	for _, h := range slices.Sorted(maps.Keys(f.stored)) {
		if err := each(h, f.stored[h].at); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements state.Files.
func (f *Files) Delete(_ context.Context, hashes []string) error {
	for _, h := range hashes {
		delete(f.stored, h)
	}
	return nil
}

var _ state.Files = (*Files)(nil)
