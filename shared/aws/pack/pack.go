// Package pack compresses the pieces that are stored in AWS. It uses a dictionary of common text,
// which makes small pieces smaller. The dictionary is part of their format.
package pack

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/fault"
)

// maxUnpacked limits the decompressed size of a piece, in bytes.
const maxUnpacked = 1 << 30

// Packer compresses and decompresses. Any number of goroutines may use it.
type Packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// Once returns a function that calls New on first use, and returns the same packer from then on. A
// compressor uses ten megabytes, and making it takes longer than compressing most pieces. So a
// process that opens several homes, or a home again, shares one packer.
func Once(id uint32, dictionary string) func() (*Packer, error) {
	return sync.OnceValues(func() (*Packer, error) { return New(id, dictionary) })
}

// New returns a packer with a dictionary. The output contains id, which has to be unique to the
// dictionary.
func New(id uint32, dictionary string) (*Packer, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderDictRaw(id, []byte(dictionary)),
		zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "make compressor", err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0),
		zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderDictRaw(id, []byte(dictionary)))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "make decompressor", err)
	}
	return &Packer{enc: e, dec: d}, nil
}

// Pack compresses b.
func (p *Packer) Pack(b []byte) []byte { return p.enc.EncodeAll(b, nil) }

// Unpack decompresses the output of Pack. An error means that b is damaged.
func (p *Packer) Unpack(b []byte) ([]byte, error) {
	return p.dec.DecodeAll(b, nil) // the caller adds where b was stored
}
