package local

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// FuzzDecodeState: damaged bytes are Damaged, and what decodes encodes to the same row again.
func FuzzDecodeState(f *testing.F) {
	f.Add(encodeState(&state.Row{Version: 1, Hash: "h", Compliance: state.Compliant,
		Missing: []string{"m"}, Causes: []resource.ID{"c"}}))
	f.Add([]byte{stateFormat})
	f.Fuzz(func(t *testing.T, stored []byte) {
		var row, again state.Row
		if err := decodeState(stored, &row); err != nil {
			if !fault.Is(err, fault.Damaged) {
				t.Errorf("%v", err)
			}
			return
		}
		if err := decodeState(encodeState(&row), &again); err != nil ||
			!reflect.DeepEqual(row, again) {
			t.Errorf("%v: %+v, then %+v", err, row, again)
		}
	})
}

// FuzzDecodeActions: damaged bytes are an error.
func FuzzDecodeActions(f *testing.F) {
	now, err := encodeActions([]state.Action{{ID: "1", Resource: "a", Pack: "p"},
		{ID: "12", Resource: "ab", Reason: "why", Outcome: "odd"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(now)
	f.Fuzz(func(t *testing.T, stored []byte) {
		if len(stored) > sumSize && stored[0] == actionsFormat {
			stored = bytes.Clone(stored)
			binary.LittleEndian.PutUint32(stored[1:], sumOf(stored[1+sumSize:]))
		}
		if _, err := decodeActions(stored); err != nil && !fault.Is(err, fault.Damaged) {
			t.Errorf("%v", err)
		}
	})
}
