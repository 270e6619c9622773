package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// kindsOf are the kinds of what the port is asked for, meets and does. Each is to come about in
// some of the first seeds: a kind that never comes about is a hole, however many seeds run.
func kindsOf() []string {
	return strings.Split(strings.TrimSpace(`
Acquire: busy
Acquire: lost with its process
Acquire: ok
Actions: lost with its process
Actions: ok
Agents: lost with its process
Agents: ok
Commit: conflict
Commit: fenced
Commit: lost with its process
Commit: ok
Commit: unavailable
Counts: lost with its process
Counts: ok
DropActions: lost with its process
DropActions: ok
DropOrphans: ok
Due: lost with its process
Due: ok
Env: lost with its process
Env: ok
Finished: lost with its process
Finished: ok
Halt: lost with its process
Halt: ok
IdleEpoch: ok
Lane: lost with its process
Lane: ok
LaneRows: lost with its process
LaneRows: ok
Leases: lost with its process
Leases: ok
Log: lost with its process
Log: ok
Logged takes effect more than once
Logged: ok
Look: lost with its process
Look: ok
MarkQuiet takes effect more than once
MarkQuiet: lost with its process
MarkQuiet: ok
Outbox: lost with its process
Outbox: ok
Overview: lost with its process
Overview: ok
Parameters: lost with its process
Parameters: ok
Pause: lost with its process
Pause: ok
QuietUntil: lost with its process
QuietUntil: ok
Release: lost with its process
Release: ok
Rows: lost with its process
Rows: ok
ScanRows: lost with its process
ScanRows: ok
Schedule: lost with its process
Schedule: ok
SetIdleEpoch: lost with its process
SetIdleEpoch: ok
Unlogged: lost with its process
Unlogged: ok
Versions: lost with its process
Versions: ok
agent is paused
answer lost
broken service
claim accepted
claim refused
commit finds conflicts
commit is rolled forward
conflict comes late
conflict of transactions
conflict with a transaction
crash after a request
crash before a request
hours pass
late effect
planner's commit has a dropped entry
planner's commit has a new entry
planner's commit has a version
planner's commit has actions
planner's commit has agents
planner's commit has another schedule
planner's commit has dropped parameters
planner's commit has forgotten versions
planner's commit has nothing but the schedule
planner's commit has parameters
planner's commit has rows
planner's commit has the environment
planner's commit of several lanes
row goes
row is orphaned
row with a timer
slow request
throttled
worker's commit has a claim
worker's commit has a dropped entry
worker's commit has a longer lease
worker's commit has a new entry
worker's commit has actions
worker's commit has checks
worker's commit has parameters
worker's commit has rows
worker's commit has the end of a wave
written: complete
written: merge
written: ran
written: refuse
written: rest
written: roll
written: rolled
`), "\n")
}

// rare reports whether a kind comes about in so few seeds that these need not be among the first.
func rare(kind string) bool {
	for _, end := range []string{": unavailable", ": busy", ": lost with its process",
		" takes effect more than once",
		", and entries are to be dropped", ", and rows are to be checked"} {
		if strings.HasSuffix(kind, end) {
			return true
		}
	}
	return false
}

// checkKinds wants that every kind comes about, unless the seeds are too few for what is rare, and
// that there are no others.
func checkKinds(t *testing.T, of Totals) {
	t.Helper()
	var table strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(of.Kinds)) {
		fmt.Fprintf(&table, "%-50s %8d times in %5d seeds\n", kind, of.Kinds[kind],
			of.InSeeds[kind])
		if !slices.Contains(kindsOf(), kind) && !rare(kind) {
			t.Errorf("%q is counted and not listed", kind)
		}
	}
	t.Logf("%d seeds\n%s", of.Seeds, table.String())
	if of.Seeds < 1000 {
		return
	}
	for _, kind := range kindsOf() {
		if of.Kinds[kind] == 0 {
			t.Errorf("%q comes about in none of %d seeds", kind, of.Seeds)
		}
	}
}
