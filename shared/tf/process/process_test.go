package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"southbound/shared/fault"
	"southbound/shared/tf/process"
	"southbound/shared/tf/wire"
)

// target returns an odd provider with a configuration.
func target(t *testing.T, config string) process.Target {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return process.Target{Program: self, Environment: []string{"ODD=1"},
		Config: wire.DynamicValue{Msgpack: []byte(config)}}
}

// pool returns a pool on a clock of its own.
func pool(t *testing.T, limits process.Limits) (*process.Pool, *clock) {
	t.Helper()
	c := &clock{}
	dir, err := os.MkdirTemp("", "pool")
	if err != nil {
		t.Fatal(err)
	}
	p := process.New(process.Options{Limits: limits, After: c.after, Dir: dir})
	t.Cleanup(func() {
		p.Close()
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
		_ = os.RemoveAll(dir)
	})
	return p, c
}

// do makes a call, and returns the facts of the provider.
func do(ctx context.Context, p *process.Pool, t process.Target, kind string) (f facts, err error) {
	err = p.Do(ctx, t, func(ctx context.Context, c *process.Call) error {
		a, err := c.Read(ctx, wire.Read{Type: kind})
		if err != nil {
			return err
		}
		return json.Unmarshal(a.Private, &f)
	})
	return f, err
}

