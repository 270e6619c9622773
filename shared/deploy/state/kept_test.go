package state_test

import (
	"bytes"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// FuzzDecodePlain pins that states with outputs are read back, and that nothing else panics.
func FuzzDecodePlain(f *testing.F) {
	for _, p := range []state.Plain{{}, {State: []byte("s")},
		{State: []byte("s"), Outputs: []byte(`{"a":1}`)},
		{State: []byte{0}, Outputs: bytes.Repeat([]byte("x"), 300)}} {
		f.Add(p.Encode())
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{5, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := state.DecodePlain(b)
		if err != nil {
			if !fault.Is(err, fault.Damaged) {
				t.Errorf("%x: %v", b, err)
			}
			return
		}
		back, err := state.DecodePlain(p.Encode())
		if err != nil || !bytes.Equal(back.State, p.State) || !bytes.Equal(back.Outputs, p.Outputs) {
			t.Errorf("%x: %+v, %v, want %+v", b, back, err, p)
		}
	})
}
