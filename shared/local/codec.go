package local

import (
	"encoding/binary"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// stateFormat is the first byte of a stored state vector.
const stateFormat = 1

// appendState encodes what of a row stands in no column of its own.
func appendState(b []byte, r *deploy.Row) []byte {
	b = append(b, stateFormat)
	b = binary.AppendVarint(b, int64(r.Version))
	b = appendText(b, r.Hash)
	b = append(b, bits(r.Orphaned, r.Removing, r.WantFacts, r.Unsure))
	b = binary.AppendVarint(b, int64(r.Priority))
	for _, s := range []string{string(r.Compliance), string(r.LastRun), string(r.Blocked), r.Deployed, r.LastAction, r.Reason,
		string(r.Class), r.Creating, string(r.Waiting)} {
		b = appendText(b, s)
	}
	for _, t := range []time.Time{r.NotBefore, r.LastAt, r.ChangedAt, r.SucceededAt} {
		b = binary.AppendVarint(b, nanos(t))
	}
	b = binary.AppendVarint(b, int64(r.Attempts))
	b = binary.AppendUvarint(b, uint64(len(r.Missing)))
	for _, s := range r.Missing {
		b = appendText(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Causes)))
	for _, id := range r.Causes {
		b = appendText(b, string(id))
	}
	for _, list := range [][]string{r.Hidden, r.Left} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = appendText(b, s)
		}
	}
	return b
}

func bits(flags ...bool) byte {
	var out byte
	for i, f := range flags {
		if f {
			out |= 1 << i
		}
	}
	return out
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// nanos stores a time; 0 is the zero time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func timeOf(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// decodeState is the inverse of appendState; what does not decode is Damaged.
func decodeState(b []byte, r *deploy.Row) error {
	d := &stateReader{b: b}
	if len(b) == 0 || b[0] != stateFormat {
		return damagedRow(r.ID)
	}
	d.b = b[1:]
	r.Version = int(d.varint())
	r.Hash = d.text()
	flags := d.byte()
	r.Orphaned, r.Removing, r.WantFacts, r.Unsure = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	r.Priority = deploy.Priority(d.varint())
	r.Compliance, r.LastRun, r.Blocked = deploy.Compliance(d.word()), deploy.LastRun(d.word()), deploy.Blocked(d.word())
	if r.Deployed = d.text(); r.Deployed == r.Hash {
		r.Deployed = r.Hash // one string
	}
	r.LastAction, r.Reason, r.Class, r.Creating = d.text(), d.text(), provider.Class(d.word()), d.text()
	if w := d.text(); w != "" {
		r.Waiting = []byte(w)
	}
	r.NotBefore, r.LastAt, r.ChangedAt, r.SucceededAt = timeOf(d.varint()), timeOf(d.varint()), timeOf(d.varint()), timeOf(d.varint())
	r.Attempts = int(d.varint())
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		r.Missing = append(r.Missing, d.text())
	}
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		r.Causes = append(r.Causes, resource.ID(d.text()))
	}
	for _, list := range []*[]string{&r.Hidden, &r.Left} {
		for n := d.uvarint(); n > 0 && !d.bad; n-- {
			*list = append(*list, d.text())
		}
	}
	if d.bad || len(d.b) != 0 {
		return damagedRow(r.ID)
	}
	return nil
}

func damagedRow(id resource.ID) error {
	return fault.New(fault.Damaged, "read state", "the row of %s does not decode", id).
		WithHint("the database was changed by something else; restore it from a copy, or move the data directory away and apply again")
}

type stateReader struct {
	b   []byte
	bad bool
}

func (d *stateReader) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *stateReader) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *stateReader) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *stateReader) bytes() []byte {
	n := d.uvarint()
	if d.bad || n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	s := d.b[:n]
	d.b = d.b[n:]
	return s
}

func (d *stateReader) text() string { return string(d.bytes()) }

// word reads one of the few words of the state vector without allocating.
func (d *stateReader) word() string {
	switch s := d.bytes(); string(s) {
	case "":
		return ""
	case "compliant":
		return "compliant"
	case "successful":
		return "successful"
	case "no":
		return "no"
	case "new":
		return "new"
	case "has_update":
		return "has_update"
	default:
		return string(s)
	}
}
