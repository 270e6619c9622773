package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/local"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// The tests of this file are what the engine does better than the peer that it follows in meaning,
// one for each row of that table.

// TestCyclesAndDuplicatesAreRefused: the peer accepts a dependency cycle and waits forever, and of
// two resources with one id takes the last.
func TestCyclesAndDuplicatesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.e.Export(context.Background(), "e",
		deploy.Export{Model: modelOf(res("a<c"), res("b<a"), res("c<b"), res("d"), res("d"))})
	if err == nil || !strings.Contains(err.Error(),
		"requires t::T[a,name=c] requires t::T[a,name=b] requires t::T[a,name=a]") ||
		!strings.Contains(err.Error(), "described twice") {
		t.Errorf("%v", err)
	}
	if vs, _, _ := r.e.VersionsOf(context.Background(), "e"); len(vs) != 0 {
		t.Error("a version was stored")
	}
}

// TestOrderHoldsThroughUnscheduled: with the peer, only direct edges between scheduled resources
// order work.
func TestOrderHoldsThroughUnscheduled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := res("c<b")
	r.export(deploy.Export{Model: modelOf(res("z"), res("b<z"), c)})
	r.drain()
	r.took()
	z := res("z")
	z.Attributes["value"], c.Attributes["value"] = "2", "2"
	r.export(deploy.Export{Model: modelOf(z, res("b<z"), c)})
	r.drain()
	r.same("order", r.took("update", "create"), "update z", "update c")
}

// TestNewVersionLeavesFailedToTheirBackoff: with the peer, every new version schedules every failed
// resource again.
func TestNewVersionLeavesFailedToTheirBackoff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.fail["a"] = errors.New("no")
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"))})
	r.drain()
	r.want("a", state.StatusFailed)
	r.took()
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("c"))})
	r.drain()
	r.same("reads", r.took("read"), "read c")
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("c")), RetryFailed: true})
	r.drain()
	r.same("asked for", r.took("read"), "read a")
}

// TestRemovedIsPurgedInReverseOrder: with the peer, a resource that leaves the model is always
// orphaned.
func TestRemovedIsPurgedInReverseOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rs := []resource.Resource{res("a"), res("b<a"), res("c<b"), res("o")}
	for i := range rs[:3] {
		rs[i].PurgeOnDelete = true
	}
	r.export(deploy.Export{Model: modelOf(rs...)})
	r.drain()
	out := r.export(deploy.Export{Model: modelOf(res("n"))})
	if out.Removed != 4 {
		t.Errorf("%d removed, want 4", out.Removed)
	}
	r.drain()
	r.same("purges", r.took("delete"), "delete c", "delete b", "delete a")
	r.want("o", state.StatusOrphaned)
	if _, err := r.e.Row(context.Background(), "e", id("a")); err == nil {
		t.Error("the row of a purged resource is still there")
	}
}

// TestBackoffGrowsAndTerminalWaits: the peer tries every failure again every 600 s, forever.
func TestBackoffGrowsAndTerminalWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.fail["a"], r.w.fail["b"] = errors.New("busy"), provider.Errorf(provider.Terminal, "never")
	r.export(deploy.Export{Model: modelOf(res("a"), res("b")),
		Settings: &state.Settings{DeployTimer: "0", RepairTimer: "0"}})
	r.drain()
	var pauses []time.Duration
	for range 4 {
		row := r.row("a")
		pauses = append(pauses, row.NextAt.Sub(row.LastAt))
		r.clock.advance(row.NextAt.Sub(r.clock.Now()) + time.Millisecond)
		if _, err := r.e.Sweep(context.Background(), "e"); err != nil {
			t.Fatal(err)
		}
		r.drain()
	}
	if !slices.Equal(pauses, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second,
		16 * time.Second}) {
		t.Errorf("pauses %v", pauses)
	}
	if row := r.row("b"); row.Attempts != 1 || !row.NextAt.IsZero() {
		t.Errorf("a terminal failure was tried %d times, next at %v", row.Attempts, row.NextAt)
	}
}

// TestHungAndPanickingHandlersHarmNoOther: the peer has no time limit for handlers.
func TestHungAndPanickingHandlersHarmNoOther(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	r.w.hook = func(call, name string) {
		switch {
		case name == "hang" && call == "create":
			<-release
		case name == "panic" && call == "create":
			panic("boom")
		}
	}
	r.export(deploy.Export{Model: modelOf(res("hang"), res("panic"), res("z"))})
	r.drain()
	r.want("z", state.StatusDeployed)
	r.want("hang", state.StatusFailed)
	r.want("panic", state.StatusFailed)
	if row := r.row("panic"); !strings.Contains(row.Reason, "boom") {
		t.Errorf("reason %q", row.Reason)
	}
}

// TestPauseMeansNoClaimStarts: with the peer, an agent that is paused while idle still runs one
// task.
func TestPauseMeansNoClaimStarts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if err := r.e.Pause(context.Background(), "e", true, "a"); err != nil {
		t.Fatal(err)
	}
	r.export(deploy.Export{Model: modelOf(res("a"))})
	r.drain()
	r.same("calls while paused", r.took("read", "create"))
	if err := r.e.Pause(context.Background(), "e", false, "a"); err != nil {
		t.Fatal(err)
	}
	r.drain()
	r.want("a", state.StatusDeployed)
}

