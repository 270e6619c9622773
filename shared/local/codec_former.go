package local

import (
	"bytes"

	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// The bits of a state of the second format: what is so, and which rare parts follow.
const (
	isOrphaned = 1 << iota
	isRemoving
	wantsFacts
	isPossiblyChanged
	wasTried
	hasNotes
	isDeployed // Deployed is Hash
	hasMore    // getMore reads the rest
)

// stateWords are the words of the state vector that the second format stores in one byte.
func stateWords() []string {
	return []string{"", string(state.Compliant), string(state.RunSuccess), string(state.NotBlocked),
		string(state.RunNew),
		string(state.HasUpdate), string(state.NonCompliant), string(state.Undefined),
		string(state.RunFailed),
		string(state.RunSkipped), string(state.BlockedYes), string(state.BlockedTemp),
		string(state.NeedsPerson)}
}

// decodeState2 reads a state of the second format, after its first byte.
func decodeState2(d *binform.Reader, r *state.Row) error {
	flags, words := d.Byte(), stateWords()
	r.Orphaned, r.Removing = flags&isOrphaned != 0, flags&isRemoving != 0
	r.WantFacts, r.PossiblyChanged = flags&wantsFacts != 0, flags&isPossiblyChanged != 0
	r.Version, r.Priority = int(d.Int()), state.Priority(d.Int())
	r.Hash = d.Hex()
	r.Deployed = r.Hash
	if flags&isDeployed == 0 {
		r.Deployed = d.Hex()
	}
	r.Compliance, r.LastRun, r.Blocked = state.Compliance(d.Word(words)),
		state.LastRun(d.Word(words)), state.Blocked(d.Word(words))
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

// getMore reads what rows that are in order have not.
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
	r.Hidden, r.MovedFrom = d.Texts(), d.Texts()
}

// decodeState1 reads a state of the first format, after its first byte.
func decodeState1(d *binform.Reader, r *state.Row) error {
	r.Version = int(d.Int())
	r.Hash = d.Text()
	flags := d.Byte()
	r.Orphaned, r.Removing = flags&1 != 0, flags&2 != 0
	r.WantFacts, r.PossiblyChanged = flags&4 != 0, flags&8 != 0
	r.Priority = state.Priority(d.Int())
	r.Compliance, r.LastRun, r.Blocked = state.Compliance(word(d)), state.LastRun(word(d)),
		state.Blocked(word(d))
	if r.Deployed = d.Text(); r.Deployed == r.Hash {
		r.Deployed = r.Hash // share the string
	}
	r.LastAction, r.Reason, r.Class, r.Creating = d.Text(), d.Text(), provider.Class(word(d)),
		d.Text()
	if w := d.Text(); w != "" {
		r.Waiting = []byte(w)
	}
	r.NotBefore, r.LastAt, r.ChangedAt, r.SucceededAt = d.Time(), d.Time(), d.Time(), d.Time()
	r.Attempts = int(d.Int())
	r.Missing = d.Texts()
	for n := d.Len(); n > 0 && !d.Bad; n-- {
		r.Causes = append(r.Causes, resource.ID(d.Text()))
	}
	r.Hidden, r.MovedFrom = d.Texts(), d.Texts()
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
