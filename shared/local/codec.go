package local

import (
	"bytes"
	"time"

	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/state/rowcodec"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// stateFormat is the first byte of a stored state.
const stateFormat = 3

// encodeState encodes the part of a row that its record in a block does not show.
func encodeState(r *state.Row) []byte {
	w := &binform.Writer{B: make([]byte, 0, typicalState)}
	putState(w, r)
	return w.B
}

// typicalState is the room that most encoded states fit in.
const typicalState = 96

// putState writes what encodeState returns.
func putState(w *binform.Writer, r *state.Row) {
	part := *r
	part.Rev, part.Ticket, part.NextAt, part.Checked, part.Body = 0, 0, time.Time{}, 0, nil
	w.Byte(stateFormat)
	rowcodec.Write(w, &part, true)
}

// decodeState is the inverse of encodeState, into a row that has what its record shows, and no body
// yet; what does not decode is Damaged.
func decodeState(b []byte, r *state.Row) error {
	d := &binform.Reader{B: b}
	if d.Byte() != stateFormat {
		return damagedRow(r.ID)
	}
	rev, ticket, nextAt, checked := r.Rev, r.Ticket, r.NextAt, r.Checked
	if rowcodec.ReadWhole(d, r); !d.Done() {
		return damagedRow(r.ID)
	}
	r.Rev, r.Ticket, r.NextAt, r.Checked, r.Body = rev, ticket, nextAt, checked, nil
	// Else a row would hold all of its block.
	r.Waiting, r.Notes = ownBytes(r.Waiting), ownBytes(r.Notes)
	return nil
}

// ownBytes returns a copy, nil if there are none.
func ownBytes(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return bytes.Clone(b)
}

func damagedRow(id resource.ID) error {
	return fault.New(fault.Damaged, "read state", "the row of %s does not decode", id).
		WithHint("the database was changed by something else; %s", damagedHint)
}
