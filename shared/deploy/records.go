// Package deploy is the engine: it stores versions, decides what has to run and in which order, runs handlers, and records
// what they did. It is plain Go over the ports in this package and knows neither files nor networks nor threads.
package deploy

import (
	"slices"
	"strings"
	"time"

	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Env is the state of an environment as a whole.
type Env struct {
	Name     string
	Rev      int64  // grows with every Commit that has Env set
	PlanSeq  int64  // grows with every Commit that has Plan set, with Pause and Halt
	Last     int    // highest version number stored
	Released int    // the version that is deployed; 0: none
	Graph    string // hash of the graph of what is released, see Graph
	// Releasing is the version whose release was begun and not finished; 0: none.
	Releasing   int
	Halted      bool // written by Halt only
	Settings    Settings
	Fingerprint string // of the inputs of the last export, to recognise an export of the same
	Applied     string // the plan that the last export has carried out, see Export.Expect
	Wave        Wave
	LastDeploy  time.Time
	LastRepair  time.Time // end of the last repair of everything
	// Base is the version that a partial export is merged into, after an earlier version was put in force again; 0: Last.
	Base int
}

// Wave asks every resource of the environment to be checked once: a row with Checked < Epoch is scheduled.
type Wave struct {
	Epoch    int64 // 0: there was none
	Priority Priority
	At       time.Time
	// KeepTerminal leaves out resources whose failure waits for a person or a new intent.
	KeepTerminal bool
}

// Settings of an environment.
type Settings struct {
	DeployTimer  string        `json:"deploy_timer,omitempty" yaml:"deploy_timer"`   // seconds or cron (UTC); "0" off
	RepairTimer  string        `json:"repair_timer,omitempty" yaml:"repair_timer"`   // seconds or cron (UTC); "0" off
	RetryBase    time.Duration `json:"retry_base,omitempty" yaml:"retry_base"`       // first backoff
	RetryMax     time.Duration `json:"retry_max,omitempty" yaml:"retry_max"`         // longest backoff
	KeepVersions int           `json:"keep_versions,omitempty" yaml:"keep_versions"` // how many
	KeepActions  time.Duration `json:"keep_actions,omitempty" yaml:"keep_actions"`   // how long
	// Strict says what is done when a handler reports values that are not of the types it declares, or not in its own canonical form.
	Strict provider.Strictness `json:"strict,omitempty" yaml:"strict"`
}

// Version is one immutable export: its resources stand in chunks, which are files.
type Version struct {
	Number    int
	At        time.Time
	Resources int
	// Digest identifies the whole content: equal digests, equal desired state.
	Digest string
	Chunks []string // hashes, by bucket of resource ids
	Graph  string   // hash of its graph
	Agents []resource.Agent
	Sets   []string
	Base   int    // of a partial export: the version it was merged into
	Pack   string // digest of the handler pack it was exported with
	Files  []string
	Origin
}

// Origin says where a version comes from. All of it is text for people, and may be empty.
type Origin struct {
	Author  string // who exported it
	Message string // why
	Commit  string // of the documents, in whatever keeps them
}

// Agent is an agent and whether it is paused.
type Agent struct {
	resource.Agent
	Paused bool
}

// Lease is exclusive use of a key until a time. The fence tells old holders from new ones.
type Lease struct {
	Key     string
	Holder  string // "" when free
	Fence   int64
	Until   time.Time
	Running []resource.ID // what the holder said it runs now
	// Wave is the last wave that was finished in this lane.
	Wave int64
}

// The parts of a row's state.
type (
	// Compliance says whether the real thing is as the intent wants it.
	Compliance string
	// LastRun says how the last run ended.
	LastRun string
	// Blocked says whether the resource may run.
	Blocked string
	// Status is the one word for people, derived from the others.
	Status string
)

// The values of the state vector.
const (
	HasUpdate    Compliance = "has_update"    // the intent was not deployed yet
	Compliant    Compliance = "compliant"     // as wanted when last seen
	NonCompliant Compliance = "non_compliant" // not as wanted when last seen
	Undefined    Compliance = "undefined"     // what is wanted is not known yet

	RunNew     LastRun = "new"
	RunSuccess LastRun = "successful"
	RunFailed  LastRun = "failed"
	RunSkipped LastRun = "skipped"

	NotBlocked  Blocked = "no"
	BlockedYes  Blocked = "yes"       // undefined, or needs something that is
	BlockedTemp Blocked = "temporary" // something it needs failed; runs when that recovers
	NeedsPerson Blocked = "decision"  // a create may have happened and cannot be looked up
)

// The statuses.
const (
	StatusDeployed     Status = "deployed"
	StatusFailed       Status = "failed"
	StatusSkipped      Status = "skipped"
	StatusBlocked      Status = "blocked"
	StatusUndefined    Status = "undefined"
	StatusAvailable    Status = "available"
	StatusDeploying    Status = "deploying"
	StatusOrphaned     Status = "orphaned"
	StatusNonCompliant Status = "non_compliant"
	StatusUnavailable  Status = "unavailable"
)

// Priority orders what is ready; smaller runs first.
type Priority int

// The priorities.
const (
	PriorityUserDeploy Priority = iota + 1
	PriorityNewVersion
	PriorityUserRepair
	PriorityDryRun
	PriorityDeployTimer
	PriorityFacts
	PriorityRepairTimer
)

// Row is what is known of one resource.
type Row struct {
	ID   resource.ID
	Rev  int64 // grows with every write
	Lane string
	// Intent. Only a planner writes it.
	Version  int    // the version that brought this intent
	Hash     string // of the intent
	Body     []byte // resource.Resource, encoded; none: what was stored is damaged
	Orphaned bool   // left the model; not managed any more
	Removing bool   // left the model and is being purged; the row goes when it is
	// Schedule.
	Ticket    int64 // 0: not scheduled, unless a wave asks; else that of the commit that scheduled it, see planner.ticket
	Priority  Priority
	NotBefore time.Time // in progress: not before then
	// State vector.
	Compliance Compliance
	LastRun    LastRun
	Blocked    Blocked
	Missing    []string // what an undefined resource lacks, for people
	// Outcome.
	Deployed   string         // hash of the intent that was last deployed with success
	LastAt     time.Time      // end of the last run
	LastAction string         // id of the last action
	Reason     string         // why it is not deployed, for people; no secrets
	Causes     []resource.ID  // root causes of a skip
	Class      provider.Class // of the last failure
	Attempts   int            // failures in a row
	NextAt     time.Time      // when a timer asks for it; zero: never
	Checked    int64          // the last wave it was checked in
	Waiting    []byte         // what the handler asked to be given back (in progress)
	Creating   string         // token of a create that was begun and not recorded
	Notes      []byte         // what runs leave to later ones: see notes
	// ChangedAt is the end of the last run that changed something, of a resource that sends events. SucceededAt is when the last run that ended
	// well was claimed, or began if it waited for something of its batch. A dependant reloads unless its SucceededAt is later than the ChangedAt of what it requires.
	ChangedAt   time.Time
	SucceededAt time.Time
	// TriedAt is the same of the last run if that did not end well, or only compared.
	TriedAt   time.Time
	WantFacts bool // its facts are asked for
	// Unsure: a run may have changed the thing without that being recorded, so the receivers of its events are told when it is
	// deployed next.
	Unsure bool
	// Hidden names attributes that held a secret in an earlier intent: the thing may still show it, or show it again.
	Hidden []string
	// Left are the lanes it was moved from in which a run of it may still be under way.
	Left []string
	// Gone, in a Commit, removes the row instead of writing it.
	Gone bool
}

// Schedule is what is scheduled at one instant.
type Schedule struct {
	PlanSeq int64
	Graph   string
	Wave    Wave
	Halted  bool
	// Tickets of the scheduled rows.
	Tickets []Ticket
	// Lanes that have not finished the wave, with the ids already checked in it there. Empty when there is no wave to finish.
	Unfinished map[string][]resource.ID
}

// Ticket is one scheduled row.
type Ticket struct {
	ID   resource.ID
	Lane string
	N    int64
}

// Guard is the lease under which a Commit is made.
type Guard struct {
	Key   string
	Fence int64
}

// Commit is one write of a planner or of a lane's worker. It applies whole or not at all, with two exceptions: rows whose
// Rev has changed are left out and returned, and Next may be refused. A store that writes a large commit in steps may learn of a conflict only after it
// has counted the row as checked and dropped entries of the outbox.
type Commit struct {
	// Guard must still hold, else Fenced and nothing is applied.
	Guard Guard
	// Rows to write, in an order in which a prefix makes sense. Rev is the revision read; 0: the row
	// must not exist, and gets FirstRev. Other rows that are written get Rev+1. The Body of a row that
	// exists is written only with Plan: results never change what is wanted.
	Rows []Row
	// Checked are rows that were checked in wave Epoch. They count as checked even if their Rev has changed since, but for those among Rows that
	// conflict (see Counted): nothing is recorded of these yet.
	Checked []resource.ID
	Epoch   int64
	// Actions of rows that conflict are stored too: they did happen.
	Actions []Action
	// AddOutbox are entries to add to the outbox. DropOutbox are removed, unless a row conflicts: what they ask for is then not all written. An
	// entry that is in both is there only as long as that.
	AddOutbox  []Outbox
	DropOutbox []string
	// Parameters are parameters and facts to write, each whole; DropParameters are removed, and absent ones are no error.
	Parameters     []Parameter
	DropParameters []ParameterKey
	// Plan says that the schedule changes: PlanSeq grows.
	Plan bool
	// Env, when not nil, replaces the environment when its Rev still fits; Conflict, and nothing applied, otherwise. Its
	// PlanSeq and Halted are not written.
	Env *Env
	// Version, when not nil, is stored when no version of that number exists; Conflict, and nothing applied, otherwise. Versions
	// are never changed.
	Version *Version
	// Forget are numbers of versions to remove; unknown ones are no error.
	Forget []int
	// Agents are written, each whole but for its pause, which goes through Pause. DropAgents are removed before; a pause stays, and unknown ones
	// are no error.
	Agents     []resource.Agent
	DropAgents []string
	// Until prolongs the lease; zero leaves it.
	Until time.Time
	// Next are the rows that the holder starts now. They replace the lease's Running, and are accepted only while the environment
	// is not halted, the agent is not paused and PlanSeq still is SeenPlan; when they are refused, Running stays as it was. An
	// empty Next ends what runs: all but the rows of this commit that conflict, of which nothing is recorded yet (see StillRunning).
	Next     []resource.ID
	SeenPlan int64
	// WaveDone, when not 0, marks the guard's lane as finished with that wave.
	WaveDone int64
}

// FirstRev is the revision of rows that are new with a commit. A planner's is one that no row of that
// id has had before its lease. Whoever still runs what was let go of since, and has come back, holds a
// revision that fits no more.
func (c *Commit) FirstRev() int64 {
	if c.Guard.Key != planKey {
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

// StillRunning returns what a commit without Next leaves of a lease's Running: the rows that conflict with it, in their order. Until another
// commit says what became of them, whoever takes the lane over must know that they were run.
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
	ID   string
	Kind OutboxKind
	// Of is the resource it is about.
	Of       resource.ID
	At       time.Time
	Priority Priority
	// Ticket is the one with which its resource ran, 0 for one that a wave asked for. What was scheduled no earlier was
	// claimed by somebody who knew of that, and so runs after it.
	Ticket int64
}

// OutboxKind says what follows.
type OutboxKind string

// What can follow from a commit.
const (
	OutboxRecovered OutboxKind = "recovered" // wake those that were skipped because of it
	OutboxEvent     OutboxKind = "event"     // tell direct dependants
	OutboxFact      OutboxKind = "fact"      // a fact or parameter is known now: resolve what waits for it
	OutboxAgain     OutboxKind = "again"     // a run that another had overtaken did something: look at the resource once more
	OutboxDamaged   OutboxKind = "damaged"   // what is stored of it cannot be read: take it from the version once more
)

// ActionKind says what an action was for.
type ActionKind string

// The kinds of actions.
const (
	ActionDeploy ActionKind = "deploy"
	ActionRepair ActionKind = "repair"
	ActionDryRun ActionKind = "dryrun"
)

// Action is one run of a handler for one resource.
type Action struct {
	ID       string               `json:"id"`
	Resource resource.ID          `json:"resource"`
	Version  int                  `json:"version"`
	Action   ActionKind           `json:"action"`
	Outcome  Status               `json:"outcome"`
	Change   plan.Change          `json:"change"`
	Started  time.Time            `json:"started"`
	Finished time.Time            `json:"finished"`
	Changes  map[string]plan.Diff `json:"changes,omitempty"`
	Messages []provider.Line      `json:"messages,omitempty"`
	Reason   string               `json:"reason,omitempty"`
	Replaced bool                 `json:"replaced,omitempty"` // the thing was deleted and created anew
	Stale    bool                 `json:"stale,omitempty"`    // the intent was replaced, or another run recorded, while it ran
	Pack     string               `json:"pack"`               // the program that called the handler
	// Provider served the run, when its type has several, and was chosen for this reason.
	Provider    string `json:"provider,omitempty"`
	ProviderWhy string `json:"provider_why,omitempty"`
}

// ActionQuery selects actions; zero fields select all.
type ActionQuery struct {
	Resource resource.ID
	Agent    string // only of resources of this agent
	IDs      []string
	Version  int
	Action   ActionKind
	Outcome  Status
	After    string         // only actions with a greater id (ids grow with time)
	Before   string         // only actions with a smaller id
	Since    time.Time      // only actions that were finished then or later
	Until    time.Time      // only actions that were finished before
	Level    provider.Level // with a line at least this severe
	Text     string         // with a line that contains it
	Notable  bool           // only actions that changed something or did not go well
	Limit    int            // 0: all
}

// Notable reports whether an action changed something, or did not go well.
func (a *Action) Notable() bool {
	return a.Outcome != StatusDeployed || a.Change != plan.NoChange && a.Change != ""
}

// Selects reports whether an action matches. With both Level and Text one line must be as severe and contain the text.
func (q *ActionQuery) Selects(a *Action) bool {
	switch {
	case q.Resource != "" && a.Resource != q.Resource, q.Agent != "" && a.Resource.Agent() != q.Agent, len(q.IDs) > 0 && !slices.Contains(q.IDs, a.ID),
		q.Version != 0 && a.Version != q.Version, q.Action != "" && a.Action != q.Action, q.Outcome != "" && a.Outcome != q.Outcome,
		q.After != "" && a.ID <= q.After, q.Before != "" && a.ID >= q.Before,
		q.Notable && !a.Notable(), !q.Since.IsZero() && a.Finished.Before(q.Since), !q.Until.IsZero() && !a.Finished.Before(q.Until):
		return false
	}
	return q.Level == "" && q.Text == "" || slices.ContainsFunc(a.Messages, func(l provider.Line) bool {
		return Severity(l.Level) >= Severity(q.Level) && strings.Contains(l.Msg, q.Text)
	})
}

// Severity orders levels: the worse, the greater; 0 is not a level.
func Severity(l provider.Level) int {
	return 1 + slices.Index([]provider.Level{provider.LevelDebug, provider.LevelInfo, provider.LevelWarning, provider.LevelError}, l)
}

// Parameter is a named value: of the environment when Of is empty, else a fact of that resource.
type Parameter struct {
	Name    string      `json:"name"`
	Of      resource.ID `json:"of,omitempty"`
	Value   string      `json:"value"`
	Source  string      `json:"source"` // user, fact
	Updated time.Time   `json:"updated"`
}

// ParameterChange is a parameter or fact that was written, or, with Gone, removed at Updated.
type ParameterChange struct {
	Parameter
	Gone bool `json:"gone,omitempty"`
}

// ParameterKey names a parameter or fact.
type ParameterKey struct {
	Name string
	Of   resource.ID
}

// ParameterQuery selects parameters and facts.
type ParameterQuery struct {
	Facts bool           // facts, else parameters
	Of    resource.ID    // "" any
	Keys  []ParameterKey // when not empty, exactly these
}

// The classes of failures, by their names in this package.
const (
	ClassTerminal    = provider.Terminal
	ClassNeedsChange = provider.NeedsChange
	// ClassUnavailable: there is no type, handler or connection to run it with now.
	ClassUnavailable = provider.Class("unavailable")
	// ClassRefused: nothing can run, and that will not pass by itself: the agent lets nobody in, say.
	ClassRefused = provider.Class("refused")
)
