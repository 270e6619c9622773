package local

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// maxInBlock bounds how many rows share a block. To read all rows costs less the more do, to write
// one of them costs more.
const maxInBlock = 64

// record is one row in a block: what is looked for beside its encoded state, and what it wants.
type record struct {
	id                           resource.ID
	rev, ticket, nextAt, checked int64
	lane                         string
	status                       string
	state                        []byte
	body                         []byte // as it is stored, see row
	sum                          uint32 // of the body when it was written
	gone                         bool   // to be left out when the block is written
}

// castagnoli is the checksum that processors compute themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf is what is stored beside bytes, to tell whether they are still those that were written.
func sumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// setBody replaces what the row wants.
func (r *record) setBody(b []byte) { r.body, r.sum = b, sumOf(b) }

// row returns the row. A body that is not the one that was written is left out.
func (r *record) row() (state.Row, error) {
	var out state.Row
	err := r.read(&out)
	return out, err
}

// read is row, into the room for one, which is empty.
func (r *record) read(out *state.Row) error {
	out.ID, out.Rev, out.Lane, out.Ticket = r.id, r.rev, r.lane, r.ticket
	out.NextAt, out.Checked = binform.TimeOf(r.nextAt), r.checked
	if err := decodeState(r.state, out); err != nil {
		return err
	}
	if sumOf(r.body) == r.sum {
		out.Body = r.body
	}
	return nil
}

// set makes the record what a commit wants of a row, of which encoded is the state, but for its
// body.
func (r *record) set(row *state.Row, status state.Status, encoded []byte) {
	r.rev, r.lane, r.ticket, r.checked = row.Rev+1, row.Lane, row.Ticket, row.Checked
	r.nextAt, r.status, r.state = binform.Nanos(row.NextAt), string(status), encoded
}

// blockFormat is the first byte of an encoded block, after its checksum.
const blockFormat = 1

const sumSize = 4

// statusWords are the statuses that are stored in one byte. Others may be added at the end.
func statusWords() []string {
	return []string{string(state.StatusDeployed), string(state.StatusAvailable),
		string(state.StatusFailed), string(state.StatusSkipped), string(state.StatusBlocked),
		string(state.StatusUndefined), string(state.StatusOrphaned),
		string(state.StatusNonCompliant), string(state.StatusUnavailable)}
}

// encodeRecords encodes the rows of a block without their bodies. An id is written as how much of
// the one before it begins it as well, and the rest.
func encodeRecords(recs []record) []byte {
	w := &binform.Writer{B: make([]byte, sumSize, 64+len(recs)*160)}
	w.Byte(blockFormat)
	lanes, index := []string{}, map[string]int{}
	for i := range recs {
		if _, has := index[recs[i].lane]; !has {
			index[recs[i].lane] = len(lanes)
			lanes = append(lanes, recs[i].lane)
		}
	}
	w.Texts(lanes)
	w.Len(len(recs))
	before, words := resource.ID(""), statusWords()
	for i := range recs {
		r := &recs[i]
		putRest(w, string(before), string(r.id))
		w.Len(index[r.lane])
		for _, n := range []int64{r.rev, r.ticket, r.nextAt, r.checked} {
			w.Int(n)
		}
		w.Word(r.status, words)
		w.Bytes(r.state)
		before = r.id
	}
	binary.LittleEndian.PutUint32(w.B, sumOf(w.B[sumSize:]))
	return w.B
}

// commonPrefix returns how many bytes begin both.
func commonPrefix[T ~string](a, b T) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// decodeRecords is the inverse of encodeRecords. States stay part of stored; what does not decode,
// or has changed since it was written, is Damaged.
func decodeRecords(stored []byte) ([]record, error) { return appendRecords(nil, stored) }

// appendRecords is decodeRecords into the room of recs, which is empty.
func appendRecords(recs []record, stored []byte) ([]record, error) {
	if len(stored) < sumSize || sumOf(stored[sumSize:]) != binary.LittleEndian.Uint32(stored) {
		return nil, damagedBlock()
	}
	d := &binform.Reader{B: stored[sumSize:]}
	if d.Byte() != blockFormat {
		return nil, damagedBlock()
	}
	lanes := d.Texts()
	n := d.Len()
	recs = slices.Grow(recs, n)[:n]
	clear(recs)
	ids, ends, words := make([]byte, 0, 64*len(recs)), make([]int, len(recs)), statusWords()
	begin := 0
	for i := range recs {
		r := &recs[i]
		same := d.UintTo(uint64(len(ids) - begin)) // not negative
		before := begin
		begin = len(ids)
		ids = append(ids, ids[before:before+int(same)]...) // bounded
		ids = append(ids, d.Bytes()...)
		ends[i] = len(ids)
		if lane := d.Uint(); lane < uint64(len(lanes)) {
			r.lane = lanes[lane]
		} else {
			d.Fail()
		}
		r.rev, r.ticket, r.nextAt, r.checked = d.Int(), d.Int(), d.Int(), d.Int()
		r.status = d.Word(words)
		r.state = d.Bytes()
	}
	if !d.Done() {
		return nil, damagedBlock()
	}
	all, begin := string(ids), 0 // one string for all
	for i := range recs {
		recs[i].id = resource.ID(all[begin:ends[i]])
		begin = ends[i]
	}
	return recs, nil
}

func damagedBlock() error {
	return fault.New(fault.Damaged, "read state", "a block of rows is not as it was written").
		WithHint("the disk, or something else, has changed the database; %s", damagedHint)
}

// encodeBodies encodes what the rows of a block want: the length and the checksum of each, a
// checksum of these, and then the bodies.
func encodeBodies(recs []record) []byte {
	size := sumSize + 5 + len(recs)*(5+sumSize)
	for i := range recs {
		size += len(recs[i].body)
	}
	w := &binform.Writer{B: make([]byte, sumSize, size)}
	w.Len(len(recs))
	for i := range recs {
		w.Len(len(recs[i].body))
		w.B = binary.LittleEndian.AppendUint32(w.B, recs[i].sum)
	}
	binary.LittleEndian.PutUint32(w.B, sumOf(w.B[sumSize:]))
	for i := range recs {
		w.B = append(w.B, recs[i].body...)
	}
	return w.B
}

// decodeBodies gives records their bodies, which stay part of stored. If it cannot be told where
// they are, all have none, and sums that do not match.
func decodeBodies(stored []byte, recs []record) {
	for i := range recs {
		recs[i].body, recs[i].sum = nil, ^sumOf(nil)
	}
	if len(stored) < sumSize {
		return
	}
	d := &binform.Reader{B: stored[sumSize:]}
	if d.Len() != len(recs) {
		return
	}
	lengths, sums := make([]int, len(recs)), make([]uint32, len(recs))
	for i := range recs {
		lengths[i] = d.Len()
		if b := d.Take(sumSize); b != nil {
			sums[i] = binary.LittleEndian.Uint32(b)
		}
	}
	frame := stored[sumSize : len(stored)-len(d.B)]
	if d.Bad || sumOf(frame) != binary.LittleEndian.Uint32(stored) {
		return
	}
	for i := range recs {
		recs[i].body, recs[i].sum = d.Take(lengths[i]), sums[i]
	}
}
