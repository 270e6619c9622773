package state

import (
	"time"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Row is the state of one resource: what is wanted of it, and what its runs have left. There is one
// row for each resource of the version in force, and for each resource that left the model until it
// is forgotten.
//
// Planners and workers write the whole row under the revision that they have read. Both homes store
// a row as CBOR, besides its id, revision, agent and body. Stored rows must stay readable: a field may
// be added, and no field may change its number or its meaning.
//
// Large: its methods derive from both parts all that is not stored, such as the ticket, the timer and
// the status.
type Row struct {
	ID  resource.ID `cbor:"-"`
	Rev int64       `cbor:"-"` // grows with every write and is never reused for this id; 0: not stored
	Intent
	Outcome
	// Gone, in a Commit, removes the row instead of writing it. It is never stored.
	Gone bool `cbor:"-"`
}

// Intent is the part of a row that only planners write: the desired state and the schedule. A worker
// writes it as it has read it.
//
// Large: it is a stored record, written as one.
type Intent struct {
	Agent    string `cbor:"-"`                    // that its id names
	Version  int    `cbor:"1,keyasint,omitempty"` // the version that brought this intent
	Hash     string `cbor:"2,keyasint,omitempty"` // of the intent
	Body     []byte `cbor:"-"`                    // resource.Resource, encoded; none: the stored one is damaged
	Orphaned bool   `cbor:"3,keyasint,omitempty"` // left the model; no longer managed, and never scheduled
	Removing bool   `cbor:"4,keyasint,omitempty"` // left the model and is being purged; the row is removed with it
	// Missing are the unknown values of the intent, for people. Problem states why values that are
	// known by now do not fit. BlockedBy is a resource with unknown values that the resource requires,
	// directly or not. See Row.Undefined and Row.Lacking.
	Missing   []string    `cbor:"5,keyasint,omitempty"`
	Problem   string      `cbor:"6,keyasint,omitempty"`
	BlockedBy resource.ID `cbor:"7,keyasint,omitempty"`
	// Hidden names attributes that held a secret in an earlier intent: the thing may still show the
	// secret, or show it again.
	Hidden []string `cbor:"8,keyasint,omitempty"`

	// Generation is the ticket of the last commit that scheduled the row. Later commits of planners
	// have greater tickets. See Row.Ticket.
	Generation int64 `cbor:"9,keyasint,omitempty"`
	// of the last or the most urgent request; it has no meaning without a ticket
	Priority Priority `cbor:"10,keyasint,omitempty"`
	// FactsAsked is the number of requests for its facts.
	FactsAsked int64 `cbor:"11,keyasint,omitempty"`
	// Purged are requirements that left the model and were purged, see Row.LeftBehind. Purges is the
	// number of these purges.
	Purged []resource.ID `cbor:"12,keyasint,omitempty"`
	Purges int64         `cbor:"13,keyasint,omitempty"`
	// Earlier are the earlier ids of its thing since its last run, see Row.EarlierIDs. Moves is the
	// number of changes of them.
	Earlier []resource.ID `cbor:"14,keyasint,omitempty"`
	Moves   int64         `cbor:"15,keyasint,omitempty"`
	// Decided is the token of a create whose outcome is not known, and of which a person decided
	// that it may begin again. See Row.Current.
	Decided string `cbor:"42,keyasint,omitempty"`
}

// Outcome is the part of a row that workers write: the result of the last run, and the data that it
// leaves for the next. It counts only for the intent of that run, see Row.Current. Planners change it
// only where a request or another resource ends its validity: see the events of package step.
//
// Large: it is a stored record, written as one: the parts of an outcome change together.
type Outcome struct {
	Ran string `cbor:"16,keyasint,omitempty"` // hash of the intent of the last run

	// The state vector. The status follows from it, and from Orphaned, Hash and Class.

	// the thing compared with the intent, as the last run found or left it
	Compliance Compliance `cbor:"17,keyasint,omitempty"`
	LastRun    LastRun    `cbor:"18,keyasint,omitempty"` // RunNew: no run has ended since the row was created
	Blocked    Blocked    `cbor:"19,keyasint,omitempty"`

	// Observed is the greatest generation with which a run was claimed that has ended.
	Observed int64 `cbor:"20,keyasint,omitempty"`
	// RunAgain means that the resource has to run again without a request: its last run is in progress,
	// or was moot.
	RunAgain bool `cbor:"21,keyasint,omitempty"`
	// Reloaded is the number of purges that successful runs have followed.
	Reloaded int64 `cbor:"22,keyasint,omitempty"`
	// MovesSeen is the value of Moves when the last run ended.
	MovesSeen int64 `cbor:"23,keyasint,omitempty"`

	Deployed   string         `cbor:"24,keyasint,omitempty"` // hash of the intent that was last deployed with success
	LastAt     time.Time      `cbor:"25,keyasint,omitzero"`  // end of the last run; zero: it never ran
	LastAction string         `cbor:"26,keyasint,omitempty"` // id of the last action; ids grow with time
	Reason     string         `cbor:"27,keyasint,omitempty"` // why it is not deployed, for people; no secrets. See Row.Why
	Causes     []resource.ID  `cbor:"28,keyasint,omitempty"` // root causes of a skip
	Class      provider.Class `cbor:"29,keyasint,omitempty"` // of the last failure; "" after a success
	Attempts   int            `cbor:"30,keyasint,omitempty"` // failures in a row
	NextAt     time.Time      `cbor:"31,keyasint,omitzero"`  // of the retry; zero: none. See Row.Timer
	Checked    int64          `cbor:"32,keyasint,omitempty"` // the last wave it was checked in
	NotBefore  time.Time      `cbor:"33,keyasint,omitzero"`  // of a row in progress: it does not run before
	Waiting    []byte         `cbor:"34,keyasint,omitempty"` // state that the handler asked to get back; only while in progress
	Creating   string         `cbor:"35,keyasint,omitempty"` // token of a create that was begun and not recorded
	Notes      []byte         `cbor:"36,keyasint,omitempty"` // data that runs leave to later ones: see Notes

	// ChangedAt is the end of the last run that changed something, of a resource that sends events.
	ChangedAt time.Time `cbor:"37,keyasint,omitzero"`
	// SucceededAt is when the last run that ended well was claimed. If the run waited for another
	// run of its batch, it is when the run began. A dependant reloads unless its SucceededAt is
	// later than the ChangedAt of its requirement.
	SucceededAt time.Time `cbor:"38,keyasint,omitzero"`
	// TriedAt is the same time of the last run if it did not end well, or only compared; else zero.
	TriedAt time.Time `cbor:"39,keyasint,omitzero"`
	// FactsRead is the number of requests for its facts that runs have answered.
	FactsRead int64 `cbor:"40,keyasint,omitempty"`
	// PossiblyChanged means that a run may have changed the thing without a record of the change.
	// So the receivers of its events are notified when it is deployed next.
	PossiblyChanged bool `cbor:"41,keyasint,omitempty"`
}
