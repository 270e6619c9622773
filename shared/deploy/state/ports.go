package state

import (
	"context"
	"io"
	"time"

	"southbound/shared/resource"
)

// State stores the authoritative state of environments: rows, leases, actions, parameters. Any
// number of processes share it.
//
// Every write is conditional and every operation takes and returns batches. Unless an operation
// documents otherwise, its errors are of the kinds Unavailable (nothing or everything may have
// happened: read again), NotFound, Conflict, Fenced, Full, Damaged.
//
// A home implements all of its ports together, since they concern one set of records, which a commit
// changes atomically.
type State interface {
	EnvironmentState
	AgentState
	Leases
	RowState
	LogState
	Keeps

	// Commit applies c; see Commit.
	Commit(ctx context.Context, env string, c Commit) (Committed, error)

	// Outbox returns up to limit entries, oldest first.
	Outbox(ctx context.Context, env string, limit int) ([]Outbox, error)
}

// EnvironmentState reads environments and their versions.
type EnvironmentState interface {
	// Env returns the environment; a new one has only its name and Rev 0.
	Env(ctx context.Context, env string) (Env, error)
	// Envs returns the names of all environments, sorted.
	Envs(ctx context.Context) ([]string, error)

	// Versions returns the versions with these numbers, or all in ascending order when none is
	// given. Unknown ones are left out.
	Versions(ctx context.Context, env string, numbers ...int) ([]Version, error)
}

// AgentState reads and pauses agents.
type AgentState interface {
	// Agents returns the agents of an environment by name: those of these names, or all when none
	// is given. Unknown ones are left out.
	Agents(ctx context.Context, env string, names ...string) (map[string]Agent, error)
	// Pause sets or clears the pause of agents. The pause of an unknown name is kept until an agent
	// of that name exists. After Pause(true) has returned, no Commit for these agents gets its Next
	// accepted. PlanSeq grows.
	Pause(ctx context.Context, env string, paused bool, agents ...string) error
	// Halt sets or clears the halt of the environment, with the same guarantee for all its agents.
	// PlanSeq grows.
	Halt(ctx context.Context, env string, halted bool) error
}

// Leases are the leases of an environment.
type Leases interface {
	// Acquire takes the lease of key for holder until the given time. It does so if the lease is
	// free, expired at now, already held by holder, or held by a process known to be dead;
	// otherwise it returns Busy. The fence grows with every Acquire. If the previous holder ended
	// without a Release, the Running of the returned lease is that of the previous holder. The
	// store keeps it until the first Commit.
	Acquire(ctx context.Context, env, key, holder string, now, until time.Time) (Lease, error)
	// Release frees a lease whose fence is still l's; otherwise it does nothing and returns no
	// error.
	Release(ctx context.Context, env string, l Lease) error
	// Leases returns the leases of an environment, held or not.
	Leases(ctx context.Context, env string) ([]Lease, error)
}

// RowState reads the rows and schedules of an environment.
type RowState interface {
	// Rows returns the rows of these ids in any order; unknown ids are left out.
	Rows(ctx context.Context, env string, ids []resource.ID) ([]Row, error)
	// AgentRows returns rows of one agent: those with a ticket, or all.
	AgentRows(ctx context.Context, env, agent string, all bool) ([]Row, error)
	// ScanRows returns up to limit rows with an id greater than after, ascending.
	ScanRows(ctx context.Context, env string, after resource.ID, limit int) ([]Row, error)
	// Schedule returns the schedule, read at one instant: of these agents, or of the
	// whole environment when none is given.
	Schedule(ctx context.Context, env string, agents ...string) (Schedule, error)
	// Finished returns the ids among ids that are not scheduled: they have no ticket or no row, and
	// the wave of this epoch has either finished in their agent or checked them. Epoch 0: there is
	// no wave.
	Finished(ctx context.Context, env string, ids []resource.ID, epoch int64) ([]resource.ID, error)
	// Due returns ids of rows with 0 < Timer <= at, earliest first, up to limit, and the earliest
	// Timer after at (zero: none).
	Due(ctx context.Context, env string, at time.Time, limit int) ([]resource.ID, time.Time, error)
	// Counts returns the number of rows by status without reading their bodies. StatusDeploying is
	// not among them.
	Counts(ctx context.Context, env string) (map[Status]int, error)
}

