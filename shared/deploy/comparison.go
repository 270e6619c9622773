package deploy

import (
	"context"
	"time"

	"southbound/shared/deploy/planner"
	"southbound/shared/resource"
)

// What dry runs, previews and errands have in common: what is asked of a comparison with reality,
// how it goes on where others have stopped, and what it comes to.

// CompareOptions says what a comparison covers.
type CompareOptions struct {
	// Read compares with reality too, which tells what has drifted.
	Read bool
	// Whole keeps values as long as they are.
	Whole bool
	// From is how it goes on with reading.
	From Reading
}

// Reading is how a comparison with reality goes on where earlier calls have stopped.
type Reading struct {
	// Until is when nothing more is begun to be read; zero: everything is read.
	Until time.Time
	// Known is what earlier calls have found in the same version, or in the plan that State
	// identifies.
	Known []planner.PlannedChange
	State string
	// Others, when not nil, is handed all that is still to be read before anything is, one errand
	// an agent, and says of each whether somebody else reads that.
	Others func(ctx context.Context, errands []Errand) ([]Elsewhere, error)
	// Progress, when not nil, is called repeatedly with the agents that are still to be compared.
	Progress func(agents []string)
}

// Errand is what is to be read on one agent, for a comparison that another process makes.
type Errand struct {
	Agent resource.Agent
	// Record keeps each comparison as an action.
	Record bool
	// Whole keeps values as long as they are.
	Whole bool
	// Wanted is what is to be read, in the order in which it would run in each lane.
	Wanted []Wanted
}

// Wanted is the intent of one resource that is to be compared with reality.
type Wanted struct {
	ID      resource.ID
	Lane    string
	Version int
	Hash    string
	Body    []byte // as resource.Encode makes it
}

// Elsewhere is how an errand goes.
type Elsewhere struct {
	// Taken says that somebody else reads it. Whole says that this is over: Found has all of it.
	Taken, Whole bool
	Found        []planner.PlannedChange
}

// DryRun is the report of a dry run, or of a preview.
type DryRun struct {
	Version int
	// State identifies a preview and the state that it was made from; see Export.Expect.
	State   string
	Planned []planner.PlannedChange // in the order in which they would run
	// Agents are those of a preview that are new or reached in another way, by name.
	Agents  []AgentChange
	Covered int // how many were compared with reality
	// Unread names the agents that were not compared, or not wholly, when an error or the time of a
	// Reading ended it. If there are any, Planned does not tell of everything.
	Unread []string
	// Refused says why the release of a version that is not in force would be refused; nil: it would
	// not, or that was not looked at.
	Refused error
	// Found is what this call has read, for the Reading of a later one.
	Found []planner.PlannedChange
}