// must makes a call that has to succeed.
func must(t *testing.T, p *process.Pool, to process.Target, kind string) facts {
	t.Helper()
	f, err := do(t.Context(), p, to, kind)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// TestOneProcessForEachConfiguration makes parallel calls to targets.
func TestOneProcessForEachConfiguration(t *testing.T) {
	t.Parallel()
	p, _ := pool(t, process.Limits{})
	one, two, scoped := target(t, "one"), target(t, "two"), target(t, "one")
	scoped.Scope = "another"
	var mu sync.Mutex
	seen := map[string]map[int]bool{"one": {}, "two": {}, "scoped": {}}
	var wg sync.WaitGroup
	for range 30 {
		for name, to := range map[string]process.Target{"one": one, "two": two, "scoped": scoped} {
			wg.Go(func() {
				f, err := do(t.Context(), p, to, "any")
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[name][f.PID] = true
			})
		}
	}
	wg.Wait()
	all := map[int]bool{}
	for name, pids := range seen {
		if len(pids) != 1 {
			t.Errorf("%s: %d processes", name, len(pids))
		}
		for pid := range pids {
			all[pid] = true
		}
	}
	if len(all) != 3 {
		t.Errorf("%v: %d processes, expected 3", seen, len(all))
	}
	p.Close()
	for pid := range all {
		if alive(pid) {
			t.Errorf("%d still runs", pid)
		}
	}
	if _, err := do(t.Context(), p, one, "any"); !fault.Is(err, fault.Canceled) {
		t.Errorf("a call after Close: %v", err)
	}
}

// TestLeastUsedEnds pins that a process without calls makes room, the one whose last call is the
// longest ago, and that callers wait if all processes have calls.
func TestLeastUsedEnds(t *testing.T) {
	t.Parallel()
	p, _ := pool(t, process.Limits{Processes: 2})
	a, b, c := target(t, "a"), target(t, "b"), target(t, "c")
	first, second := must(t, p, a, "any"), must(t, p, b, "any")
	must(t, p, a, "any")
	third := must(t, p, c, "any")
	if !alive(first.PID) || alive(second.PID) {
		t.Errorf("%d runs: %t, %d runs: %t", first.PID, alive(first.PID), second.PID,
			alive(second.PID))
	}
	running := filepath.Join(t.TempDir(), "running")
	var wg sync.WaitGroup
	for i, to := range []process.Target{a, c} {
		wg.Go(func() {
			if _, err := do(t.Context(), p, to, "wait "+running+string(rune('0'+i))); err != nil {
				t.Error(err)
			}
		})
	}
	until(t, func() bool { return there(running+"0") && there(running+"1") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := do(ctx, p, b, "any"); !fault.Is(err, fault.Canceled) {
		t.Errorf("a call without room: %v", err)
	}
	waits := make(chan facts)
	go func() { waits <- must(t, p, b, "any") }()
	_ = os.Remove(running + "1")
	if f := <-waits; f.PID == second.PID || alive(third.PID) || !alive(first.PID) {
		t.Error("another process than that of c made room")
	}
	_ = os.Remove(running + "0")
	wg.Wait()
}

// TestIdleProcessEnds pins that a process is stopped after its rest, and ends after its idle time,
// both measured from its last call.
func TestIdleProcessEnds(t *testing.T) {
	t.Parallel()
	p, c := pool(t, process.Limits{})
	to := target(t, "")
	first := must(t, p, to, "any")
	c.await(t, 30*time.Second)
	c.advance(20 * time.Second)
	if f := must(t, p, to, "any"); f.PID != first.PID || f.Stops != 0 {
		t.Errorf("%+v after 20 s", f)
	}
	c.await(t, 30*time.Second)
	c.advance(30 * time.Second)
	if f := must(t, p, to, "any"); f.PID != first.PID || f.Stops != 1 || f.Cut != 0 {
		t.Errorf("%+v after a rest", f)
	}
	c.await(t, time.Minute)
	c.advance(time.Minute)
	until(t, func() bool { return !alive(first.PID) })
	if f := must(t, p, to, "any"); f.PID == first.PID {
		t.Errorf("%+v after an idle minute", f)
	}
}

// TestStopsBetweenCalls pins that no call runs during the Stop that follows each 10 calls, even if
// there are always calls to make.
func TestStopsBetweenCalls(t *testing.T) {
	t.Parallel()
	p, _ := pool(t, process.Limits{Calls: 10})
	to := target(t, "")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				if _, err := do(t.Context(), p, to, "any"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if f := must(t, p, to, "any"); f.Cut != 0 || f.Stops < 5 || f.Stops > 10 {
		t.Errorf("%d Stops, %d calls during them, expected 5 to 10 and none", f.Stops, f.Cut)
	}
}

// TestLongCallIsNotStopped pins that a Stop that is due waits for a long call, and that other calls
// wait for it for a limited time only.
func TestLongCallIsNotStopped(t *testing.T) {
	t.Parallel()
	p, c := pool(t, process.Limits{Calls: 3})
	to := target(t, "")
	running := filepath.Join(t.TempDir(), "running")
	long := make(chan facts)
	go func() { long <- must(t, p, to, "wait "+running) }()
	until(t, func() bool { return there(running) })
	for range 3 {
		must(t, p, to, "any")
	}
	next := make(chan facts)
	go func() { next <- must(t, p, to, "any") }()
	c.await(t, 2*time.Second)
	select {
	case <-next:
		t.Error("a call began although a Stop was due")
	case <-time.After(20 * time.Millisecond):
	}
	c.advance(2 * time.Second)
	if f := <-next; f.Stops != 0 {
		t.Errorf("%+v: a long call was stopped", f)
	}
	_ = os.Remove(running)
	if f := <-long; f.Cut != 0 {
		t.Errorf("%+v: a long call was stopped", f)
	}
}

// TestEndOfContextStops pins that a call whose context ends is stopped and still answers.
func TestEndOfContextStops(t *testing.T) {
	t.Parallel()
	p, _ := pool(t, process.Limits{})
	to := target(t, "")
	pid := must(t, p, to, "any").PID
	running := filepath.Join(t.TempDir(), "running")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	interrupted := false
	err := p.Do(ctx, to, func(inner context.Context, c *process.Call) error {
		go func() {
			until(t, func() bool { return there(running) })
			cancel()
		}()
		_, err := c.Read(inner, wire.Read{Type: "long " + running})
		interrupted = c.Interrupted()
		return err
	})
	if err != nil || !interrupted {
		t.Errorf("%v; interrupted: %t", err, interrupted)
	}
	if f := must(t, p, to, "any"); f.PID != pid || f.Stops == 0 {
		t.Errorf("%+v", f)
	}
}

// TestDeafCallIsKilled pins that a call that does not answer after a Stop ends with its process.
func TestDeafCallIsKilled(t *testing.T) {
	t.Parallel()
	p, c := pool(t, process.Limits{})
	to := target(t, "")
	pid := must(t, p, to, "any").PID
	running := filepath.Join(t.TempDir(), "running")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := do(ctx, p, to, "deaf "+running)
		done <- err
	}()
	until(t, func() bool { return there(running) })
	cancel()
	c.await(t, 30*time.Second)
	c.advance(30 * time.Second)
	err := <-done
	if !fault.Is(err, fault.Canceled) || !strings.Contains(err.Error(), "was killed") ||
		fault.HintOf(err) == "" {
		t.Errorf("%v (%s)", err, fault.HintOf(err))
	}
	if f := must(t, p, to, "any"); f.PID == pid {
		t.Error("the process still serves calls")
	}
}

// TestStopReachesOtherCalls pins that the other calls of a process learn that they were stopped, and
// that no call begins until the stopped ones have ended.
func TestStopReachesOtherCalls(t *testing.T) {
	t.Parallel()
	p, c := pool(t, process.Limits{})
	to := target(t, "")
	pid := must(t, p, to, "any").PID
	running := filepath.Join(t.TempDir(), "running")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	deaf, long, next := make(chan error), make(chan error), make(chan facts)
	go func() {
		_, err := do(ctx, p, to, "deaf "+running+"1")
		deaf <- err
	}()
	go func() {
		long <- p.Do(t.Context(), to, func(ctx context.Context, c *process.Call) error {
			_, err := c.Read(ctx, wire.Read{Type: "long " + running + "2"})
			if err == nil && !c.Interrupted() {
				err = errors.New("it was not interrupted")
			}
			return err
		})
	}()
	until(t, func() bool { return there(running+"1") && there(running+"2") })
	cancel()
	if err := <-long; err != nil {
		t.Error(err)
	}
	go func() { next <- must(t, p, to, "any") }()
	select {
	case <-next:
		t.Error("a call began during a Stop")
	case <-time.After(20 * time.Millisecond):
	}
	c.await(t, 30*time.Second)
	c.advance(30 * time.Second)
	if err := <-deaf; !fault.Is(err, fault.Canceled) {
		t.Error(err)
	}
	if f := <-next; f.PID == pid {
		t.Error("a killed process serves calls")
	}
	if _, err := do(ctx, p, to, "any"); !fault.Is(err, fault.Canceled) {
		t.Errorf("a call of a context that has ended: %v", err)
	}
}

// TestCrash pins the error of a call during which the process ends, without secrets, and that
// another process serves the next call.
func TestCrash(t *testing.T) {
	t.Parallel()
	p, _ := pool(t, process.Limits{})
	to := target(t, "")
	to.Clean = func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }
	pid := must(t, p, to, "any").PID
	must(t, p, to, "log "+strings.Repeat("x", 10000))
	_, err := do(t.Context(), p, to, "crash panic: token s3cret")
	if !fault.Is(err, fault.Unavailable) || !errors.Is(err, wire.ErrLost) ||
		!strings.Contains(err.Error(), "exit status 3") ||
		!strings.Contains(err.Error(), "panic: token ***") ||
		!strings.Contains(err.Error(), "…xxx") || len(err.Error()) > 9<<10 {
		t.Error(err)
	}
	if f := must(t, p, to, "any"); f.PID == pid || !alive(f.PID) {
		t.Errorf("%+v", f)
	}
	_, err = do(t.Context(), p, to, "status bad s3cret")
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

// TestKilledBetweenCalls pins that a process that ended without a call is replaced.
func TestKilledBetweenCalls(t *testing.T) {
	t.Parallel()
	p, _ := pool(t, process.Limits{Processes: 1})
	to := target(t, "")
	pid := must(t, p, to, "any").PID
	_ = syscall.Kill(pid, syscall.SIGKILL)
	for {
		f, err := do(t.Context(), p, to, "any")
		if err == nil && f.PID != pid {
			return
		}
		if !fault.Is(err, fault.Unavailable) {
			t.Fatalf("%+v, %v", f, err)
		}
	}
}

// TestLargeProcessIsReplaced pins that a process above its memory limit serves no further calls.
func TestLargeProcessIsReplaced(t *testing.T) {
	t.Parallel()
	p, _ := pool(t, process.Limits{Memory: 150 << 20})
	to := target(t, "")
	pid := must(t, p, to, "any").PID
	if f := must(t, p, to, "heavy"); f.PID != pid {
		t.Error("a small process was replaced")
	}
	if f := must(t, p, to, "any"); f.PID == pid {
		t.Error("a large process serves calls")
	}
	until(t, func() bool { return !alive(pid) })
}

// TestOddAnswers pins the errors of answers that no provider should send. The process serves on.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	p, _ := pool(t, process.Limits{})
	to := target(t, "")
	pid := must(t, p, to, "any").PID
	for kind, c := range map[string]struct {
		kind fault.Kind
		text string
	}{
		"large":       {fault.Unsupported, "exceeds the limit of 256 MiB"},
		"nonsense":    {fault.Unsupported, "not readable"},
		"none":        {fault.Unsupported, "does not implement this call"},
		"status oops": {fault.Internal, "the provider failed: oops"},
	} {
		_, err := do(t.Context(), p, to, kind)
		if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) ||
			fault.HintOf(err) == "" {
			t.Errorf("%s: %v (%s)", kind, err, fault.HintOf(err))
		}
	}
	if f := must(t, p, to, "any"); f.PID != pid {
		t.Error("an odd answer ended the process")
	}
}

// TestEnvironment pins the variables that a provider gets.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	p, _ := pool(t, process.Limits{})
	to := target(t, "")
	to.Environment = append(to.Environment, "REGION=north", "TMPDIR=/elsewhere",
		"PLUGIN_PROTOCOL_VERSIONS=4", "TF_LOG_SDK=trace")
	f := must(t, p, to, "any")
	names := map[string]string{}
	for _, v := range f.Environment {
		name, value, _ := strings.Cut(v, "=")
		names[name] = value
	}
	if names["TMPDIR"] != f.Dir || names["HOME"] != filepath.Join(f.Dir, "home") ||
		names["PLUGIN_PROTOCOL_VERSIONS"] != "5,6" || names["REGION"] != "north" ||
		names["TF_LOG_SDK"] != "trace" || names["PATH"] != os.Getenv("PATH") {
		t.Errorf("%v", f.Environment)
	}
	allowed := []string{"PATH", "HOME", "TMPDIR", "TF_LOG_SDK", "ODD", "REGION",
		"TF_PLUGIN_MAGIC_COOKIE", "PLUGIN_PROTOCOL_VERSIONS", "SSL_CERT_FILE", "SSL_CERT_DIR"}
	for name := range names {
		if !slices.Contains(allowed, name) && !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			t.Errorf("a provider gets %s", name)
		}
	}
}
