package binform

import (
	"slices"
	"testing"
	"testing/quick"
	"time"
)

// TestComesBack pins that whatever is written is read, in its order, and that nothing is left.
func TestComesBack(t *testing.T) {
	t.Parallel()
	words := []string{"deployed", "failed"}
	same := func(c byte, is bool, u uint64, i, at int64, b []byte, s, word string,
		list []string) bool {
		w := &Writer{}
		w.Byte(c)
		w.Bool(is)
		w.Uint(u)
		w.Int(i)
		w.Time(TimeOf(at))
		w.Bytes(b)
		w.Text(s)
		w.Texts(list)
		for _, h := range []string{s, "00ff", "00FF", ""} {
			w.Hex(h)
		}
		w.Word(word, words)
		w.Word("failed", words)
		r := &Reader{B: w.B}
		ok := r.Byte() == c && r.Bool() == is && r.Uint() == u && r.Int() == i &&
			r.Time().Equal(TimeOf(at)) && slices.Equal(r.Bytes(), b) &&
			r.Text() == s && slices.Equal(r.Texts(), list)
		for _, h := range []string{s, "00ff", "00FF", ""} {
			ok = ok && r.Hex() == h
		}
		return ok && r.Word(words) == word && r.Word(words) == "failed" && r.Done()
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

func TestZeroTime(t *testing.T) {
	t.Parallel()
	w := &Writer{}
	w.Time(time.Time{})
	if r := (&Reader{B: w.B}); !r.Time().IsZero() || !r.Done() {
		t.Error("the zero time does not come back")
	}
}

// TestDoesNotFit pins that what was not written so is refused, and that a reader that failed stays
// so.
func TestDoesNotFit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bytes string
		read  func(*Reader)
	}{
		"nothing for a byte": {"", func(r *Reader) { r.Byte() }},
		"a number cut off":   {"\x80", func(r *Reader) { r.Uint() }},
		"a number of too many bytes": {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
			func(r *Reader) { r.Int() }},
		"a text longer than the rest":  {"\x05abc", func(r *Reader) { _ = r.Text() }},
		"a list longer than the rest":  {"\x7f\x01a", func(r *Reader) { r.Texts() }},
		"a hash longer than the rest":  {"\x41a", func(r *Reader) { r.Hex() }},
		"a word that there is not":     {"\x09", func(r *Reader) { r.Word([]string{"a"}) }},
		"a number above its limit":     {"\x05", func(r *Reader) { r.UintTo(4) }},
		"a negative number of bytes":   {"abc", func(r *Reader) { r.Take(-1) }},
		"a word that is not there":     {"", func(r *Reader) { r.Word([]string{"a"}) }},
		"what the caller refuses":      {"abc", func(r *Reader) { r.Fail() }},
		"a byte more than was written": {"ab", func(r *Reader) { r.Byte() }},
	}
	for why, tt := range tests {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			r := &Reader{B: []byte(tt.bytes)}
			tt.read(r)
			if r.Done() {
				t.Error("read as if it fitted")
			}
			if r.Bad && (r.Byte() != 0 || r.Text() != "" || r.Done()) {
				t.Error("it went on after what did not fit")
			}
		})
	}
}
