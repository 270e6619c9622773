package state

import (
	"slices"
	"time"

	"southbound/shared/resource"
)

// Guard is the lease under which a Commit is made.
type Guard struct {
	Key   string
	Fence int64
}

// Commit is one write of a planner or of a lane's worker. It applies whole or not at all, with two
// exceptions: rows whose Rev has changed are left out and returned, and Next may be refused. A
// store that writes a large commit in steps may learn of a conflict only after it
// has counted the row as checked and dropped entries of the outbox.
//
// Large: it is all that one transaction writes, and applies as one.
type Commit struct {
	// Guard must still hold, else Fenced and nothing is applied.
	Guard Guard
	// Rows to write, in an order in which a prefix makes sense. Rev is the revision read; 0: the
	// row must not exist, and gets FirstRev. Other rows that are written get Rev+1. The Body of a
	// row that exists is written only with Plan: results never change what is wanted.
	Rows []Row
	// Checked are rows that were checked in wave Epoch. They count as checked even if their Rev has
	// changed since, but for those among Rows that conflict (see Counted): nothing is recorded of
	// these yet.
	Checked []resource.ID
	Epoch   int64
	// Actions of rows that conflict are stored too: they did happen.
	Actions []Action
	// AddOutbox are entries to add to the outbox. DropOutbox are removed, unless a row conflicts:
	// what they ask for is then not all written. An entry that is in both is there only as long as
	// that.
	AddOutbox  []Outbox
	DropOutbox []string
	// Parameters are parameters and facts to write, each whole; DropParameters are removed, and
	// absent ones are not an error.
	Parameters     []Parameter
	DropParameters []ParameterKey
	// Plan says that the schedule changes: PlanSeq grows.
	Plan bool
	// Env, when not nil, replaces the environment when its Rev still fits; Conflict, and nothing
	// applied, otherwise. Its PlanSeq and Halted are not written.
	Env *Env
	// Version, when not nil, is stored when no version of that number exists; Conflict, and nothing
	// applied, otherwise. Versions are never changed.
	Version *Version
	// Forget are numbers of versions to remove; unknown ones are not an error.
	Forget []int
	// Agents are written, each whole but for its pause, which goes through Pause. DropAgents are
	// removed before; a pause stays, and unknown ones are not an error.
	Agents     []resource.Agent
	DropAgents []string
	// Until prolongs the lease; zero leaves it.
	Until time.Time
	// Next are the rows that the holder starts now. They replace the lease's Running, and are
	// accepted only while the environment is not halted, the agent is not paused and PlanSeq still
	// is SeenPlan; when they are refused, Running stays as it was. An empty Next ends what runs:
	// all but the rows of this commit that conflict, of which nothing is recorded yet (see
	// StillRunning).
	Next     []resource.ID
	SeenPlan int64
	// WaveDone, when not 0, marks the guard's lane as finished with that wave.
	WaveDone int64
}

// FirstRev is the revision of rows that are new with a commit. A planner's is one that no row of
// that id has had before its lease. Whoever still runs what was let go of since, and has come back,
// holds a revision that fits no more.
func (c *Commit) FirstRev() int64 {
	if c.Guard.Key != PlanKey {
		return 1
	}
	return c.Guard.Fence<<20 + 1
}

// Committed is what came of a Commit.
type Committed struct {
	// Conflicts are the rows that were left out, as they are now; a row that is gone has Rev 0.
	Conflicts []Row
	// Started says that Next was accepted.
	Started bool
	Paused  bool // the agent is paused or the environment halted
	PlanSeq int64
}

// StillRunning returns what a commit without Next leaves of a lease's Running: the rows that
// conflict with it, in their order. Until another commit says what became of them, whoever takes
// the lane over must know that they were run.
func StillRunning(running []resource.ID, conflicts []Row) []resource.ID {
	var out []resource.ID
	for _, id := range running {
		if slices.ContainsFunc(conflicts, func(r Row) bool { return r.ID == id }) {
			out = append(out, id)
		}
	}
	return out
}

// Counted returns which rows a commit counts as checked: all but those that conflict.
func Counted(checked []resource.ID, conflicts []Row) []resource.ID {
	if len(conflicts) == 0 {
		return checked
	}
	return slices.DeleteFunc(slices.Clone(checked), func(id resource.ID) bool {
		return slices.ContainsFunc(conflicts, func(r Row) bool { return r.ID == id })
	})
}

// Outbox is work that follows from a commit and must not be lost.
type Outbox struct {
	ID   string // the same if the same commit is written again, so that there is one entry then
	Kind OutboxKind
	// Of is the resource it is about.
	Of resource.ID
	// To, of an event, is the one resource to tell, since Of has been purged and is in no graph any
	// more. "": the dependants of Of.
	To resource.ID
	// when the change or the recovery was; a row that has run since is not concerned
	At       time.Time
	Priority Priority // of what is scheduled because of it
	// Ticket is the one with which its resource ran, 0 for one that a wave asked for. What was
	// scheduled no earlier was claimed by somebody who knew of that, and so runs after it.
	Ticket int64
}

// OutboxKind says what follows.
type OutboxKind string

// What can follow from a commit.
const (
	OutboxRecovered OutboxKind = "recovered" // wake those that were skipped because of it
	OutboxEvent     OutboxKind = "event"     // tell direct dependants
	// a fact or parameter is known now: resolve what waits for it
	OutboxFact OutboxKind = "fact"
	// a run that another had overtaken did something: check the resource once more
	OutboxAgain OutboxKind = "again"
	// what is stored of it cannot be read: take it from the version once more
	OutboxDamaged OutboxKind = "damaged"
)
