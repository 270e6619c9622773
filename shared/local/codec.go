package local

import (
	"bytes"
	"time"

	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// stateFormat is the first byte of a stored state vector; stateFormat1 that of a former one.
const (
	stateFormat  = 2
	stateFormat1 = 1
)

// The bits of an encoded state: what is so, and which rare parts follow.
const (
	isOrphaned = 1 << iota
	isRemoving
	wantsFacts
	isPossiblyChanged
	wasTried
	hasNotes
	isDeployed // Deployed is Hash
	hasMore    // something of what putMore writes is set
)

// stateWords are the words of the state vector that are stored in one byte. Others may be added at
// the end.
func stateWords() []string {
	return []string{"", string(state.Compliant), string(state.RunSuccess), string(state.NotBlocked), string(state.RunNew),
		string(state.HasUpdate), string(state.NonCompliant), string(state.Undefined), string(state.RunFailed),
		string(state.RunSkipped), string(state.BlockedYes), string(state.BlockedTemp), string(state.NeedsPerson)}
}

// encodeState encodes the part of a row that its record in a block does not show.
func encodeState(r *state.Row) []byte {
	w := &binform.Writer{B: make([]byte, 0, usualState)}
	putState(w, r)
	return w.B
}

// usualState is the room that most encoded states fit in.
const usualState = 96

// putState writes what encodeState returns.
func putState(w *binform.Writer, r *state.Row) {
	more := !r.NotBefore.IsZero() || r.Attempts != 0 || len(r.Waiting) > 0 || len(r.Missing)+len(r.Causes)+len(r.Hidden)+len(r.Left) > 0 ||
		r.Reason != "" || r.Class != "" || r.Creating != ""
	w.Byte(stateFormat)
	w.Byte(
		bits(
			r.Orphaned,
			r.Removing,
			r.WantFacts,
			r.PossiblyChanged,
			!r.TriedAt.IsZero(),
			len(r.Notes) > 0,
			r.Deployed == r.Hash,
			more,
		),
	)
	w.Int(int64(r.Version))
	w.Int(int64(r.Priority))
	w.Hex(r.Hash)
	if r.Deployed != r.Hash {
		w.Hex(r.Deployed)
	}
	words := stateWords()
	for _, s := range []string{string(r.Compliance), string(r.LastRun), string(r.Blocked)} {
		w.Word(s, words)
	}
	w.Hex(r.LastAction)
	for _, t := range []time.Time{r.LastAt, r.ChangedAt, r.SucceededAt} {
		w.Time(t)
	}
	if !r.TriedAt.IsZero() {
		w.Time(r.TriedAt)
	}
	if len(r.Notes) > 0 {
		w.Bytes(r.Notes)
	}
	if more {
		putMore(w, r)
	}
}

// putMore writes what rows that are in order have not.
func putMore(w *binform.Writer, r *state.Row) {
	w.Time(r.NotBefore)
	w.Int(int64(r.Attempts))
	for _, s := range []string{r.Reason, string(r.Class), r.Creating, string(r.Waiting)} {
		w.Text(s)
	}
	w.Texts(r.Missing)
	w.Len(len(r.Causes))
	for _, id := range r.Causes {
		w.Text(string(id))
	}
	w.Texts(r.Hidden)
	w.Texts(r.Left)
}

// getMore is the inverse of putMore.
func getMore(d *binform.Reader, r *state.Row) {
	r.NotBefore = d.Time()
	r.Attempts = int(d.Int())
	r.Reason, r.Class, r.Creating = d.Text(), provider.Class(d.Text()), d.Text()
	if w := d.Text(); w != "" {
		r.Waiting = []byte(w)
	}
	r.Missing = d.Texts()
	for n := d.Len(); n > 0 && !d.Bad; n-- {
		r.Causes = append(r.Causes, resource.ID(d.Text()))
	}
	r.Hidden, r.Left = d.Texts(), d.Texts()
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
func decodeState(b []byte, r *state.Row) error {
	d := &binform.Reader{B: b}
	switch d.Byte() {
	case stateFormat:
	case stateFormat1:
		return decodeState1(d, r)
	default:
		return damagedRow(r.ID)
	}
	flags, words := d.Byte(), stateWords()
	r.Orphaned, r.Removing = flags&isOrphaned != 0, flags&isRemoving != 0
	r.WantFacts, r.PossiblyChanged = flags&wantsFacts != 0, flags&isPossiblyChanged != 0
	r.Version, r.Priority = int(d.Int()), state.Priority(d.Int())
	r.Hash = d.Hex()
	r.Deployed = r.Hash
	if flags&isDeployed == 0 {
		r.Deployed = d.Hex()
	}
	r.Compliance, r.LastRun, r.Blocked = state.Compliance(d.Word(words)), state.LastRun(d.Word(words)), state.Blocked(d.Word(words))
	r.LastAction = d.Hex()
	r.LastAt, r.ChangedAt, r.SucceededAt = d.Time(), d.Time(), d.Time()
	if flags&wasTried != 0 {
		r.TriedAt = d.Time()
	}
	if flags&hasNotes != 0 {
		if notes := d.Bytes(); len(notes) > 0 {
			r.Notes = bytes.Clone(notes)
		}
	}
	if flags&hasMore != 0 {
		getMore(d, r)
	}
	if !d.Done() {
		return damagedRow(r.ID)
	}
	return nil
}

// decodeState1 reads a state of the first format, after its first byte.
func decodeState1(d *binform.Reader, r *state.Row) error {
	r.Version = int(d.Int())
	r.Hash = d.Text()
	flags := d.Byte()
	r.Orphaned, r.Removing = flags&1 != 0, flags&2 != 0
	r.WantFacts, r.PossiblyChanged = flags&4 != 0, flags&8 != 0
	r.Priority = state.Priority(d.Int())
	r.Compliance, r.LastRun, r.Blocked = state.Compliance(word(d)), state.LastRun(word(d)), state.Blocked(word(d))
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
