package version

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/parallel"
	"southbound/shared/resource"
)

// ReadChunks returns the entries of chunks by id.
func ReadChunks(
	ctx context.Context,
	files state.Files,
	hashes []string,
) (map[resource.ID]Entry, error) {
	out := map[resource.ID]Entry{}
	if len(hashes) == 0 {
		return out, nil
	}
	texts, err := ReadTexts(ctx, files, hashes)
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		entries, err := ParseChunk(text, hashes[i])
		if err != nil {
			return nil, err
		}
		for _, en := range entries {
			out[en.ID] = en
		}
	}
	return out, nil
}

// ReadTexts returns the texts of chunks.
func ReadTexts(ctx context.Context, files state.Files, hashes []string) ([][]byte, error) {
	blobs, err := files.Get(ctx, hashes)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read version", err)
	}
	texts, errs := make([][]byte, len(blobs)), make([]error, len(blobs))
	parallel.For(len(blobs), func(i int) { texts[i], errs[i] = decompress(blobs[i]) })
	for i, err := range errs {
		if err != nil {
			return nil, DamagedChunk(hashes[i])
		}
	}
	return texts, nil
}

// Digest returns the digest of a version, given the digest of its content.
func Digest(content string, agents []resource.Agent) string {
	h := sha256.New()
	h.Write([]byte(content))
	b, _ := json.Marshal(agents) // maps are written in key order, and values came from documents
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}
