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

// Commit is one write of a planner or of an agent's worker. It applies whole or not at all, with three
// exceptions: rows whose Rev has changed are left out and returned, Next may be refused, and a store
// may write a large commit in pages. If the process ends between two pages, or a page fails, a
// prefix of Rows is written, each with its Actions, AddOutbox and facts. Env, Version and Agents are
// then written if Env begins a release. All else is written with the last page. PlanSeq grows with
// each page.
//
// Large: it holds all that one write consists of.
type Commit struct {
	// Guard must still hold, else Fenced and nothing is applied.
	Guard Guard
	// Rows are the rows to write, in an order in which a prefix makes sense. Rev is the revision
	// that was read; 0: the row must not exist, and gets FirstRev. Other rows that are written get
	// Rev+1. The Body of an existing row is written only with Plan: a result never changes the
	// intent.
	Rows []Row
	// Checked are rows that were checked in wave Epoch. They count as checked even if their Rev has
	// changed since. The exception are conflicting rows among Rows (see Counted): no result of
	// these is recorded yet.
	Checked []resource.ID
	Epoch   int64
	// Actions of rows that conflict are stored too, since the runs took place.
	Actions []Action
	// AddOutbox are entries to add to the outbox. DropOutbox are ids of entries to remove. If a row
	// conflicts, no entry is removed, since the work that the entries request is not completely
	// written. An entry in both lists is stored only in that case.
	AddOutbox  []Outbox
	DropOutbox []string
	// Parameters are parameters and facts to write, each whole; DropParameters are removed, and
	// absent ones are not an error.
	Parameters     []Parameter
	DropParameters []ParameterKey
	// Keep are kept states to write, each whole. DropKept are ids whose kept states are removed
	// before that; absent ones are not an error. A store may apply both before the rest, but never
	// after it, and never under a stale fence.
	Keep     []Kept
	DropKept []resource.ID
	// Plan means that the schedule changes: PlanSeq grows.
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
	// Next are the rows that the holder starts now. With Beside they replace the lease's Running.
	// They are accepted only while the environment is not halted, the agent is not paused and PlanSeq
	// still equals SeenPlan. If they are refused, Running stays as it was. An empty Next removes all
	// rows from Running but Beside and the conflicting rows of this commit, whose results are not
	// recorded yet (see StillRunning).
	Next     []resource.ID
	SeenPlan int64
	// Beside are the rows that other lanes of the holder run.
	Beside []resource.ID
	// WaveDone, when not 0, marks the guard's agent as finished with that wave.
	WaveDone int64
}

// FirstRev is the revision of rows that are new with a commit. The FirstRev of a planner is a
// revision that no row of that id had before the planner's lease. A worker may still run a resource
// that was forgotten and has been added again since: its revision no longer fits.
func (c *Commit) FirstRev() int64 {
	if c.Guard.Key != PlanKey {
		return 1
	}
	return c.Guard.Fence<<20 + 1
}

// Starts returns the Running of the lease if Next is accepted.
func (c *Commit) Starts() []resource.ID { return slices.Concat(c.Beside, c.Next) }

// Committed is the result of a Commit.
type Committed struct {
	// Conflicts are the rows that were left out, as they are now; a row that is gone has Rev 0.
	Conflicts []Row
	// Started means that Next was accepted.
	Started bool
	Paused  bool // the agent is paused or the environment halted
	PlanSeq int64
}

// StillRunning returns the part of a lease's Running that a commit without Next keeps: the rows
// that conflict with it, in their order. Until another commit records their results, the next
// worker of the agent must know that they were run.
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

// Outbox is an entry for work that follows from a commit and must not be lost.
type Outbox struct {
	ID   string // the same if the same commit is written again, so that only one entry exists
	Kind OutboxKind
	// Of is the resource that the entry concerns.
	Of resource.ID
	// To, of an event, is the only resource to notify, since Of has been purged and is no longer in
	// a graph. "": the dependants of Of.
	To resource.ID
	// time of the change or the recovery; a row that has run since is not affected
	At       time.Time
	Priority Priority // of the rows that are scheduled because of it
	// Ticket is the ticket of the run of Of; 0: a wave asked for the run. A worker that claimed a
	// row with the same ticket or a later one knew of that run, so the row ran after it.
	Ticket int64
}

// OutboxKind is the kind of work that follows.
type OutboxKind string

// The kinds of work that can follow from a commit.
const (
	OutboxRecovered OutboxKind = "recovered" // wake rows that were skipped because of it
	OutboxEvent     OutboxKind = "event"     // notify direct dependants
	// a fact or parameter is known now: resolve the rows that wait for it
	OutboxFact OutboxKind = "fact"
	// a run that a later run has overtaken acted or stored facts: check the resource again
	OutboxAgain OutboxKind = "again"
	// its stored row cannot be read: restore it from the version
	OutboxDamaged OutboxKind = "damaged"
)