// TestChangeIsInferred: with the peer, a handler that forgets to say that it has changed something
// leaves "no change".
func TestChangeIsInferred(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := res("a")
	var got []diff.Change
	deployed := func(x deploy.Export) {
		t.Helper()
		r.export(x)
		r.drain()
		actions, err := r.home.Actions(context.Background(), "e",
			state.ActionQuery{Resource: id("a"), Limit: 1})
		if err != nil || len(actions) != 1 {
			t.Fatalf("%v: %d actions", err, len(actions))
		}
		got = append(got, actions[0].Change)
	}
	deployed(deploy.Export{Model: modelOf(a)})
	deployed(deploy.Export{Model: modelOf(a), Check: true})
	a.Attributes["value"] = "2"
	deployed(deploy.Export{Model: modelOf(a)})
	a.Purged = true
	deployed(deploy.Export{Model: modelOf(a)})
	if want := []diff.Change{diff.Created, diff.NoChange, diff.Updated,
		diff.Purged}; !slices.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
}

// TestRotatedSecretIsANewIntent: with the peer, a rotated secret changes nothing.
func TestRotatedSecretIsANewIntent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "secret")
	rotate := func(to string) deploy.Exported {
		t.Helper()
		if err := os.WriteFile(file, []byte(to), 0o600); err != nil {
			t.Fatal(err)
		}
		a := res("a")
		a.Attributes["value"] = resource.Secret{Source: "file:" + file}
		out := r.export(deploy.Export{Model: modelOf(a)})
		r.drain()
		return out
	}
	rotate("one")
	if same := rotate("one"); same.Changed != 0 {
		t.Errorf("the same secret changed %d", same.Changed)
	}
	if other := rotate("two"); other.Changed != 1 || r.w.things["a"] != "two" {
		t.Errorf("a rotated secret changed %d, and the world has %q", other.Changed,
			r.w.things["a"])
	}
}

// TestSecretsAreInNoRecord: with the peer, resolved secrets reach changes and debug logs.
func TestSecretsAreInNoRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const value = "hunter2-hunter2"
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
	good, bad := res("good"), res("bad")
	good.Attributes["value"], bad.Attributes["value"] = resource.Secret{Source: "file:" + file},
		resource.Secret{Source: "file:" + file}
	r.w.fail["bad"] = errors.New("cannot use " + value)
	r.export(deploy.Export{Model: modelOf(good, bad)})
	r.drain()
	r.want("good", state.StatusDeployed)
	r.want("bad", state.StatusFailed)
	actions, err := r.home.Actions(context.Background(), "e", state.ActionQuery{})
	if err != nil || len(actions) != 2 {
		t.Fatalf("%v: %d actions", err, len(actions))
	}
	record, err := json.Marshal([]any{actions, r.row("good"), r.row("bad")})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(record), value) {
		t.Errorf("the secret is in %s", record)
	}
}

// TestDryRunIsOrderedAndSaysWhatItCovered: with the peer, a dry run ignores order and races with
// undefined resources.
func TestDryRunIsOrderedAndSaysWhatItCovered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	u := res("u")
	u.Attributes["value"] = resource.Parameter{Name: "p"}
	r.export(deploy.Export{Model: modelOf(res("a"), res("b<a"), u, res("x<u")), NoRelease: true})
	d, err := r.e.DryRun(context.Background(), "e", 1)
	if err != nil || d.Covered != 2 || len(d.Planned) != 4 {
		t.Fatalf("%v: %+v", err, d)
	}
	var got []string
	for _, w := range d.Planned {
		got = append(got, fmt.Sprintf("%s %s", w.Action, w.ID))
	}
	slices.Sort(got)
	r.same("would", got, "create "+string(id("a")), "create "+string(id("b")),
		"undefined "+string(id("u")), "undefined "+string(id("x")))
	r.same("changes", r.took("create", "update", "delete"))
}

// TestAnyProcessServes: the peer needs a server, one for each database, and keeps stale handlers
// with its agents. Here any process does what another has left, with its own handlers: the version
// says with which pack of them it was exported, and each action which one ran.
func TestAnyProcessServes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.export(deploy.Export{Model: modelOf(res("a"))})
	other, err := local.Open(r.home.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	r.use(other, "newer")
	r.drain()
	r.want("a", state.StatusDeployed)
	versions, _, err := r.e.VersionsOf(context.Background(), "e")
	if err != nil || len(versions) != 1 || versions[0].Pack != "test" {
		t.Errorf("%v: versions %+v, want one that was exported with the pack test", err, versions)
	}
	actions, err := r.home.Actions(context.Background(), "e", state.ActionQuery{})
	if err != nil || len(actions) != 1 || actions[0].Pack != "newer" {
		t.Errorf("%v: actions %+v, want one that was run by the pack newer", err, actions)
	}
}

// TestInProgressIsAskedAgain: with the peer, a long operation holds the agent.
func TestInProgressIsAskedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.again["a"] = 1
	r.export(deploy.Export{Model: modelOf(res("a"), res("b<a"))})
	r.drain()
	r.want("a", state.StatusAvailable)
	r.same("b before a is done", r.took("create"), "create a")
	r.clock.advance(31 * time.Second)
	r.drain()
	r.want("a", state.StatusDeployed)
	r.want("b", state.StatusDeployed)
}
