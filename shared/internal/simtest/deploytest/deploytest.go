// Package deploytest holds the conformance suites of the engine's ports. Every home, and every
// model of a home, passes them. Each subtest pins a sentence of the contract in
// shared/deploy/state.
//
// A suite opens a fresh port for every subtest through a function of the caller, and closes
// nothing: use t.Cleanup. No suite waits for real time to pass.
package deploytest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// StateHarness is one fresh, empty state, accessed by two processes.
type StateHarness struct {
	// A and B are handles on the same state. They may be equal if the state does not distinguish
	// processes.
	A, B state.State
	// HolderA and HolderB return a new, unique name at every call, under which the process of A or
	// B can hold leases.
	HolderA, HolderB func() string
	// KillA ends the process of A abruptly, after which its holders are known to be dead. It is nil
	// if the state cannot know.
	KillA func()
	// Serial means that handles must not be called concurrently. The suite then runs the calls of a
	// race sequentially.
	Serial bool
}

// env is the environment of the suites. Operations on env must not affect other.
const (
	env   = "e"
	other = "other"
	lane  = "a"
)

// epoch is the time at which the suites run.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func at(d time.Duration) time.Time { return epoch.Add(d) }

// fixture is the common start of most subtests.
//
// Large: it has a method for each step that subtests share, and for each comparison. The subtests
// are sequences of these calls.
type fixture struct {
	StateHarness
	t     *testing.T
	ctx   context.Context // of one subtest
	plans map[string]state.Guard
}

// check is one subtest of the suite for State.
type check struct {
	name string
	run  func(f *fixture)
}

// TestState runs the conformance suite for State. open returns a new, empty state for each subtest.
func TestState(t *testing.T, open func(t *testing.T) StateHarness) {
	t.Helper()
	for _, group := range []struct {
		name   string
		checks []check
	}{
		{"Env", envChecks()}, {"Versions", versionChecks()},
		{"Agents", agentChecks()}, {"Leases", leaseChecks()},
		{"Rows", rowChecks()}, {"Lists", listChecks()}, {"Kept", keptChecks()},
		{"Commit", commitChecks()}, {"Next", nextChecks()},
		{"Wave", waveChecks()}, {"Follows", followChecks()},
		{"Actions", actionChecks()}, {"Parameters", parameterChecks()},
		{"Races", raceChecks()}, {"Feed", feedChecks()},
		{"Tally", tallyChecks()},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.checks {
				t.Run(c.name, func(t *testing.T) {
					c.run(&fixture{StateHarness: open(t), t: t, ctx: t.Context()})
				})
			}
		})
	}
}

// ok ends the subtest when err is not nil.
func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("unexpected error: %v (kind %q)", err, fault.KindOf(err))
	}
}

// is reports an error whose kind is not the expected one.
func (f *fixture) is(err error, kind fault.Kind, reason string) {
	f.t.Helper()
	if !fault.Is(err, kind) {
		f.t.Errorf("%s: got error %v of kind %q, want kind %q", reason, err, fault.KindOf(err),
			kind)
	}
}

// Diff returns the result of cmp.Diff, or "" if the values are equal. It first compares the values,
// which is much cheaper than a diff and suffices for most.
func Diff(want, got any, options ...cmp.Option) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, options...)
}

// same reports a difference. Nil and empty are equal, and times are compared as instants.
func (f *fixture) same(got, want any, reason string) {
	f.t.Helper()
	if d := Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		f.t.Errorf("%s (-want +got):\n%s", reason, d)
	}
}

// lease takes key for an hour.
func (f *fixture) lease(s state.State, key, holder string) state.Lease {
	f.t.Helper()
	l, err := s.Acquire(f.ctx, env, key, holder, epoch, at(time.Hour))
	f.ok(err)
	return l
}

// guard takes key by A and returns the guard for commits.
func (f *fixture) guard(key string) state.Guard {
	f.t.Helper()
	return guardOf(f.lease(f.A, key, f.HolderA()))
}

func guardOf(l state.Lease) state.Guard { return state.Guard{Key: l.Key, Fence: l.Fence} }

// commit commits by A and fails the subtest on any error.
func (f *fixture) commit(c state.Commit) state.Committed {
	f.t.Helper()
	out, err := f.A.Commit(f.ctx, env, c)
	f.ok(err)
	return out
}

// put commits rows under g and fails the subtest when one conflicts.
func (f *fixture) put(g state.Guard, rows ...state.Row) {
	f.t.Helper()
	if out := f.commit(state.Commit{Guard: g, Rows: rows, Plan: true}); len(out.Conflicts) > 0 {
		f.t.Fatalf("rows conflict: %+v", out.Conflicts)
	}
}

// planning returns the lease under which environments are written; the first call takes it.
func (f *fixture) planning(env string) state.Guard {
	f.t.Helper()
	if g, ok := f.plans[env]; ok {
		return g
	}
	l, err := f.A.Acquire(f.ctx, env, state.PlanKey, f.HolderA(), epoch, at(24*time.Hour))
	f.ok(err)
	if f.plans == nil {
		f.plans = map[string]state.Guard{}
	}
	f.plans[env] = guardOf(l)
	return f.plans[env]
}

