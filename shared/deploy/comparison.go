package deploy

import (
	"context"
	"time"

	"southbound/shared/deploy/planner"
	"southbound/shared/resource"
)

// Dry runs, previews and errands share these types: the options of a comparison with reality, the
// state from which an interrupted comparison resumes, and the result.

// CompareOptions selects the coverage of a comparison.
type CompareOptions struct {
	// Read also compares with reality, which reveals drift.
	Read bool
	// Whole keeps values at full length.
	Whole bool
	// From states how reading resumes.
	From Reading
}

// Reading states how a comparison with reality resumes after earlier calls stopped.
type Reading struct {
	// Until is the time after which no further read begins. If it is zero, everything is read.
	Until time.Time
	// Known holds the results of earlier calls for the same version, or for the plan that State
	// identifies.
	Known []planner.PlannedChange
	State string
	// Others, if not nil, is called before any read with all outstanding work, one errand per
	// agent. It returns for each errand whether another process reads it.
	Others func(ctx context.Context, errands []Errand) ([]Elsewhere, error)
	// Progress, if not nil, is called repeatedly with the agents that are still to be compared.
	Progress func(agents []string)
}

// Errand lists the resources to be read on one agent, for a comparison that another process makes.
type Errand struct {
	Agent resource.Agent
	// Record stores each comparison as an action.
	Record bool
	// Whole keeps values at full length.
	Whole bool
	// Wanted lists the resources to be read, in execution order within each lane.
	Wanted []Wanted
}

// Wanted is the intent of one resource that is to be compared with reality.
type Wanted struct {
	ID      resource.ID
	Agent   string
	Version int
	Hash    string
	Body    []byte // as encoded by resource.Encode
}

// Elsewhere is the state of an errand.
type Elsewhere struct {
	// Taken: another process reads the errand. Whole: that process has finished, and Found is
	// complete.
	Taken, Whole bool
	Found        []planner.PlannedChange
}

// DryRun is the report of a dry run, or of a preview.
type DryRun struct {
	Version int
	// State identifies a preview and the state on which it is based; see Export.Expect.
	State   string
	Planned []planner.PlannedChange // in execution order
	// Agents lists the agents of a preview that are new or whose connection changes, by name.
	Agents  []AgentChange
	Covered int // the number of resources compared with reality
	// Unread names the agents that were not compared completely because of an error or the time
	// limit of a Reading. If Unread is not empty, Planned is incomplete.
	Unread []string
	// Refused is the reason why the release of a version that is not in force would be refused. It
	// is nil if the release would not be refused, or if this was not checked.
	Refused error
	// Found holds the results read by this call, for the Reading of a later call.
	Found []planner.PlannedChange
}
