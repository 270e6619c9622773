package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strconv"
	"time"

	"southbound/shared/fault"
)

func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func Gzip(body []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is valid
	_, _ = z.Write(body)                              // writing to memory does not fail
	_ = z.Close()
	return out.Bytes()
}

// Encode returns the transferred JSON of a value.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fault.Wrap(fault.Internal, "write answer", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode parses JSON with its numbers in their written form.
func Decode(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return fault.Wrap(fault.Damaged, "read answer", dec.Decode(v))
}

// Text returns a text, "" if s is nil.
func Text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Number formats a number of a query.
func Number[N int | int64](n N) string { return strconv.FormatInt(int64(n), 10) }

// OrEmpty returns a list that is encoded as [] and never as null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// TimeOrNil returns a time that is encoded as null if it is zero.
func TimeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