// putEnv writes an environment and returns its stored form.
func (f *fixture) putEnv(s state.State, e state.Env) (state.Env, error) {
	f.t.Helper()
	if _, err := s.Commit(f.ctx, e.Name,
		state.Commit{Guard: f.planning(e.Name), Env: &e}); err != nil {
		return state.Env{}, err
	}
	return s.Env(f.ctx, e.Name)
}

// write commits under the lease for planning.
func (f *fixture) write(s state.State, c state.Commit) error {
	f.t.Helper()
	c.Guard = f.planning(env)
	_, err := s.Commit(f.ctx, env, c)
	return err
}

// row returns the row of an id as B reads it, or a row with Rev 0 if there is none.
func (f *fixture) row(id resource.ID) state.Row {
	f.t.Helper()
	rows, err := f.B.Rows(f.ctx, env, []resource.ID{id})
	f.ok(err)
	if len(rows) == 0 {
		return state.Row{ID: id}
	}
	return rows[0]
}

// planSeq returns PlanSeq as B reads it.
func (f *fixture) planSeq() int64 {
	f.t.Helper()
	e, err := f.B.Env(f.ctx, env)
	f.ok(err)
	return e.PlanSeq
}

// held returns the lease of key as B reads it.
func (f *fixture) held(key string) state.Lease {
	f.t.Helper()
	leases, err := f.B.Leases(f.ctx, env)
	f.ok(err)
	for _, l := range leases {
		if l.Key == key {
			return l
		}
	}
	f.t.Fatalf("no lease of %s among %+v", key, leases)
	return state.Lease{}
}

// together calls f n times, concurrently unless the state is serial, and returns when all have
// returned.
func (f *fixture) together(n int, call func(i int, s state.State)) {
	start := make(chan struct{})
	done := make(chan struct{}, n)
	for i := range n {
		s := f.A
		if i%2 == 1 {
			s = f.B
		}
		if f.Serial {
			call(i, s)
			continue
		}
		go func() {
			defer func() { done <- struct{}{} }()
			<-start
			call(i, s)
		}()
	}
	close(start)
	if !f.Serial {
		for range n {
			<-done
		}
	}
}

// id names a resource of agent a.
func id(n int) resource.ID {
	return resource.NewID("std::Null", "a",
		resource.Key{Name: "name", Value: fmt.Sprintf("n%05d", n)})
}

// fresh is a row that was never stored.
func fresh(n int) state.Row {
	return state.Row{
		ID: id(n),
		Intent: state.Intent{Agent: lane, Version: 1, Hash: fmt.Sprintf("hash%d", n),
			Body: fmt.Appendf(nil, `{"n":%d}`, n)},
		Outcome: state.Outcome{Compliance: state.HasUpdate, LastRun: state.RunNew,
			Blocked: state.NotBlocked},
	}
}

func freshRows(n int) []state.Row {
	rows := make([]state.Row, n)
	for i := range rows {
		rows[i] = fresh(i)
	}
	return rows
}

// full is a row in which every field but Gone is set.
func full(n int) state.Row {
	r := fresh(n)
	r.Orphaned, r.Removing, r.PossiblyChanged = true, true, true
	r.FactsAsked, r.FactsRead = 4, 1
	r.Purged, r.Purges, r.Reloaded = []resource.ID{id(5)}, 8, 6
	r.Generation, r.Observed, r.RunAgain = 7, 5, true
	r.Priority, r.NotBefore = state.PriorityUserRepair, at(time.Second)
	r.Compliance, r.LastRun, r.Blocked = state.NonCompliant, state.RunFailed, state.BlockedTemp
	r.Missing = []string{"parameter x", "fact y of z"}
	r.Problem, r.BlockedBy = "expected a “String”", id(7)
	r.Ran, r.Deployed, r.LastAt = "hash tried", "hash before", at(time.Minute)
	r.LastAction, r.Reason = "act", "no “room” on the disk\n\x01"
	r.Causes, r.Class, r.Attempts, r.NextAt = []resource.ID{id(8), id(9)}, state.ClassTerminal, 4,
		at(time.Hour)
	r.Checked, r.Waiting, r.Creating = 9, []byte{0, 255, 1}, "token"
	r.Decided = "earlier"
	r.Notes = []byte{1, 0, 254}
	r.ChangedAt, r.SucceededAt, r.TriedAt = at(-time.Second), at(-time.Minute), at(-time.Hour)
	r.Hidden = []string{"password", "to ken"}
	r.Earlier, r.Moves, r.MovesSeen = []resource.ID{id(7), id(6)}, 3, 2
	return r
}

// idsOf returns the ids of rows, sorted.
func idsOf(rows []state.Row) []resource.ID {
	var out []resource.ID
	for i := range rows {
		out = append(out, rows[i].ID)
	}
	slices.Sort(out)
	return out
}

func byID(rows []state.Row) []state.Row {
	return slices.SortedFunc(slices.Values(rows), func(a, b state.Row) int {
		return strings.Compare(string(a.ID), string(b.ID))
	})
}
