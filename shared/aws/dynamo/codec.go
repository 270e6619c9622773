package dynamo

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/fault"
)

// enc appends values to b.
type enc struct{ b []byte }

func (e *enc) byte(c byte) { e.b = append(e.b, c) }
func (e *enc) bool(is bool) {
	if is {
		e.byte(1)
		return
	}
	e.byte(0)
}
func (e *enc) uint(v uint64)     { e.b = binary.AppendUvarint(e.b, v) }
func (e *enc) int(v int64)       { e.b = binary.AppendVarint(e.b, v) }
func (e *enc) len(n int)         { e.uint(uint64(n)) } //nolint:gosec // lengths are not negative
func (e *enc) time(t time.Time)  { e.int(nanos(t)) }
func (e *enc) bytes(v []byte)    { e.len(len(v)); e.b = append(e.b, v...) }
func (e *enc) text(s string)     { e.len(len(s)); e.b = append(e.b, s...) }
func (e *enc) texts(ss []string) { e.len(len(ss)); each(ss, e.text) }

func each[T any](list []T, f func(T)) {
	for _, v := range list {
		f(v)
	}
}

// hex writes text that is mostly hexadecimal digits, such as hashes and ids of actions, in half the room.
func (e *enc) hex(s string) {
	if raw, err := hex.DecodeString(s); err == nil && s != "" && hex.EncodeToString(raw) == s {
		e.uint(uint64(len(raw))<<1 | 1)
		e.b = append(e.b, raw...)
		return
	}
	e.uint(uint64(len(s)) << 1)
	e.b = append(e.b, s...)
}

// word writes one of a few words as a byte, and any other as text.
func (e *enc) word(s string, words []string) {
	for i, w := range words {
		if w == s {
			e.byte(byte(i + 1)) //nolint:gosec // a few words
			return
		}
	}
	e.byte(0)
	e.text(s)
}

// dec reads what enc wrote. The first thing that does not fit makes all later reads fail.
type dec struct {
	b   []byte
	bad bool
}

func (d *dec) fail() {
	d.bad, d.b = true, nil
}

func (d *dec) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *dec) bool() bool { return d.byte() == 1 }

func (d *dec) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *dec) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

// len reads a length, which cannot be more than what is left.
func (d *dec) len() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n) //nolint:gosec // checked
}

func (d *dec) take(n int) []byte {
	if n > len(d.b) {
		d.fail()
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

func (d *dec) bytes() []byte { return d.take(d.len()) }

func (d *dec) text() string { return string(d.bytes()) }

func (d *dec) texts() []string {
	var out []string
	for n := d.len(); n > 0 && !d.bad; n-- {
		out = append(out, d.text())
	}
	return out
}

func (d *dec) hex() string {
	n := d.uint()
	if n>>1 > uint64(len(d.b)) {
		d.fail()
		return ""
	}
	raw := d.take(int(n >> 1)) //nolint:gosec // checked
	if n&1 == 1 {
		return hex.EncodeToString(raw)
	}
	return string(raw)
}

func (d *dec) time() time.Time { return timeOf(d.int()) }

func (d *dec) word(words []string) string {
	i := d.byte()
	switch {
	case i == 0:
		return d.text()
	case int(i) > len(words):
		d.fail()
		return ""
	}
	return words[i-1]
}

// nanos stores a time; 0 is the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func timeOf(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

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
