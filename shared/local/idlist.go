package local

import (
	"encoding/binary"

	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// idList is the first byte of a stored list of ids. A checksum follows, and then the ids, each by
// what differs from the one before: lists are of neighbours, and are written with every commit.
const idList = 1

// joinIDs encodes a list of ids; an empty one is empty.
func joinIDs(ids []resource.ID) []byte {
	if len(ids) == 0 {
		return []byte{}
	}
	w := &binform.Writer{B: make([]byte, 1+sumSize, 64+len(ids)*16)}
	w.B[0] = idList
	before := ""
	for _, id := range ids {
		putRest(w, before, string(id))
		before = string(id)
	}
	binary.LittleEndian.PutUint32(w.B[1:], sumOf(w.B[1+sumSize:]))
	return w.B
}

// splitIDs is the inverse of joinIDs. What does not decode is Damaged.
func splitIDs(stored []byte) ([]resource.ID, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	if len(stored) < 1+sumSize || stored[0] != idList ||
		sumOf(stored[1+sumSize:]) != binary.LittleEndian.Uint32(stored[1:]) {
		return nil, damagedIDs()
	}
	d := &binform.Reader{B: stored[1+sumSize:]}
	// One string holds all, so that a list takes few allocations.
	all, ends := make([]byte, 0, 8*len(stored)), make([]int, 0, len(d.B)/4)
	begin := 0
	for len(d.B) > 0 && !d.Bad {
		same := int(d.UintTo(uint64(len(all) - begin))) // bounded
		before := begin
		begin = len(all)
		all = append(append(all, all[before:before+same]...), d.Bytes()...)
		ends = append(ends, len(all))
	}
	if d.Bad {
		return nil, damagedIDs()
	}
	out, text, begin := make([]resource.ID, len(ends)), string(all), 0
	for i, end := range ends {
		out[i] = resource.ID(text[begin:end])
		begin = end
	}
	return out, nil
}

func damagedIDs() error {
	return fault.New(fault.Damaged, "read state", "a list of resources is not as it was written").
		WithHint("the disk, or something else, has changed the database; %s", damagedHint)
}

// running are the resources that run under a lease, as they are stored: to read them takes time,
// and few have to know.
type running []byte

// still returns which of them run on behind a commit that has met conflicts.
func (r running) still(conflicts []state.Row) ([]resource.ID, error) {
	if len(conflicts) == 0 {
		return nil, nil
	}
	ids, err := splitIDs(r)
	return state.StillRunning(ids, conflicts), err
}
