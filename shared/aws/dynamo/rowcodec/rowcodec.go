// Package rowcodec encodes rows in few bytes for DynamoDB, which charges for each kilobyte that is
// written. The embedded home stores rows as CBOR.
//
// An encoded row is a number whose bits name the fields that follow, then the values of the fields,
// the rare ones first. Unset fields take no space. Times are differences from the end of the last
// run, since most are close to it. A new bit may be added at the end, with its value. The meaning
// of a bit never changes.
package rowcodec

import (
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/internal/binform"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// The words of the state vector, indexed by the byte that encodes them. New words are added at the
// end.
var (
	complianceWords = []string{string(state.HasUpdate), string(state.Compliant),
		string(state.NonCompliant), string(state.Undefined)}
	lastRunWords = []string{string(state.RunNew), string(state.RunSuccess),
		string(state.RunFailed), string(state.RunSkipped)}
	blockedWords = []string{string(state.NotBlocked), string(state.BlockedYes),
		string(state.BlockedTemp), string(state.NeedsPerson)}
	classWords = []string{"", string(provider.Retryable), string(state.ClassTerminal),
		string(state.ClassNeedsChange), string(state.ClassUnavailable),
		string(state.ClassRefused)}
)

// bits is the set of fields that an encoded row has.
type bits uint64

const (
	isDeployed bits = 1 << iota // Deployed equals Hash
	isOrphaned
	isRemoving
	hasFactsAsked
	hasMissing
	hasReason
	hasCauses
	hasClass
	hasWaiting
	hasCreating
	hasChecked
	hasAttempts
	hasGeneration
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
	hasNotes
	hasTriedAt
	hasFormerly
	hasObserved
	runsAgain
	hasMoves
	hasSettled
	hasFactsRead
	hasPurged
	hasPurges
	hasReloaded
	hasProblem
	hasBlockedBy
	isRan // Ran equals Hash
	hasRan
)

// rare are the fields that few rows have.
const rare = hasMissing | hasReason | hasCauses | hasClass | hasWaiting | hasCreating | hasHidden |
	hasNotes | hasFormerly | hasPurged | hasProblem | hasBlockedBy | hasRan

// number reads the number of a bit. If the bit is not set, it returns 0.
func (b bits) number(d *binform.Reader, bit bits) int64 {
	if b&bit == 0 {
		return 0
	}
	return d.Int()
}

func (b *bits) set(is bool, bit bits) {
	if is {
		*b |= bit
	}
}

func bitsOf(r *state.Row) bits {
	var b bits
	b.set(r.Deployed != "" && r.Deployed == r.Hash, isDeployed)
	b.set(r.Deployed != "" && r.Deployed != r.Hash, hasDeployed)
	b.set(r.Ran != "" && r.Ran == r.Hash, isRan)
	b.set(r.Ran != "" && r.Ran != r.Hash, hasRan)
	b.set(r.Orphaned, isOrphaned)
	b.set(r.Removing, isRemoving)
	b.set(r.FactsAsked != 0, hasFactsAsked)
	b.set(r.FactsRead != 0, hasFactsRead)
	b.set(r.PossiblyChanged, isPossiblyChanged)
	b.set(len(r.Hidden) > 0, hasHidden)
	b.set(len(r.Formerly) > 0, hasFormerly)
	b.set(len(r.Notes) > 0, hasNotes)
	b.set(len(r.Missing) > 0, hasMissing)
	b.set(r.Problem != "", hasProblem)
	b.set(r.BlockedBy != "", hasBlockedBy)
	b.set(r.Reason != "", hasReason)
	b.set(len(r.Causes) > 0, hasCauses)
	b.set(r.Class != "", hasClass)
	b.set(len(r.Waiting) > 0, hasWaiting)
	b.set(r.Creating != "", hasCreating)
	b.set(r.Checked != 0, hasChecked)
	b.set(r.Attempts != 0, hasAttempts)
	b.set(r.Generation != 0, hasGeneration)
	b.set(r.Observed != 0, hasObserved)
	b.set(r.Again, runsAgain)
	b.set(r.Moves != 0, hasMoves)
	b.set(len(r.Purged) > 0, hasPurged)
	b.set(r.Purges != 0, hasPurges)
	b.set(r.Reloaded != 0, hasReloaded)
	b.set(r.Settled != 0, hasSettled)
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

// Write encodes a row without its id, its revision and its lane.
func Write(w *binform.Writer, r *state.Row) {
	has := bitsOf(r)
	w.Uint(uint64(has))
	w.Int(int64(r.Version))
	w.Hex(r.Hash)
	w.Bytes(r.Body)
	w.Word(string(r.Compliance), complianceWords)
	w.Word(string(r.LastRun), lastRunWords)
	w.Word(string(r.Blocked), blockedWords)
	if has&rare != 0 {
		writeRare(w, r, has)
	}
	number := func(bit bits, v int64) {
		if has&bit != 0 {
			w.Int(v)
		}
	}
	number(hasChecked, r.Checked)
	number(hasAttempts, int64(r.Attempts))
	number(hasGeneration, r.Generation)
	number(hasObserved, r.Observed)
	number(hasFactsAsked, r.FactsAsked)
	number(hasFactsRead, r.FactsRead)
	number(hasPurges, r.Purges)
	number(hasReloaded, r.Reloaded)
	number(hasMoves, r.Moves)
	number(hasSettled, r.Settled)
	number(hasPriority, int64(r.Priority))
	if has&hasDeployed != 0 {
		w.Hex(r.Deployed)
	}
	if has&hasLastAction != 0 {
		w.Hex(r.LastAction)
	}
	last := binform.Nanos(r.LastAt)
	number(hasLastAt, last)
	relative := func(bit bits, t time.Time) {
		if has&bit != 0 {
			w.Int(binform.Nanos(t) - last)
		}
	}
	relative(hasNotBefore, r.NotBefore)
	relative(hasNextAt, r.NextAt)
	relative(hasChangedAt, r.ChangedAt)
	relative(hasSucceededAt, r.SucceededAt)
	relative(hasTriedAt, r.TriedAt)
}

// writeRare encodes the rare fields.
func writeRare(w *binform.Writer, r *state.Row, has bits) {
	if has&hasMissing != 0 {
		w.Texts(r.Missing)
	}
	if has&hasProblem != 0 {
		w.Text(r.Problem)
	}
	if has&hasBlockedBy != 0 {
		w.Text(string(r.BlockedBy))
	}
	if has&hasReason != 0 {
		w.Text(r.Reason)
	}
	if has&hasCauses != 0 {
		binform.WriteTexts(w, r.Causes)
	}
	if has&hasClass != 0 {
		w.Word(string(r.Class), classWords)
	}
	if has&hasWaiting != 0 {
		w.Bytes(r.Waiting)
	}
	if has&hasCreating != 0 {
		w.Hex(r.Creating)
	}
	if has&hasHidden != 0 {
		w.Texts(r.Hidden)
	}
	if has&hasNotes != 0 {
		w.Bytes(r.Notes)
	}
	if has&hasFormerly != 0 {
		binform.WriteTexts(w, r.Formerly)
	}
	if has&hasPurged != 0 {
		binform.WriteTexts(w, r.Purged)
	}
	if has&hasRan != 0 {
		w.Hex(r.Ran)
	}
}

// Read decodes the output of Write into r, in which only the id, the revision and the lane may be
// set. Body, Waiting and Notes share the memory of d.
func Read(d *binform.Reader, r *state.Row) {
	parts := bits(d.Uint())
	r.Orphaned, r.Removing = parts&isOrphaned != 0, parts&isRemoving != 0
	r.PossiblyChanged = parts&isPossiblyChanged != 0
	r.Version, r.Hash, r.Body = int(d.Int()), d.Hex(), d.Bytes()
	r.Compliance = state.Compliance(d.Word(complianceWords))
	r.LastRun = state.LastRun(d.Word(lastRunWords))
	r.Blocked = state.Blocked(d.Word(blockedWords))
	if parts&rare != 0 {
		readRare(d, r, parts)
	}
	r.Checked = parts.number(d, hasChecked)
	r.Attempts = int(parts.number(d, hasAttempts))
	r.Generation = parts.number(d, hasGeneration)
	r.Observed, r.Again = parts.number(d, hasObserved), parts&runsAgain != 0
	r.FactsAsked = parts.number(d, hasFactsAsked)
	r.FactsRead = parts.number(d, hasFactsRead)
	r.Purges, r.Reloaded = parts.number(d, hasPurges), parts.number(d, hasReloaded)
	r.Moves, r.Settled = parts.number(d, hasMoves), parts.number(d, hasSettled)
	r.Priority = state.Priority(parts.number(d, hasPriority))
	switch {
	case parts&hasDeployed != 0:
		r.Deployed = d.Hex()
	case parts&isDeployed != 0:
		r.Deployed = r.Hash
	}
	if parts&isRan != 0 {
		r.Ran = r.Hash
	}
	if parts&hasLastAction != 0 {
		r.LastAction = d.Hex()
	}
	last := parts.number(d, hasLastAt)
	if last != 0 {
		r.LastAt = binform.TimeOf(last)
	}
	if parts&hasNotBefore != 0 {
		r.NotBefore = binform.TimeOf(d.Int() + last)
	}
	if parts&hasNextAt != 0 {
		r.NextAt = binform.TimeOf(d.Int() + last)
	}
	if parts&hasChangedAt != 0 {
		r.ChangedAt = binform.TimeOf(d.Int() + last)
	}
	if parts&hasSucceededAt != 0 {
		r.SucceededAt = binform.TimeOf(d.Int() + last)
	}
	if parts&hasTriedAt != 0 {
		r.TriedAt = binform.TimeOf(d.Int() + last)
	}
}

// readRare is the inverse of writeRare.
func readRare(d *binform.Reader, r *state.Row, has bits) {
	if has&hasMissing != 0 {
		r.Missing = d.Texts()
	}
	if has&hasProblem != 0 {
		r.Problem = d.Text()
	}
	if has&hasBlockedBy != 0 {
		r.BlockedBy = resource.ID(d.Text())
	}
	if has&hasReason != 0 {
		r.Reason = d.Text()
	}
	if has&hasCauses != 0 {
		r.Causes = binform.ReadTexts[resource.ID](d)
	}
	if has&hasClass != 0 {
		r.Class = provider.Class(d.Word(classWords))
	}
	if has&hasWaiting != 0 {
		r.Waiting = d.Bytes()
	}
	if has&hasCreating != 0 {
		r.Creating = d.Hex()
	}
	if has&hasHidden != 0 {
		r.Hidden = d.Texts()
	}
	if has&hasNotes != 0 {
		r.Notes = d.Bytes()
	}
	if has&hasFormerly != 0 {
		r.Formerly = binform.ReadTexts[resource.ID](d)
	}
	if has&hasPurged != 0 {
		r.Purged = binform.ReadTexts[resource.ID](d)
	}
	if has&hasRan != 0 {
		r.Ran = d.Hex()
	}
}
