package deploy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// A version's resources stand in chunks: files of lines "intent hash, tab, encoded resource", each sorted by id. A resource's chunk
// follows from its id, so that an export in which ten of a hundred thousand resources changed shares all but ten chunks with the
// one before: they are neither written nor, when two versions are compared, read.
const chunkSize = 256 // resources in a chunk, about

// entry is one resource of a version.
type entry struct {
	ID   resource.ID
	Hash string
	Body []byte
}

func buckets(n int) int {
	b := 1
	for b*chunkSize < n {
		b *= 2
	}
	return b
}

func bucketOf(id resource.ID, of int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return int(h.Sum64() % uint64(of)) //nolint:gosec // of is positive
}

// chunks splits entries, which are sorted by id, into blobs and returns these with the digest of the whole.
func chunks(entries []entry) ([]Blob, string) {
	of := buckets(len(entries))
	parts := make([]bytes.Buffer, of)
	for i := range entries {
		e := &entries[i]
		p := &parts[bucketOf(e.ID, of)]
		p.WriteString(e.Hash)
		p.WriteByte('\t')
		p.Write(e.Body)
		p.WriteByte('\n')
	}
	blobs := make([]Blob, of)
	whole := sha256.New()
	sums := make([][sha256.Size]byte, of)
	parallel(of, func(i int) {
		sums[i] = sha256.Sum256(parts[i].Bytes())
		blobs[i] = blobOf(compress(parts[i].Bytes()))
	})
	for _, s := range sums {
		whole.Write(s[:])
	}
	return blobs, hex.EncodeToString(whole.Sum(nil))
}

func blobOf(data []byte) Blob {
	sum := sha256.Sum256(data)
	return Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data)), Data: data}
}

// parallel calls f for 0..n-1 on all processors; pure computation only.
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
		for line := range bytes.Lines(text) {
			hash, body, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t"))
			if !ok {
				return nil, damagedChunk(hashes[i])
			}
			r, err := resource.Decode(body)
			if err != nil {
				return nil, damagedChunk(hashes[i])
			}
			out[r.ID] = entry{ID: r.ID, Hash: string(hash), Body: body}
		}
	}
	return out, nil
}

func damagedChunk(hash string) error {
	return fault.New(fault.Damaged, "read version", "file %s does not hold resources", hash).
		WithHint("the stored files were changed by something else; restore them, or export again")
}

// sharedChunks returns which of a and b are in both, as positions do not matter: equal hash, equal content.
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

// The codecs are safe for concurrent use of EncodeAll and DecodeAll and are costly to make, so they are made once, on first use.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		enc, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		return enc
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		dec, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		return dec
	})
)

func compress(b []byte) []byte { return encoder().EncodeAll(b, nil) }

func decompress(b []byte) ([]byte, error) { return decoder().DecodeAll(b, nil) }

// joinIDs is for messages: the first few of ids and how many more there are.
func joinIDs(ids []resource.ID, most int) string {
	var b strings.Builder
	for i, id := range ids {
		if i == most {
			b.WriteString(" and more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(id))
	}
	return b.String()
}
