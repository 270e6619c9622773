package dynamo

import (
	"bytes"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/binform"
	"southbound/shared/fault"
)

// enc writes what is stored, dec reads it; what they add to a Writer and a Reader stands where the thing is that they write.
type (
	enc struct{ binform.Writer }
	dec struct{ binform.Reader }
)

func decode(b []byte) *dec { return &dec{binform.Reader{B: b}} }

// packer compresses; without encoder and decoder it does nothing. Small pieces gain by a dictionary of what stands in most of them; it is part of the format.
type packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

const dictID = 1

func newPacker(plain bool) (*packer, error) {
	if plain {
		return &packer{}, nil
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithEncoderDictRaw(dictID, []byte(dictionary)),
		zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "make compressor", err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(1<<30), zstd.WithDecoderDictRaw(dictID, []byte(dictionary)))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "make decompressor", err)
	}
	return &packer{enc: e, dec: d}, nil
}

func (p *packer) pack(b []byte) []byte {
	if p.enc == nil {
		return bytes.Clone(b)
	}
	return p.enc.EncodeAll(b, nil)
}

func (p *packer) unpack(b []byte) ([]byte, error) {
	if p.dec == nil {
		return b, nil
	}
	out, err := p.dec.DecodeAll(b, nil)
	if err != nil {
		return nil, damaged("a stored piece does not decompress: %v", err)
	}
	return out, nil
}

func damaged(format string, args ...any) error {
	return fault.New(fault.Damaged, "read state", format, args...).
		WithHint("the table or the bucket was changed by something else; restore both to one point in time")
}

// dictionary holds what stands in most small deltas.
const dictionary = `{"requires":["fs::Directory[,path=/srv/"],"send_event":true,"receive_events":true,"purged":true,"purge_on_delete":true,"report_only":true` +
	`{"id":"std::Null[a,name=","type":"std::Null","agent":"a","attributes":{"name":"` +
	`{"id":"fs::File[web1,path=/srv/","type":"fs::File","agent":"web1","attributes":{"content":{"file":"","size":},"mode":"0644","owner":"root","group":"root","path":"/` +
	`requires , which is not deployed` + "\x00" + `the handler did not answer within ` +
	`"messages":[{"at":"2026-01-01T00:00:00.000000000Z","level":"debug","msg":"","kwargs":{"":""}},{"at":"2026-01-01T00:00:00.000000000Z","level":"info","msg":"` +
	`"changes":{"":{"current":"","desired":""},"mode":{"current":null,"desired":"0644"}},"messages":[{"at":"","level":"error","msg":""}],"reason":"","stale":true,` +
	`[{"id":"","resource":"","version":1,"action":"repair","outcome":"failed","change":"updated","started":"","finished":"","pack":"` +
	`","version":1,"action":"deploy","outcome":"deployed","change":"created","started":"2026-` + `","finished":"2026-` + `","pack":"`
