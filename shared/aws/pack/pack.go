// Package pack compresses the pieces that are stored in AWS. Small pieces gain by a dictionary of
// what stands in most of them, which is part of their format.
package pack

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/fault"
)

// maxUnpacked bounds, in bytes, what a piece may come to.
const maxUnpacked = 1 << 30

// Packer compresses. It may be used by any number of goroutines.
type Packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// Once returns what makes such a packer as New on first use, and returns the same one from then on.
// A compressor works in ten megabytes, which take longer to make than most pieces to compress; who
// opens a home for each environment, or begins anew, does not need another one.
func Once(id uint32, dictionary string) func() (*Packer, error) {
	return sync.OnceValues(func() (*Packer, error) { return New(id, dictionary) })
}

// New returns a packer with a dictionary; id stands in what it writes, and no two dictionaries have
// the same.
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

// Pack returns b compressed.
func (p *Packer) Pack(b []byte) []byte { return p.enc.EncodeAll(b, nil) }

// Unpack returns what was packed. Its error says that it is damaged.
func (p *Packer) Unpack(b []byte) ([]byte, error) {
	return p.dec.DecodeAll(b, nil) // who stored it says where it was
}
