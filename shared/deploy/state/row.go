package state

import (
	"time"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Row is what is known of one resource. There is one for each resource of the version in force, and
// for what left the model as long as it is not forgotten.
//
// A planner writes the intent and the schedule, a worker the rest, both under the revision that
// they have read. What is stored must stay readable: a field may be added, and none may change its
// meaning.
//
// Large: it is a stored record, written as one under its revision: intent, schedule and state of a
// resource are to change together.
type Row struct {
	ID   resource.ID
	Rev  int64  // grows with every write, and no row of this id has had it before; 0: not stored
	Lane string // where it runs: its agent's name, "/" and a number; see LaneOf

	// Intent. Only a planner writes it.

	Version  int    // the version that brought this intent
	Hash     string // of the intent
	Body     []byte // resource.Resource, encoded; none: what was stored is damaged
	Orphaned bool   // left the model; not managed any more, and never scheduled
	Removing bool   // left the model and is being purged; the row goes when it is

	// Schedule.

	// Ticket is 0 if it is not scheduled, unless a wave asks; else that of the commit that
	// scheduled it. Later commits of planners have greater ones.
	Ticket int64
	// of what asked for it last, or more urgently; means nothing without a ticket
	Priority  Priority
	NotBefore time.Time // in progress: not before then

	// State vector. The status follows from it, and from Orphaned, Hash, Deployed and Class.

	// with the intent, as the last run has found or left the thing; HasUpdate with a new intent
	Compliance Compliance
	LastRun    LastRun // RunNew: none ended since the row was made
	// BlockedYes is a planner's word, and takes the ticket; the others are a run's
	Blocked Blocked
	// what is not known of the intent, for people; none unless it is Undefined
	Missing []string

	// Outcome of the last run.

	Deployed   string         // hash of the intent that was last deployed with success
	LastAt     time.Time      // end of the last run; zero: it never ran
	LastAction string         // id of the last action; ids grow with time
	Reason     string         // why it is not deployed, for people; no secrets
	Causes     []resource.ID  // root causes of a skip or a block
	Class      provider.Class // of the last failure; "" after a success
	Attempts   int            // failures in a row
	NextAt     time.Time      // when a timer asks for it; zero: never
	Checked    int64          // the last wave it was checked in, in the lane where it is now
	Waiting    []byte         // what the handler asked to be given back; only while in progress
	Creating   string         // token of a create that was begun and not recorded
	Notes      []byte         // what runs leave to later ones: see Notes

	// ChangedAt is the end of the last run that changed something, of a resource that sends events.
	ChangedAt time.Time
	// SucceededAt is when the last run that ended well was claimed, or began if it waited for
	// something of its batch. A dependant reloads unless its SucceededAt is later than the
	// ChangedAt of what it requires.
	SucceededAt time.Time
	// TriedAt is the same of the last run if that did not end well, or only compared; else zero.
	TriedAt time.Time
	// WantFacts: its facts are asked for, and no run has read them since.
	WantFacts bool
	// PossiblyChanged: a run may have changed the thing without that being recorded, so the
	// receivers of its events are told when it is deployed next.
	PossiblyChanged bool
	// Hidden names attributes that held a secret in an earlier intent: the thing may still show it,
	// or show it again.
	Hidden []string
	// MovedFrom are the lanes it was moved from in which a run of it may still be under way. It
	// does not start while one is.
	MovedFrom []string
	// Formerly are the ids that managed the thing before, of which a run may still be under way. It
	// does not start while one is. A release that a crash cut short knows by them what it has moved.
	Formerly []resource.ID
	// Gone, in a Commit, removes the row instead of writing it. It is never stored.
	Gone bool
}