// LogState reads parameters and actions.
type LogState interface {
	// Parameters returns parameters and facts that match q, sorted by Of, then Name.
	Parameters(ctx context.Context, env string, q ParameterQuery) ([]Parameter, error)

	// Actions returns actions that match q, newest first.
	Actions(ctx context.Context, env string, q ActionQuery) ([]Action, error)
	// DropActions removes actions finished before a time and returns how many.
	DropActions(ctx context.Context, env string, before time.Time) (int, error)
}

// Looker may be implemented by a State that answers several questions in fewer requests than one
// request each.
type Looker interface {
	// Look is Rows and Counts, in this order.
	Look(ctx context.Context, env string, ids []resource.ID) ([]Row, map[Status]int, error)
	// AgentWork returns the data that a worker of an agent needs; all decides whether it returns all
	// rows.
	AgentWork(ctx context.Context, env, agent string, all func(Schedule, Env) bool) (AgentWork, error)
}

// AgentWork is the schedule of an agent, together with its rows: all, or those with a ticket.
type AgentWork struct {
	Schedule Schedule // of the agent
	// Env is the environment at that time, or later: if it is later, the next claim is refused.
	Env   Env
	Agent Agent // the zero value: the agent is not described
	Rows  []Row
}

// Files holds bytes by their SHA-256.
type Files interface {
	// Missing returns the hashes among hashes that are not stored.
	Missing(ctx context.Context, hashes []string) ([]string, error)
	// Put stores blobs durably; storing what is there is not an error. Bytes that do not match
	// their hash are Invalid and are not stored.
	Put(ctx context.Context, blobs []Blob) error
	// Get returns the bytes of hashes, in order; a missing one is NotFound, bytes that do not match
	// are Damaged.
	Get(ctx context.Context, hashes []string) ([][]byte, error)
	// Open streams one; the caller closes it.
	Open(ctx context.Context, hash string) (io.ReadCloser, error)
	// List calls f for every hash with the time it was stored, until f returns an error.
	List(ctx context.Context, f func(hash string, stored time.Time) error) error
	// Delete removes files; absent ones are not an error.
	Delete(ctx context.Context, hashes []string) error
}

// Blob is bytes to store: the bytes from Open, if it is set (Size bytes; it may be called more than
// once), else Data.
type Blob struct {
	Hash string
	Size int64
	Data []byte
	Open func() (io.ReadCloser, error)
}

// Notifier notifies the workers of an agent that there may be work. Notices may be lost, doubled,
// late or out of order: State is authoritative, and Sweep sends notices again for remaining work.
type Notifier interface {
	Notify(ctx context.Context, env string, notices []Notice) error
}

// Notice is one message of a Notifier.
type Notice struct {
	Agent string
	// Done names resources of other agents that may have finished: a hint on what to check.
	Done []resource.ID
	// Size is how many resources were scheduled in the agent with this notice; 0: that is not known.
	Size int
}

// Clock returns the time and waits; the engine uses no other clock.
type Clock interface {
	Now() time.Time
	// Sleep waits d or until ctx is done.
	Sleep(ctx context.Context, d time.Duration) error
}

// Caller runs one call of a handler with a time limit.
type Caller interface {
	// Call runs f and waits for it at most limit. If f takes longer, Call cancels its context,
	// leaves f running and returns fault.Timeout. If f panics, Call returns fault.Internal with the
	// stack.
	Call(ctx context.Context, limit time.Duration, f func(ctx context.Context)) error
}

// Secrets resolves references to secrets.
type Secrets interface {
	// Resolve returns the value and the version it has now. NotFound, Denied, Unavailable and
	// Unsupported are its errors.
	Resolve(ctx context.Context, s resource.Secret) (value, version string, err error)
}

// Connector opens the connection of an agent for the handlers of one run of an agent.
type Connector interface {
	// Connect returns the transport; Close on it, when it has one, is called when the run of the
	// agent ends.
	Connect(ctx context.Context, a resource.Agent) (any, error)
}
