package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// kindsOf are the kinds of what documents say, people ask for, and calls meet. Each is to come
// about in some of the first seeds: a kind of input that never comes about is a hole, however many
// seeds run.
func kindsOf() []string {
	return strings.Split(strings.TrimSpace(`
agent over http
agent over wire
agent with options
asked for by a timer
asked for with priority 1
asked for with priority 2
asked for with priority 3
asked for with priority 6
blocked
call create
call delete
call facts
call fails: needs_change
call fails: retryable
call fails: terminal
call find
call hangs
call panics
call read
call reload
call update
check of everything
claim refused
comes back
conflict
crash
earlier version in force
expected plan applied
export refused as not expected
export refused: false
export refused: true
failed after
failed before
known in part
last wave of an export
leaves to be let alone
leaves to be purged
leaves with prevent_destroy
list fails
listed
listing fails
list made
list too large to be kept
literal becomes reference
needs a person
notice lost
other lanes
other options
other prevent_destroy
other purge_on_delete
other purged
other report_only
other transport
other value
outcome deployed
outcome deploying
outcome failed
outcome non_compliant
outcome skipped
outcome unavailable
plan applied again
plan made
prevent_destroy
purge_on_delete
purged
read from what is listed
receive_events false
reference becomes literal
reference to a fact
reference to a file
reference to a parameter
reference to a secret
release in several commits
replaced
replacement prevented
report_only
request by a glob
request by agent
request by set
request by status
request by type
requires less
requires more
requires on another agent
requires on the agent
resource comes
row removed
second lane
send_event
set
set removed
several lanes
slow call
state kept
stale result
step break
step cancel
step collect
step crash
step delete parameter
step deploy
step drift
step dry run
step export
step forget
step halt
step jump
step mend
step pause
step release
step repair
step rotate
step set parameter
step sweep
subscribes by its type
swapped: created first
swapped: deleted first
to be replaced: sim::Rigid
to be replaced: sim::Swap
to follow: event
to follow: fact
to follow: recovered
type sim::Assigned
type sim::Batch
thing is moved
type sim::File
type sim::Folder
type sim::Label
type sim::Listed
type sim::Lonely
type sim::Rigid
type sim::Shelf
type sim::Slow
type sim::Swap
type sim::Thing
undefined
version forgotten
wave of agents
wave of an export
waves stopped
write-only attribute`), "\n")
}

// rareKinds are those that come about in so few seeds that these need not be among the first: a
// focus makes them, and a mutant pins that.
func rareKinds() []string {
	return []string{"holder fenced", "removal refused: not reached", "state not kept", "to follow: again"}
}

// happened counts what comes about in the first seeds.
type happened struct {
	most         uint64         // seeds that count
	seeds, times map[string]int // by kind
}

// add counts a run.
func (h *happened) add(res *Result) {
	if res.Plan.Seed > h.most {
		return
	}
	for kind, k := range res.Kinds {
		h.seeds[kind]++
		h.times[kind] += k
	}
}

// check wants that every kind comes about, unless the seeds are too few for what is rare, and that
// there are no others.
func (h *happened) check(t *testing.T) {
	t.Helper()
	var table strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(h.seeds)) {
		fmt.Fprintf(&table, "%-50s %8d times in %5d seeds\n", kind, h.times[kind], h.seeds[kind])
		if !slices.Contains(kindsOf(), kind) && !slices.Contains(rareKinds(), kind) {
			t.Errorf("%q is counted and not listed", kind)
		}
	}
	t.Logf("%d seeds\n%s", h.most, table.String())
	if h.most < 1000 {
		return
	}
	for _, kind := range kindsOf() {
		if h.seeds[kind] == 0 {
			t.Errorf("%q comes about in none of %d seeds", kind, h.most)
		}
	}
}
