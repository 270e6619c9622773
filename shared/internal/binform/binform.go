// Package binform writes and reads the small values that stored state consists of, in few bytes and
// without names: numbers of variable length, texts after their length, times. The form is what
// encoding/binary calls varint; what the values mean, and the number of the format, belong to who
// writes them.
package binform

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
)

// Writer appends values to B. The zero Writer is ready.
type Writer struct{ B []byte }

// Byte writes one byte.
func (w *Writer) Byte(c byte) { w.B = append(w.B, c) }

// Bool writes a byte, 1 for true.
func (w *Writer) Bool(is bool) {
	if is {
		w.Byte(1)
		return
	}
	w.Byte(0)
}

// Uint writes v in as few bytes as it needs.
func (w *Writer) Uint(v uint64) { w.B = binary.AppendUvarint(w.B, v) }

// Int writes v, which may be negative, in as few bytes as it needs.
func (w *Writer) Int(v int64) { w.B = binary.AppendVarint(w.B, v) }

// Len writes a length or a count, which is never negative.
func (w *Writer) Len(n int) { w.Uint(uint64(n)) } // lengths are not negative

// Time writes t to the nanosecond; its location is lost.
func (w *Writer) Time(t time.Time) { w.Int(Nanos(t)) }

// Bytes writes v after its length.
func (w *Writer) Bytes(v []byte) {
	w.Len(len(v))
	w.B = append(w.B, v...)
}

// Text writes s after its length.
func (w *Writer) Text(s string) {
	w.Len(len(s))
	w.B = append(w.B, s...)
}

// Texts writes a list after how many there are.
func (w *Writer) Texts(list []string) { WriteTexts(w, list) }

// WriteTexts is Texts for a list of a type of its own.
func WriteTexts[T ~string](w *Writer, list []T) {
	w.Len(len(list))
	for _, s := range list {
		w.Text(string(s))
	}
}

// Hex writes any text; one of hexadecimal digits in lower case, such as a hash, takes half the
// room.
func (w *Writer) Hex(s string) {
	start := len(w.B)
	w.Uint(uint64(len(s)/2)<<1 | 1)
	all, err := hex.AppendDecode(w.B, []byte(s))
	if err == nil && s != "" && !strings.ContainsAny(s, "ABCDEF") {
		w.B = all
		return
	}
	w.B = w.B[:start]
	w.Uint(uint64(len(s)) << 1)
	w.B = append(w.B, s...)
}

// Word writes one of a few words, at most 255, as a byte, and any other text after a zero.
func (w *Writer) Word(s string, words []string) {
	for i, one := range words {
		if one == s {
			w.Byte(byte(i + 1))
			return
		}
	}
	w.Byte(0)
	w.Text(s)
}

// Reader reads what a Writer wrote, from the start of B, which shrinks. The first thing that does
// not fit sets Bad and leaves nothing, so that all later reads give zero values and a caller asks
// once, at the end.
type Reader struct {
	B   []byte
	Bad bool
}

// Fail says that what was read makes no sense to the caller.
func (r *Reader) Fail() { r.Bad, r.B = true, nil }

// Done reports whether everything fitted and nothing is left.
func (r *Reader) Done() bool { return !r.Bad && len(r.B) == 0 }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.B) == 0 {
		r.Fail()
		return 0
	}
	c := r.B[0]
	r.B = r.B[1:]
	return c
}

// Bool reads what Writer.Bool wrote.
func (r *Reader) Bool() bool { return r.Byte() == 1 }

// Uint reads what Writer.Uint wrote.
func (r *Reader) Uint() uint64 {
	if len(r.B) > 0 && r.B[0] < 0x80 { // most numbers are one byte
		v := uint64(r.B[0])
		r.B = r.B[1:]
		return v
	}
	v, n := binary.Uvarint(r.B)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.B = r.B[n:]
	return v
}

// Int reads what Writer.Int wrote.
func (r *Reader) Int() int64 {
	v := r.Uint()
	return int64(v>>1) ^ -int64(v&1) // as binary.Varint
}

// UintTo reads a number that is at most limit.
func (r *Reader) UintTo(limit uint64) uint64 {
	v := r.Uint()
	if v > limit {
		r.Fail()
		return 0
	}
	return v
}

// Len reads a length or a count. It is at most the number of bytes left, since everything takes a
// byte, so that a caller may allocate for it.
func (r *Reader) Len() int {
	return int(r.UintTo(uint64(len(r.B)))) // checked
}

// Take reads n bytes, which stay part of the array of B.
func (r *Reader) Take(n int) []byte {
	if n < 0 || n > len(r.B) {
		r.Fail()
		return nil
	}
	out := r.B[:n:n]
	r.B = r.B[n:]
	return out
}

// Bytes reads what Writer.Bytes wrote; it stays part of the array of B.
func (r *Reader) Bytes() []byte { return r.Take(r.Len()) }

// Text reads what Writer.Text wrote.
func (r *Reader) Text() string { return string(r.Bytes()) }

// Texts reads what Writer.Texts wrote; no texts are nil.
func (r *Reader) Texts() []string { return ReadTexts[string](r) }

// ReadTexts is Texts for a list of a type of its own.
func ReadTexts[T ~string](r *Reader) []T {
	var out []T
	for n := r.Len(); n > 0 && !r.Bad; n-- {
		out = append(out, T(r.Text()))
	}
	return out
}

// Hex reads what Writer.Hex wrote.
func (r *Reader) Hex() string {
	n := r.Uint()
	if n>>1 > uint64(len(r.B)) {
		r.Fail()
		return ""
	}
	raw := r.Take(int(n >> 1)) // checked
	if n&1 == 1 {
		var room [64]byte // a hash fits, so that only the text is allocated
		return string(hex.AppendEncode(room[:0], raw))
	}
	return string(raw)
}

// Time reads what Writer.Time wrote, in UTC.
func (r *Reader) Time() time.Time { return TimeOf(r.Int()) }

// Word reads what Writer.Word wrote with the same words, without allocating for one of them.
func (r *Reader) Word(words []string) string {
	i := r.Byte()
	switch {
	case r.Bad:
		return ""
	case i == 0:
		return r.Text()
	case int(i) > len(words):
		r.Fail()
		return ""
	}
	return words[i-1]
}

// Nanos is a time as a number: nanoseconds since 1970, and 0 for the zero time.
func Nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// TimeOf is the inverse of Nanos, in UTC.
func TimeOf(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
