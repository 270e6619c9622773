package deploy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// The resources of a version stand in chunks: files with a line "intent hash, tab, encoded resource" each, sorted by id. Which chunk a
// resource is in follows from its id. So an export that changes ten of a hundred thousand resources shares all but at most ten chunks with
// the version before; these are neither written nor, when the two versions are compared, read.

// entry is one resource of a version.
type entry struct {
	ID   resource.ID
	Hash string
	Body []byte
}

// buckets returns how many chunks of about size resources a version of n has: a power of two, so that the number
// seldom changes.
func buckets(n, size int) int {
	b := 1
	for b*size < n {
		b *= 2
	}
	return b
}

// sorted returns entries in order of id.
func sorted(byID map[resource.ID]entry) []entry {
	entries := make([]entry, 0, len(byID))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		entries = append(entries, byID[id])
	}
	return entries
}

// bucketOf returns the index of a resource's chunk.
func bucketOf(id resource.ID, of int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return int(h.Sum64() % uint64(of)) //nolint:gosec // of is positive
}

// chunks splits entries, which are sorted by id, into blobs of about size resources and returns these with the digest
// of the whole.
func chunks(entries []entry, size int) ([]state.Blob, string) {
	of := buckets(len(entries), size)
	parts := make([]bytes.Buffer, of)
	for i := range entries {
		e := &entries[i]
		p := &parts[bucketOf(e.ID, of)]
		e.write(p)
	}
	blobs := make([]state.Blob, of)
	sums := make([][sha256.Size]byte, of)
	parallel(of, func(i int) {
		sums[i] = sha256.Sum256(parts[i].Bytes())
		blobs[i] = blobOf(compress(parts[i].Bytes()))
	})
	return blobs, wholeDigest(sums)
}

// same reports whether two entries of a resource differ in nothing.
func (en *entry) same(o *entry) bool { return en.Hash == o.Hash && bytes.Equal(en.Body, o.Body) }

// write writes the line of an entry.
func (en *entry) write(to *bytes.Buffer) {
	to.WriteString(en.Hash)
	to.WriteByte('\t')
	to.Write(en.Body)
	to.WriteByte('\n')
}

// textOf returns the text of a chunk with entries, which are sorted by id.
func textOf(entries []entry) []byte {
	var b bytes.Buffer
	for i := range entries {
		entries[i].write(&b)
	}
	return b.Bytes()
}

// wholeDigest returns the digest of all chunks of a version, of which it gets those of their texts.
func wholeDigest(sums [][sha256.Size]byte) string {
	whole := sha256.New()
	for _, s := range sums {
		whole.Write(s[:])
	}
	return hex.EncodeToString(whole.Sum(nil))
}

func blobOf(data []byte) state.Blob {
	sum := sha256.Sum256(data)
	return state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data)), Data: data}
}

// parallel calls f for 0..n-1 on all processors. f must be pure computation: what waits must go through the ports.
func parallel(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}

// readChunks returns the entries of chunks by id.
func (e *Engine) readChunks(ctx context.Context, hashes []string) (map[resource.ID]entry, error) {
	out := map[resource.ID]entry{}
	if len(hashes) == 0 {
		return out, nil
	}
	blobs, err := e.Files.Get(ctx, hashes)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read version", err)
	}
	for i, blob := range blobs {
		text, err := decompress(blob)
		if err != nil {
			return nil, damagedChunk(hashes[i])
		}
		entries, err := entriesOf(text, hashes[i])
		if err != nil {
			return nil, err
		}
		for _, en := range entries {
			out[en.ID] = en
		}
	}
	return out, nil
}

// entriesOf returns the entries of the text of a chunk, in its order; hash is for an error.
func entriesOf(text []byte, hash string) ([]entry, error) {
	var out []entry
	for line := range bytes.Lines(text) {
		intent, body, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
		if !ok {
			return nil, damagedChunk(hash)
		}
		r, err := resource.Decode(body)
		if err != nil {
			return nil, damagedChunk(hash)
		}
		out = append(out, entry{ID: r.ID, Hash: string(intent), Body: body})
	}
	return out, nil
}

func damagedChunk(hash string) error {
	return fault.New(fault.Damaged, "read version", "file %s does not hold resources", hash).
		WithHint("the stored files were changed by something else; restore them, or export again")
}

// sharedChunks returns the chunks that are in both a and b. Their positions do not matter: equal hashes, equal content.
func sharedChunks(a, b []string) map[string]bool {
	in := make(map[string]bool, len(a))
	for _, h := range a {
		in[h] = false
	}
	shared := map[string]bool{}
	for _, h := range b {
		if _, ok := in[h]; ok {
			shared[h] = true
		}
	}
	return shared
}

func without(hashes []string, drop map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(hashes), func(h string) bool { return drop[h] })
}

// packWindow is how far back an encoder looks for what repeats. Twice as much stays in memory.
const packWindow = 1 << 20

// The codecs are safe for concurrent use of EncodeAll and DecodeAll and are costly to make, so they are made once, on first use.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		enc, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(packWindow))
		return enc
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		dec, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		return dec
	})
)

// compress returns no more room than it needs: what it works in is as large as b, and what it returns is
// held until it is stored.
func compress(b []byte) []byte { return bytes.Clone(encoder().EncodeAll(b, nil)) }

func decompress(b []byte) ([]byte, error) { return decoder().DecodeAll(b, nil) }
