package version

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestPackedAsBefore holds that chunks are packed into the same bytes as by an encoder that keeps
// twice its window in memory, as it did before: the name of a chunk is the hash of them.
func TestPackedAsBefore(t *testing.T) {
	t.Parallel()
	before, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(packWindow))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 100, 300 << 10, packWindow, 3*packWindow + 1000, 9 * packWindow} {
		var b bytes.Buffer
		for b.Len() < size {
			fmt.Fprintf(&b, "fs::File[web%d,path=/srv/%06d] %x\n", r.IntN(4), r.IntN(50000),
				r.Uint64()>>r.IntN(64))
		}
		if got, want := compress(b.Bytes()),
			before.EncodeAll(b.Bytes(), nil); !bytes.Equal(got, want) {
			t.Errorf("%d bytes are packed into %d others", b.Len(), len(got))
		}
	}
}
