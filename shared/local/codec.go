package local

import (
	"bytes"
	"time"

	"southbound/shared/binform"
	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// stateFormat is the first byte of a stored state vector.
const stateFormat = 1

// encodeState encodes the part of a row that has no column of its own.
func encodeState(r *deploy.Row) []byte {
	w := &binform.Writer{}
	w.Byte(stateFormat)
	w.Int(int64(r.Version))
	w.Text(r.Hash)
	w.Byte(bits(r.Orphaned, r.Removing, r.WantFacts, r.Unsure, !r.TriedAt.IsZero()))
	w.Int(int64(r.Priority))
	for _, s := range []string{string(r.Compliance), string(r.LastRun), string(r.Blocked), r.Deployed, r.LastAction, r.Reason,
		string(r.Class), r.Creating, string(r.Waiting)} {
		w.Text(s)
	}
	for _, t := range []time.Time{r.NotBefore, r.LastAt, r.ChangedAt, r.SucceededAt} {
		w.Time(t)
	}
	w.Int(int64(r.Attempts))
	w.Texts(r.Missing)
	w.Len(len(r.Causes))
	for _, id := range r.Causes {
		w.Text(string(id))
	}
	w.Texts(r.Hidden)
	w.Texts(r.Left)
	if !r.TriedAt.IsZero() {
		w.Time(r.TriedAt)
	}
	if len(r.Notes) > 0 { // few rows have them
		w.Bytes(r.Notes)
	}
	return w.B
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

// decodeState is the inverse of encodeState; what does not decode is Damaged.
func decodeState(b []byte, r *deploy.Row) error {
	d := &binform.Reader{B: b}
	if d.Byte() != stateFormat {
		return damagedRow(r.ID)
	}
	r.Version = int(d.Int())
	r.Hash = d.Text()
	flags := d.Byte()
	r.Orphaned, r.Removing, r.WantFacts, r.Unsure = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	r.Priority = deploy.Priority(d.Int())
	r.Compliance, r.LastRun, r.Blocked = deploy.Compliance(word(d)), deploy.LastRun(word(d)), deploy.Blocked(word(d))
	if r.Deployed = d.Text(); r.Deployed == r.Hash {
		r.Deployed = r.Hash // share the string
	}
	r.LastAction, r.Reason, r.Class, r.Creating = d.Text(), d.Text(), provider.Class(word(d)), d.Text()
	if w := d.Text(); w != "" {
		r.Waiting = []byte(w)
	}
	r.NotBefore, r.LastAt, r.ChangedAt, r.SucceededAt = d.Time(), d.Time(), d.Time(), d.Time()
	r.Attempts = int(d.Int())
	r.Missing = d.Texts()
	for n := d.Len(); n > 0 && !d.Bad; n-- {
		r.Causes = append(r.Causes, resource.ID(d.Text()))
	}
	r.Hidden, r.Left = d.Texts(), d.Texts()
	if flags&16 != 0 {
		r.TriedAt = d.Time()
	}
	if !d.Done() && !d.Bad {
		r.Notes = bytes.Clone(d.Bytes())
	}
	if !d.Done() {
		return damagedRow(r.ID)
	}
	return nil
}

func damagedRow(id resource.ID) error {
	return fault.New(fault.Damaged, "read state", "the row of %s does not decode", id).
		WithHint("the database was changed by something else; %s", damagedHint)
}

// word returns the state vector's constant for a text, so that rows do not each hold a copy.
func word(d *binform.Reader) string {
	switch s := d.Bytes(); string(s) {
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
