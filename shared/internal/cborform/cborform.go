// Package cborform encodes stored records as CBOR. Times are texts in UTC, with nanoseconds.
package cborform

import (
	"sync"

	"github.com/fxamacker/cbor/v2"
)

var encoder = sync.OnceValue(func() cbor.EncMode {
	mode, _ := cbor.EncOptions{Time: cbor.TimeRFC3339NanoUTC}.EncMode() // the options are valid
	return mode
})

// decoder accepts any bytes in a text, as ids do.
var decoder = sync.OnceValue(func() cbor.DecMode {
	mode, _ := cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid}.DecMode() // the options are valid
	return mode
})

// Encode returns the stored form of a record of numbers, texts, times, and lists of these.
func Encode(record any) []byte {
	b, _ := encoder().Marshal(record) // cannot fail for these types
	return b
}

// Decode is the inverse of Encode.
func Decode(b []byte, record any) error { return decoder().Unmarshal(b, record) }
