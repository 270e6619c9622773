package local

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/cborform"
	"southbound/shared/resource"
)

// record is one row of the tables resources and intents.
type record struct {
	id, lane, status            string
	rev, ticket, timer, checked int64
	state                       []byte // the row in CBOR
	sum                         uint32 // of the values above
	body                        []byte
	bodySum                     uint32
	searched                    // follows from the others
}

// searched are the columns of a row that searches compare.
type searched struct {
	compliance, lastRun, blocked string
	why                          string // the reason, in lower case
	set                          string // the resource set, if the body is known
}

// recordOf returns the record of a row that is written with the revision rev.
func recordOf(r *state.Row, rev int64) record {
	out := record{id: string(r.ID), rev: rev, lane: r.Agent, ticket: r.Ticket(), timer: nanos(r.Timer()),
		checked: r.Checked, status: string(r.Status()), body: r.Body, bodySum: sumOf(r.Body),
		searched: searched{compliance: string(r.Comparison()), lastRun: string(r.LastRun),
			blocked: string(r.Block()), why: strings.ToLower(r.Why()), set: r.ResourceSet()}}
	out.state = cborform.Encode(r)
	out.sum = out.checksum()
	return out
}

// verify returns Damaged if a record does not match its checksum.
func (r *record) verify() error {
	if r.sum == r.checksum() {
		return nil
	}
	return fault.New(fault.Damaged, "read state", "the record of %s is not as it was written", r.id).
		WithHint("the disk, or something else, has changed the database; %s", damagedHint)
}

// read decodes a record into an empty row. It omits a body that does not match its checksum.
func (r *record) read(out *state.Row) error {
	if err := r.verify(); err != nil {
		return err
	}
	if err := cborform.Decode(r.state, out); err != nil {
		return fault.Wrap(fault.Internal, "decode the record of "+r.id, err)
	}
	out.ID, out.Rev, out.Agent = resource.ID(r.id), r.rev, r.lane
	if len(r.body) > 0 && r.bodySum == sumOf(r.body) {
		out.Body = r.body
	}
	return nil
}

// checksum returns the checksum of all values of a record except its body.
func (r *record) checksum() uint32 {
	b := make([]byte, 0, 512)
	for _, n := range []int64{r.rev, r.ticket, r.timer, r.checked} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n)) // negative numbers keep their bits
	}
	for _, s := range []string{r.id, r.lane, r.status} {
		b = append(append(b, s...), 0)
	}
	return sumOf(append(b, r.state...))
}

// castagnoli is the table of CRC-32C, which processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf returns the checksum that is stored beside b.
func sumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// sumSize is the size of a stored checksum.
const sumSize = 4

// joinIDs encodes a list of ids, followed by a checksum. An empty list is encoded as nothing.
func joinIDs(ids []resource.ID) []byte {
	if len(ids) == 0 {
		return []byte{}
	}
	b := cborform.Encode(ids)
	return binary.LittleEndian.AppendUint32(b, sumOf(b))
}

// splitIDs is the inverse of joinIDs. It returns Damaged if the list does not match its checksum.
func splitIDs(stored []byte) ([]resource.ID, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	var ids []resource.ID
	at := len(stored) - sumSize
	if at < 0 || sumOf(stored[:at]) != binary.LittleEndian.Uint32(stored[at:]) ||
		cborform.Decode(stored[:at], &ids) != nil {
		return nil, fault.New(fault.Damaged, "read state",
			"a list of resources is not as it was written").
			WithHint("the disk, or something else, has changed the database; %s", damagedHint)
	}
	return ids, nil
}

// nanos returns the stored form of a time: nanoseconds since 1970, or 0 for the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// timeOf is the inverse of nanos, in UTC.
func timeOf(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
