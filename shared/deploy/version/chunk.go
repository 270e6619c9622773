package version

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/parallel"
	"southbound/shared/resource"
)

// The resources of a version are stored in chunks: files with a line "intent hash, tab, encoded
// resource" each, sorted by id. The id of a resource determines its chunk. So an export that
// changes ten of a hundred thousand resources shares all but at most ten chunks with the previous
// version. The shared chunks are neither written nor read when the two versions are compared.

// Buckets returns how many chunks of about size resources a version of n has: a power of two, so
// that the number rarely changes.
func Buckets(n, size int) int {
	b := 1
	for b*size < n {
		b *= 2
	}
	return b
}

// ChunkOf returns the index of a resource's chunk.
func ChunkOf(id resource.ID, of int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return int(h.Sum64() % uint64(of)) // of is positive
}

// Chunks splits entries, which are sorted by id, into blobs of about size resources and returns
// these with the sums of their texts. The texts of all chunks are as large as the whole desired
// state, so Chunks holds only a few of them at a time.
func Chunks(entries []Entry, size int) ([]state.Blob, [][sha256.Size]byte) {
	of := Buckets(len(entries), size)
	parts := make([][]*Entry, of)
	for i := range entries {
		b := ChunkOf(entries[i].ID, of)
		parts[b] = append(parts[b], &entries[i])
	}
	blobs := make([]state.Blob, of)
	sums := make([][sha256.Size]byte, of)
	parallel.For(of, func(i int) {
		blobs[i], sums[i] = encodeChunk(textOf(parts[i]))
	})
	return blobs, sums
}

// textOf returns the text of a chunk with entries, which are sorted by id.
func textOf(entries []*Entry) []byte {
	n := 0
	for _, en := range entries {
		n += en.size()
	}
	var b bytes.Buffer
	b.Grow(n)
	for _, en := range entries {
		en.write(&b)
	}
	return b.Bytes()
}

// Chunk returns the file of a chunk with entries, which are sorted by id.
func Chunk(entries []Entry) state.Blob {
	blobs, _ := Chunks(entries, len(entries)+1)
	return blobs[0]
}

// encodeChunk returns the file of a chunk, and the sum of its text.
func encodeChunk(text []byte) (state.Blob, [sha256.Size]byte) {
	return FileOf(compress(text)), sha256.Sum256(text)
}

// EditChunks applies an edit to a version: it removes the resources of gone, and puts new entries and
// replacements of entries with the same ids. It replaces the hashes of the chunks that change and the
// sums of their texts, and returns their files. read returns the lines of a chunk.
func EditChunks(hashes []string, sums [][sha256.Size]byte, gone []resource.ID, put []Entry,
	read func(chunk int) (*Lines, error)) ([]state.Blob, error) {
	gones, puts := map[int][]resource.ID{}, map[int][]Entry{}
	for _, id := range gone {
		b := ChunkOf(id, len(hashes))
		gones[b] = append(gones[b], id)
	}
	for i := range put {
		b := ChunkOf(put[i].ID, len(hashes))
		puts[b] = append(puts[b], put[i])
	}
	var blobs []state.Blob
	for b := range hashes {
		if len(gones[b])+len(puts[b]) == 0 {
			continue
		}
		lines, err := read(b)
		if err != nil {
			return nil, err
		}
		text, err := lines.edit(gones[b], puts[b])
		if err != nil {
			return nil, err
		}
		var blob state.Blob
		blob, sums[b] = encodeChunk(text)
		hashes[b], blobs = blob.Hash, append(blobs, blob)
	}
	return blobs, nil
}

// SumsDigest returns the digest of all chunks of a version, given the sums of their texts.
func SumsDigest(sums [][sha256.Size]byte) string {
	whole := sha256.New()
	for _, s := range sums {
		whole.Write(s[:])
	}
	return hex.EncodeToString(whole.Sum(nil))
}

// FileOf returns the file with these bytes, as they are.
func FileOf(data []byte) state.Blob {
	sum := sha256.Sum256(data)
	return state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data)), Data: data}
}

// ParseChunk returns the entries of the text of a chunk, in its order; hash is for an error.
func ParseChunk(text []byte, hash string) ([]Entry, error) {
	var out []Entry
	for line := range bytes.Lines(text) {
		en, err := parseLine(line, hash)
		if err != nil {
			return nil, err
		}
		out = append(out, en)
	}
	return out, nil
}

// parseLine returns the entry of a line of a chunk.
func parseLine(line []byte, hash string) (Entry, error) {
	intent, body, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
	if !ok {
		return Entry{}, DamagedChunk(hash)
	}
	r, err := resource.Decode(body)
	if err != nil {
		return Entry{}, DamagedChunk(hash)
	}
	// The id is cloned, since it shares memory with a text as large as the body.
	id := resource.ID(strings.Clone(string(r.ID)))
	return Entry{ID: id, Hash: string(intent), Body: body}, nil
}

// DamagedChunk returns the error of a chunk that does not decode.
func DamagedChunk(hash string) error {
	return fault.New(fault.Damaged, "read version", "file %s does not hold resources", hash).
		WithHint("the stored files were changed by something else; restore them, or export again")
}

// SharedChunks returns the chunks that are in both a and b. Their positions do not matter: equal
// hashes mean equal content.
func SharedChunks(a, b []string) map[string]bool {
	in := make(map[string]bool, len(a))
	for _, h := range a {
		in[h] = true
	}
	shared := map[string]bool{}
	for _, h := range b {
		if in[h] {
			shared[h] = true
		}
	}
	return shared
}

// Without returns hashes without those to drop.
func Without(hashes []string, drop map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(hashes), func(h string) bool { return drop[h] })
}

// packWindow is the size of an encoder's window for repetitions. An encoder keeps little more than
// that in memory.
const packWindow = 1 << 20

// The codecs are safe for concurrent use of EncodeAll and DecodeAll and are costly to create, so
// they are created once, on first use.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		enc, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(packWindow),
			zstd.WithLowerEncoderMem(true))
		return enc
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		dec, _ := zstd.NewReader(
			nil,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(1<<30),
		)
		return dec
	})
)

// compress returns a slice without spare capacity: the encoder's buffer is as large as b, and the
// caller holds the result until it is stored.
func compress(b []byte) []byte { return bytes.Clone(encoder().EncodeAll(b, nil)) }

func decompress(b []byte) ([]byte, error) { return decoder().DecodeAll(b, nil) }
