package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/shared/fault"
	"southbound/shared/tf/process"
	"southbound/shared/tf/wire"
)

// TestProgramsThatAreNoProviders starts programs that do not become ready.
func TestProgramsThatAreNoProviders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		program string // "": there is none
		mode    os.FileMode
		kind    fault.Kind
		want    string
	}{
		"missing":       {"", 0o755, fault.NotFound, "cannot be executed"},
		"no permission": {"#!/bin/sh\n", 0o644, fault.Denied, "cannot be executed"},
		"text":          {"hello", 0o755, fault.Unsupported, "cannot be executed"},
		"a script":      {"#!/bin/sh\necho hello s3cret", 0o755, fault.Unsupported, `printed "hello ***"`},
		"ends": {"#!/bin/sh\necho no s3cret >&2; exit 4", 0o755, fault.Unavailable,
			"ended before it printed a handshake (exit status 4); its last output: no ***"},
		"ends well": {"#!/bin/sh\n", 0o755, fault.Unavailable, "ended before it printed a handshake"},
		"prints before": {"#!/bin/sh\necho starting\necho '1|5|unix|/tmp/x|grpc|'\nexec sleep 1000",
			0o755, fault.Unsupported, `printed "starting"`},
		"speaks version 4": {"#!/bin/sh\necho '1|4|tcp|127.0.0.1:1|netrpc|'\nexec sleep 1000", 0o755,
			fault.Unsupported, "version 4 of the provider protocol"},
		"prints a lot": {"#!/bin/sh\nexec cat /dev/zero", 0o755, fault.Unsupported, "instead of a handshake"},
		"listens nowhere": {"#!/bin/sh\necho '1|5|unix|/tmp/no-such-socket|grpc|'\nexec sleep 1000",
			0o755, fault.Unavailable, "the process ended during the call"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := pool(t, process.Limits{})
			to := process.Target{Program: filepath.Join(t.TempDir(), "provider"),
				Start: process.Configure("1.9.0", wire.DynamicValue{}, true),
				Clean: func(s string) string { return strings.ReplaceAll(s, "s3cret", "***") }}
			if c.program != "" {
				write(t, to.Program, c.program, c.mode)
			}
			for range 2 { // an error is not kept
				_, err := do(t.Context(), p, to, "any")
				if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) ||
					fault.HintOf(err) == "" {
					t.Errorf("%s: %v (%s)", fault.KindOf(err), err, fault.HintOf(err))
				}
			}
		})
	}
}

// write writes a program. A child that another test starts at the same time could hold a file open
// that this process writes, so another process writes it.
func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `cat > "$1"`, "sh", path)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestSilentProgram pins the limit for the handshake, and that a caller may leave before.
func TestSilentProgram(t *testing.T) {
	t.Parallel()
	p, c := pool(t, process.Limits{})
	to := process.Target{Program: filepath.Join(t.TempDir(), "provider")}
	write(t, to.Program, "#!/bin/sh\necho waits >&2\nexec sleep 1000", 0o755)
	done := make(chan error)
	go func() {
		_, err := do(t.Context(), p, to, "any")
		done <- err
	}()
	c.await(t, time.Minute)
	c.advance(time.Minute)
	if err := <-done; !fault.Is(err, fault.Timeout) || fault.HintOf(err) == "" ||
		!strings.Contains(err.Error(), "no handshake within 1m0s") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := do(ctx, p, to, "any")
		done <- err
	}()
	c.await(t, time.Minute)
	cancel()
	if err := <-done; !fault.Is(err, fault.Canceled) {
		t.Error(err)
	}
}

// TestProgramThatIsWritten pins that a start waits until the program is no longer open for writing.
func TestProgramThatIsWritten(t *testing.T) {
	t.Parallel()
	p, c := pool(t, process.Limits{})
	to := target(t, "")
	path := filepath.Join(t.TempDir(), "provider")
	self, err := os.ReadFile(to.Program)
	if err != nil {
		t.Fatal(err)
	}
	to.Program = path
	if err := os.WriteFile(path, self, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := do(t.Context(), p, to, "any")
		done <- err
	}()
	c.await(t, 100*time.Millisecond)
	_ = f.Close()
	for {
		c.advance(100 * time.Millisecond)
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// parent makes a call with a pool, prints the process id of the provider and waits.
func parent() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	f, err := do(context.Background(), process.New(process.Options{}),
		process.Target{Program: self, Environment: []string{"ODD=1"}}, "any")
	fmt.Println(f.PID, f.Dir, err)
	select {}
}

// TestKilledProgram pins that a provider ends with the program that started it, even if that is
// killed.
func TestKilledProgram(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "ODD_PARENT=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var dir, failed string
	if _, err := fmt.Fscan(out, &pid, &dir, &failed); err != nil || failed != "<nil>" || !alive(pid) {
		t.Errorf("%d, %s, %v", pid, failed, err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	until(t, func() bool { return !alive(pid) })
}

// TestStartThatFails pins that all callers of a process get the error of its start, and that the
// process ends.
func TestStartThatFails(t *testing.T) {
	t.Parallel()
	p, _ := pool(t, process.Limits{})
	to, starts := target(t, ""), 0
	bad := &process.Refused{Diagnostics: []wire.Diagnostic{
		{Severity: wire.SeverityError, Summary: "Invalid token", Detail: "It is too short."}}}
	to.Start = func(context.Context, *wire.Client) error {
		starts++
		return fault.Wrap(fault.Invalid, "configure the provider", bad)
	}
	for n := range 2 {
		_, err := do(t.Context(), p, to, "any")
		var refused *process.Refused
		if !errors.As(err, &refused) || starts != n+1 ||
			err.Error() != "configure the provider: Invalid token: It is too short." {
			t.Error(starts, err)
		}
	}
}
