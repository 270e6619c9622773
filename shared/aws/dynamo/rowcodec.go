package dynamo

import (
	"time"

	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// The words of the state vector, by the byte they are stored as: only ever added to.
var (
	complianceWords = []string{string(state.HasUpdate), string(state.Compliant), string(state.NonCompliant), string(state.Undefined)}
	lastRunWords    = []string{string(state.RunNew), string(state.RunSuccess), string(state.RunFailed), string(state.RunSkipped)}
	blockedWords    = []string{string(state.NotBlocked), string(state.BlockedYes), string(state.BlockedTemp), string(state.NeedsPerson)}
	classWords      = []string{"", string(provider.Retryable), string(state.ClassTerminal), string(state.ClassNeedsChange), string(state.ClassUnavailable),
		string(state.ClassRefused)}
)

// bits say which parts of a row are there.
type bits uint64

const (
	hasIntent  bits = 1 << iota // version, hash and body; otherwise they are those of the row before
	isDeployed                  // Deployed is Hash
	isOrphaned
	isRemoving
	wantsFacts
	hasMissing
	hasReason
	hasCauses
	hasClass
	hasWaiting
	hasCreating
	hasChecked
	hasAttempts
	hasTicket
	hasPriority
	hasDeployed
	hasLastAt
	hasLastAction
	hasNotBefore
	hasNextAt
	hasChangedAt
	hasSucceededAt
	isPossiblyChanged
	hasHidden
	hasLeft
	hasNotes
	hasTriedAt
)

func (b *bits) set(is bool, bit bits) {
	if is {
		*b |= bit
	}
}

func bitsOf(r *state.Row, intent bool) bits {
	var b bits
	b.set(intent, hasIntent)
	b.set(r.Deployed != "" && r.Deployed == r.Hash, isDeployed)
	b.set(r.Deployed != "" && r.Deployed != r.Hash, hasDeployed)
	b.set(r.Orphaned, isOrphaned)
	b.set(r.Removing, isRemoving)
	b.set(r.WantFacts, wantsFacts)
	b.set(r.PossiblyChanged, isPossiblyChanged)
	b.set(len(r.Hidden) > 0, hasHidden)
	b.set(len(r.Left) > 0, hasLeft)
	b.set(len(r.Notes) > 0, hasNotes)
	b.set(len(r.Missing) > 0, hasMissing)
	b.set(r.Reason != "", hasReason)
	b.set(len(r.Causes) > 0, hasCauses)
	b.set(r.Class != "", hasClass)
	b.set(len(r.Waiting) > 0, hasWaiting)
	b.set(r.Creating != "", hasCreating)
	b.set(r.Checked != 0, hasChecked)
	b.set(r.Attempts != 0, hasAttempts)
	b.set(r.Ticket != 0, hasTicket)
	b.set(r.Priority != 0, hasPriority)
	b.set(!r.LastAt.IsZero(), hasLastAt)
	b.set(r.LastAction != "", hasLastAction)
	b.set(!r.NotBefore.IsZero(), hasNotBefore)
	b.set(!r.NextAt.IsZero(), hasNextAt)
	b.set(!r.ChangedAt.IsZero(), hasChangedAt)
	b.set(!r.SucceededAt.IsZero(), hasSucceededAt)
	b.set(!r.TriedAt.IsZero(), hasTriedAt)
	return b
}

// row writes a row without its lane, which is its tablet's; with intent false also without version,
// hash and body.
func (e *enc) row(r *state.Row, intent bool) {
	e.Text(string(r.ID))
	e.rest(r, intent)
}

// rest writes of a row what stands behind its id.
func (e *enc) rest(r *state.Row, intent bool) {
	has := bitsOf(r, intent)
	e.Uint(uint64(has))
	e.Int(r.Rev)
	if intent {
		e.Int(int64(r.Version))
		e.Hex(r.Hash)
		e.Bytes(r.Body)
	}
	e.Word(string(r.Compliance), complianceWords)
	e.Word(string(r.LastRun), lastRunWords)
	e.Word(string(r.Blocked), blockedWords)
	e.rare(r, has)
	for _, n := range []struct {
		bit bits
		v   int64
	}{{hasChecked, r.Checked}, {hasAttempts, int64(r.Attempts)}, {hasTicket, r.Ticket}, {hasPriority, int64(r.Priority)}} {
		if has&n.bit != 0 {
			e.Int(n.v)
		}
	}
	if has&hasDeployed != 0 {
		e.Hex(r.Deployed)
	}
	if has&hasLastAction != 0 {
		e.Hex(r.LastAction)
	}
	last := binform.Nanos(r.LastAt)
	if has&hasLastAt != 0 {
		e.Int(last)
	}
	for _, t := range []struct { // they are near the end of the last run
		bit bits
		t   time.Time
	}{{hasNotBefore, r.NotBefore}, {hasNextAt, r.NextAt}, {hasChangedAt, r.ChangedAt}, {hasSucceededAt, r.SucceededAt},
		{hasTriedAt, r.TriedAt}} {
		if has&t.bit != 0 {
			e.Int(binform.Nanos(t.t) - last)
		}
	}
}

// rare writes what few rows have.
func (e *enc) rare(r *state.Row, has bits) {
	if has&hasMissing != 0 {
		e.Texts(r.Missing)
	}
	if has&hasReason != 0 {
		e.Text(r.Reason)
	}
	if has&hasCauses != 0 {
		e.ids(r.Causes)
	}
	if has&hasClass != 0 {
		e.Word(string(r.Class), classWords)
	}
	if has&hasWaiting != 0 {
		e.Bytes(r.Waiting)
	}
	if has&hasCreating != 0 {
		e.Hex(r.Creating)
	}
	if has&hasHidden != 0 {
		e.Texts(r.Hidden)
	}
	if has&hasLeft != 0 {
		e.Texts(r.Left)
	}
	if has&hasNotes != 0 {
		e.Bytes(r.Notes)
	}
}

// storedRow is a row as it was read: what its bits say is not there comes from the row before.
type storedRow struct {
	state.Row
	has bits
}

func (d *dec) row() storedRow {
	r := storedRow{}
	r.ID = resource.ID(d.Text())
	d.rest(&r)
	return r
}

// rest reads what enc.rest wrote.
func (d *dec) rest(r *storedRow) {
	r.has = bits(d.Uint())
	r.Rev = d.Int()
	has := func(b bits) bool { return r.has&b != 0 }
	r.Orphaned, r.Removing = has(isOrphaned), has(isRemoving)
	r.WantFacts, r.PossiblyChanged = has(wantsFacts), has(isPossiblyChanged)
	if has(hasIntent) {
		r.Version, r.Hash, r.Body = int(d.Int()), d.Hex(), d.Bytes()
	}
	r.Compliance, r.LastRun = state.Compliance(d.Word(complianceWords)), state.LastRun(d.Word(lastRunWords))
	r.Blocked = state.Blocked(d.Word(blockedWords))
	d.rare(r)
	var attempts, priority, last, notBefore, nextAt, changedAt, succeededAt, triedAt int64
	for _, n := range []struct {
		bit bits
		v   *int64
	}{{hasChecked, &r.Checked}, {hasAttempts, &attempts}, {hasTicket, &r.Ticket}, {hasPriority, &priority}} {
		if has(n.bit) {
			*n.v = d.Int()
		}
	}
	r.Attempts, r.Priority = int(attempts), state.Priority(priority)
	if has(hasDeployed) {
		r.Deployed = d.Hex()
	}
	if has(hasLastAction) {
		r.LastAction = d.Hex()
	}
	if has(hasLastAt) {
		last = d.Int()
	}
	for _, t := range []struct {
		bit bits
		v   *int64
	}{{hasNotBefore, &notBefore}, {hasNextAt, &nextAt}, {hasChangedAt, &changedAt}, {hasSucceededAt, &succeededAt},
		{hasTriedAt, &triedAt}} {
		if has(t.bit) {
			*t.v = d.Int() + last
		}
	}
	r.LastAt, r.NotBefore, r.NextAt, r.ChangedAt, r.SucceededAt = binform.TimeOf(last), binform.TimeOf(notBefore), binform.TimeOf(nextAt), binform.TimeOf(changedAt), binform.TimeOf(succeededAt)
	r.TriedAt = binform.TimeOf(triedAt)
}

func (d *dec) rare(r *storedRow) {
	if r.has&hasMissing != 0 {
		r.Missing = d.Texts()
	}
	if r.has&hasReason != 0 {
		r.Reason = d.Text()
	}
	if r.has&hasCauses != 0 {
		r.Causes = d.ids()
	}
	if r.has&hasClass != 0 {
		r.Class = provider.Class(d.Word(classWords))
	}
	if r.has&hasWaiting != 0 {
		r.Waiting = d.Bytes()
	}
	if r.has&hasCreating != 0 {
		r.Creating = d.Hex()
	}
	if r.has&hasHidden != 0 {
		r.Hidden = d.Texts()
	}
	if r.has&hasLeft != 0 {
		r.Left = d.Texts()
	}
	if r.has&hasNotes != 0 {
		r.Notes = d.Bytes()
	}
}

// after completes a row by the one before it.
func (r *storedRow) after(before *state.Row) state.Row {
	out := r.Row
	if r.has&hasIntent == 0 {
		out.Version, out.Hash, out.Body = before.Version, before.Hash, before.Body
	}
	if r.has&isDeployed != 0 {
		out.Deployed = out.Hash
	}
	return out
}

func (e *enc) ids(ids []resource.ID) {
	e.Len(len(ids))
	for _, id := range ids {
		e.Text(string(id))
	}
}

func (d *dec) ids() []resource.ID {
	var out []resource.ID
	for n := d.Len(); n > 0 && !d.Bad; n-- {
		out = append(out, resource.ID(d.Text()))
	}
	return out
}
