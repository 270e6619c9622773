package state

import (
	"slices"
	"strings"
	"time"

	"southbound/shared/resource"
)

// Env is the state of an environment as a whole.
//
// Large: it is a stored record, written as one under its revision.
type Env struct {
	Name     string
	Rev      int64  // grows with every Commit that has Env set; 0: not stored
	PlanSeq  int64  // grows with every Commit that has Plan set, with Pause and Halt
	Last     int    // highest version number stored
	Released int    // the version that is deployed; 0: none
	Graph    string // hash of the graph of the version in force, see Graph
	// Releasing is the version whose release was begun and not finished; 0: none.
	Releasing int
	// ReleasingFrom is the least ticket that this release gives. Until the release is complete, no
	// row with such a ticket or a greater one starts: see Held.
	ReleasingFrom int64
	Halted        bool // written by Halt only
	Settings      Settings
	// of the inputs of the last export, to recognise a repeated export; "": it is not known, or the
	// export depends on other inputs, too
	Fingerprint string
	Applied     string    // the plan that the last export carried out, see Export.Expect
	Wave        Wave      // the last one; Lease.Wave records whether an agent has finished it
	LastDeploy  time.Time // when the deploy timer last scheduled rows, or the first release
	LastRepair  time.Time // end of the last repair of everything
	// Base is the version that a partial export is merged into, after an earlier version was put in
	// force again; 0: Last.
	Base int
	// Releases are the last releases of versions that were stored before, oldest first; nil: none.
	// The pointer keeps Env comparable; the list behind it is never changed.
	Releases *[]Release `json:",omitempty"`
	// Turn is the token of the only worker that may export with a Turn now, see
	// planner.Export.Turn; "": no worker has recorded one.
	Turn string
}

// Release is a release of a version that was stored before it. Other versions are released when they
// are stored.
type Release struct {
	Version int
	At      time.Time
	Author  string // who released it
	Message string `json:",omitempty"` // why
}

// Bounds of the recorded releases of an environment.
const (
	MaxReleases       = 20
	maxReleaseMessage = 200 // bytes
)

// NoteRelease appends a release, and drops the oldest beyond the bound.
func (e *Env) NoteRelease(r Release) {
	if len(r.Message) > maxReleaseMessage {
		r.Message = strings.ToValidUTF8(r.Message[:maxReleaseMessage], "") + "…"
	}
	var list []Release
	if e.Releases != nil {
		list = slices.Clone((*e.Releases)[max(0, len(*e.Releases)+1-MaxReleases):])
	}
	list = append(list, r)
	e.Releases = &list
}

// Held reports whether a row must not start yet because the release that scheduled it is not
// complete.
func (e *Env) Held(r *Row) bool { return e.Releasing != 0 && r.Ticket() >= e.ReleasingFrom }

// Wave is a request to check every resource of the environment once: a row with Checked < Epoch is
// scheduled.
type Wave struct {
	Epoch    int64     // grows by one with each; 0: there was none
	Priority Priority  // of rows that are checked for it and have no ticket
	At       time.Time // when it was started
	// KeepTerminal leaves out resources whose failure waits for a person or a new intent.
	KeepTerminal bool
}

// Asks reports whether the wave asks for a row without a ticket, unless its agent has checked it.
func (w *Wave) Asks(r *Row) bool {
	return r.Checked < w.Epoch && r.Runnable() && !r.Removing &&
		!(w.KeepTerminal && !Retried(r.Current().Class))
}

// Version is one immutable export: its resources are stored in chunks, which are files.
type Version struct {
	Number    int       // one more than that of the version stored before; never given again
	At        time.Time // when it was stored
	Resources int       // how many
	// Digest identifies the whole content: equal digests, equal desired state.
	Digest string
	Chunks []string         // hashes, by bucket of resource ids
	Agents []resource.Agent // by name; each has at least one lane
	Sets   []string         // by name, without the shared one
	// Unreleased versions were stored without a release.
	Unreleased bool   `json:",omitempty"`
	Base       int    // of a partial export: the version it was merged into
	Pack       string // digest of the handler pack it was exported with
	// hashes of the files that its resources refer to, ascending; kept as long as the version
	Files []string
	// Contents, when not nil, is the data about the whole version that an export of some sets
	// needs.
	Contents *Contents `json:",omitempty"`
	// Places are hashes of the files with the places of its resources: all places, and an edit of
	// these. The digest does not depend on them.
	Places []string `json:",omitempty"`
	Origin
}

// Contents is the data of a version that exports of changed sets use: see docs/design/export.md.
type Contents struct {
	By   string // the program that made it, and its types; other programs make their own
	Sums []byte // of the texts of the chunks, concatenated
	Base string `json:",omitempty"` // file with sums of resources' identities and relations
	More []byte `json:",omitempty"` // sums in addition to these
	Less []byte `json:",omitempty"` // sums of that file that no longer apply
}

// Origin describes where a version comes from. All of it is text for people, and may be empty.
type Origin struct {
	Author  string // who exported it
	Message string // the reason
	Commit  string // of the documents, in their version control system
}

// Agent is an agent and whether it is paused.
type Agent struct {
	resource.Agent
	Paused bool
}

// Lease is exclusive use of a key until a time. The fence distinguishes holders of the key.
type Lease struct {
	Key    string // PlanKey, or an agent
	Holder string // the process that has it, or had it when it expired; "" when free
	Fence  int64  // grows with every Acquire, and with nothing else
	// Until is when it expires; commits of its holder may prolong it, and never shorten it.
	Until time.Time
	// Running are the resources that the holder has claimed (Commit.Next) and not recorded yet. The
	// list of an earlier holder stays until the first commit of the next holder.
	Running []resource.ID
	// Wave is the last wave that was finished in this agent; it only grows.
	Wave int64
	// Env is the environment at the time the lease was taken, if the store has read it during
	// Acquire. If it has no Name, the caller has to read it.
	Env Env
}

// Schedule is the scheduled rows, and the agents with rows to check, at one instant.
type Schedule struct {
	PlanSeq int64
	Graph   string
	Wave    Wave
	Halted  bool
	// Tickets of the scheduled rows.
	Tickets []Ticket
	// Unfinished are the agents that have not finished the wave, with the ids that were checked in
	// it there. It is empty if no wave is unfinished. An agent in which all rows are orphaned has
	// nothing to check and is not listed, since no worker would notify it.
	Unfinished map[string][]resource.ID
}

// Ticket is one scheduled row.
type Ticket struct {
	ID    resource.ID
	Agent string
	N     int64
}

// ValidEnvironment reports whether s can name an environment.
func ValidEnvironment(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' &&
			r != '_' {
			return false
		}
	}
	return s != "" && len(s) <= 100
}
