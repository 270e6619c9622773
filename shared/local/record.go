package local

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// record is one row of the tables resources and intents.
type record struct {
	id, lane, status            string
	rev, ticket, timer, checked int64
	state                       []byte // restOfRow in CBOR
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

// restOfRow holds the fields of a state.Row that no query uses. The numbers of its fields are part
// of the layout.
//
// Large: it has a field for each field of a state.Row, except those that are columns.
type restOfRow struct {
	Version         int              `cbor:"1,keyasint,omitempty"`
	Hash            string           `cbor:"2,keyasint,omitempty"`
	Orphaned        bool             `cbor:"3,keyasint,omitempty"`
	Removing        bool             `cbor:"4,keyasint,omitempty"`
	Priority        state.Priority   `cbor:"5,keyasint,omitempty"`
	NotBefore       int64            `cbor:"6,keyasint,omitempty"`
	Compliance      state.Compliance `cbor:"7,keyasint,omitempty"`
	LastRun         state.LastRun    `cbor:"8,keyasint,omitempty"`
	Blocked         state.Blocked    `cbor:"9,keyasint,omitempty"`
	Missing         []string         `cbor:"10,keyasint,omitempty"`
	Deployed        string           `cbor:"11,keyasint,omitempty"`
	LastAt          int64            `cbor:"12,keyasint,omitempty"`
	LastAction      string           `cbor:"13,keyasint,omitempty"`
	Reason          string           `cbor:"14,keyasint,omitempty"`
	Causes          []resource.ID    `cbor:"15,keyasint,omitempty"`
	Class           provider.Class   `cbor:"16,keyasint,omitempty"`
	Attempts        int              `cbor:"17,keyasint,omitempty"`
	Waiting         []byte           `cbor:"18,keyasint,omitempty"`
	Creating        string           `cbor:"19,keyasint,omitempty"`
	Notes           []byte           `cbor:"20,keyasint,omitempty"`
	ChangedAt       int64            `cbor:"21,keyasint,omitempty"`
	SucceededAt     int64            `cbor:"22,keyasint,omitempty"`
	TriedAt         int64            `cbor:"23,keyasint,omitempty"`
	FactsAsked      int64            `cbor:"24,keyasint,omitempty"`
	PossiblyChanged bool             `cbor:"25,keyasint,omitempty"`
	Hidden          []string         `cbor:"26,keyasint,omitempty"`
	Formerly        []resource.ID    `cbor:"28,keyasint,omitempty"`
	Generation      int64            `cbor:"29,keyasint,omitempty"`
	Observed        int64            `cbor:"30,keyasint,omitempty"`
	Again           bool             `cbor:"31,keyasint,omitempty"`
	Moves           int64            `cbor:"32,keyasint,omitempty"`
	Settled         int64            `cbor:"33,keyasint,omitempty"`
	FactsRead       int64            `cbor:"34,keyasint,omitempty"`
	Purged          []resource.ID    `cbor:"35,keyasint,omitempty"`
	Purges          int64            `cbor:"36,keyasint,omitempty"`
	Reloaded        int64            `cbor:"37,keyasint,omitempty"`
	NextAt          int64            `cbor:"38,keyasint,omitempty"`
	Problem         string           `cbor:"39,keyasint,omitempty"`
	BlockedBy       resource.ID      `cbor:"40,keyasint,omitempty"`
	Ran             string           `cbor:"41,keyasint,omitempty"`
}

// recordOf returns the record of a row that is written with the revision rev.
func recordOf(r *state.Row, rev int64) record {
	out := record{id: string(r.ID), rev: rev, lane: r.Lane, ticket: r.Ticket(), timer: nanos(r.Timer()),
		checked: r.Checked, status: string(r.Status()), body: r.Body, bodySum: sumOf(r.Body),
		searched: searched{compliance: string(r.Comparison()), lastRun: string(r.LastRun),
			blocked: string(r.Block()), why: strings.ToLower(r.Why()), set: r.ResourceSet()}}
	out.state = toCBOR(&restOfRow{Version: r.Version, Hash: r.Hash, Orphaned: r.Orphaned,
		Removing: r.Removing, Priority: r.Priority, NotBefore: nanos(r.NotBefore),
		Compliance: r.Compliance, LastRun: r.LastRun, Blocked: r.Blocked, Missing: r.Missing,
		Deployed: r.Deployed, LastAt: nanos(r.LastAt), LastAction: r.LastAction, Reason: r.Reason,
		Causes: r.Causes, Class: r.Class, Attempts: r.Attempts, Waiting: r.Waiting,
		Creating: r.Creating, Notes: r.Notes, ChangedAt: nanos(r.ChangedAt),
		SucceededAt: nanos(r.SucceededAt), TriedAt: nanos(r.TriedAt), FactsAsked: r.FactsAsked,
		FactsRead:       r.FactsRead,
		PossiblyChanged: r.PossiblyChanged, Hidden: r.Hidden,
		Formerly: r.Formerly, Generation: r.Generation, Observed: r.Observed, Again: r.Again,
		Moves: r.Moves, Settled: r.Settled, Purged: r.Purged, Purges: r.Purges, Reloaded: r.Reloaded,
		NextAt: nanos(r.NextAt), Problem: r.Problem, BlockedBy: r.BlockedBy, Ran: r.Ran})
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
	var rest restOfRow
	if err := fromCBOR(r.state, &rest); err != nil {
		return fault.Wrap(fault.Internal, "decode the record of "+r.id, err)
	}
	*out = state.Row{
		ID: resource.ID(r.id), Rev: r.rev,
		Intent: state.Intent{Lane: r.lane, Version: rest.Version, Hash: rest.Hash,
			Generation: rest.Generation, Orphaned: rest.Orphaned, Removing: rest.Removing, Priority: rest.Priority,
			Missing: rest.Missing, Problem: rest.Problem,
			BlockedBy: rest.BlockedBy, Hidden: rest.Hidden,
			Formerly: rest.Formerly, Moves: rest.Moves, FactsAsked: rest.FactsAsked,
			Purged: rest.Purged, Purges: rest.Purges},
		Outcome: state.Outcome{Ran: rest.Ran, NextAt: timeOf(rest.NextAt), Checked: r.checked,
			Observed: rest.Observed, Again: rest.Again, Settled: rest.Settled, Reloaded: rest.Reloaded, NotBefore: timeOf(rest.NotBefore), Compliance: rest.Compliance,
			LastRun: rest.LastRun, Blocked: rest.Blocked, Deployed: rest.Deployed,
			LastAt: timeOf(rest.LastAt), LastAction: rest.LastAction,
			Reason: rest.Reason, Causes: rest.Causes, Class: rest.Class,
			Attempts: rest.Attempts, Waiting: rest.Waiting, Creating: rest.Creating,
			Notes: rest.Notes, ChangedAt: timeOf(rest.ChangedAt),
			SucceededAt: timeOf(rest.SucceededAt), TriedAt: timeOf(rest.TriedAt),
			FactsRead: rest.FactsRead, PossiblyChanged: rest.PossiblyChanged},
	}
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
	b := toCBOR(ids)
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
		fromCBOR(stored[:at], &ids) != nil {
		return nil, fault.New(fault.Damaged, "read state",
			"a list of resources is not as it was written").
			WithHint("the disk, or something else, has changed the database; %s", damagedHint)
	}
	return ids, nil
}

func toCBOR(v any) []byte {
	b, _ := cbor.Marshal(v) // cannot fail: records hold only numbers, strings and lists of these
	return b
}

// decoder reads CBOR. It accepts any bytes in a text, as ids do.
var decoder = sync.OnceValue(func() cbor.DecMode {
	mode, _ := cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid}.DecMode() // the options are valid
	return mode
})

func fromCBOR(b []byte, v any) error { return decoder().Unmarshal(b, v) }

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
