//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/shared/tf/packages"
	"southbound/shared/tf/tftest"
)

const naps = `southbound: 1
agents:
  clock: {transport: terraform, provider: hashicorp/time}
resources:
  - {type: "tf::time::Static", agent: clock, attributes: {label: start}}
  - type: tf::time::Sleep
    agent: clock
    attributes:
      label: nap
      create_duration: 1ms
      triggers: {start: {fact: id, of: "tf::time::Static[clock,label=start]"}, round: "ROUND"}
    purged: PURGED
`

// terraform deploys types of a real provider: the project is made on a machine with the provider, and
// exported from a clone without it; a runner on another machine serves the agent.
func terraform(t *testing.T, w *world) {
	u := w.user(t, "terraform")
	mirror, machine := t.TempDir(), t.TempDir()
	to := filepath.Join(mirror, "registry.opentofu.org", "hashicorp", "time", "1.0.0", packages.Platform())
	program, err := os.ReadFile(tftest.Time(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "terraform-provider-time"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	on := func(dir string, args ...string) *exec.Cmd {
		cmd := u.command(t.Context(), args...)
		cmd.Dir, cmd.Env = dir, append(cmd.Env, "SOUTHBOUND_PROVIDERS="+filepath.Join(machine, "providers"))
		return cmd
	}
	here := func(dir string, args ...string) {
		t.Helper()
		if out, err := on(dir, args...).CombinedOutput(); err != nil {
			t.Fatalf("southbound %v: %v\n%s", args, err, out)
		}
	}
	author := t.TempDir()
	here(author, "provider", "add", "hashicorp/time", "--from", mirror)
	for _, dir := range []string{u.dir, machine} { // two clones
		if err := os.CopyFS(dir, os.DirFS(author)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(machine, "providers")); err != nil {
		t.Fatal(err)
	}
	here(machine, "provider", "install", "--from", mirror)
	serving := func() *exec.Cmd {
		t.Helper()
		cmd := on(machine, "agent", "run", "clock")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	cmd := serving()
	site := func(round, purged string) {
		u.write(t, "site.yaml", strings.NewReplacer("ROUND", round, "PURGED", purged).Replace(naps))
	}
	site("1", "false")
	if s := u.export(t); s.Changed != 2 || s.Counts["deployed"] != 2 {
		t.Fatalf("%+v", s)
	}
	if s := u.export(t); s.Changed != 0 || s.Counts["deployed"] != 2 {
		t.Errorf("again: %+v", s)
	}
	if got := string(u.run(t, 0, "dryrun")); !strings.Contains(got, "nothing to do") {
		t.Errorf("dryrun says\n%s", got)
	}
	site("2", "false")
	if got := string(u.run(t, 5, "plan", ".", "--exit-code")); !strings.Contains(got,
		"replace   tf::time::Sleep[clock,label=nap]") {
		t.Errorf("plan says\n%s", got)
	}
	u.export(t)
	if got := string(u.run(t, 0, "state", "show", "tf::time::Sleep[clock,label=nap]")); !strings.Contains(got,
		"sealed") {
		t.Errorf("the kept state is\n%s", got)
	}
	site("2", "true")
	if s := u.export(t); s.Changed != 1 {
		t.Errorf("the purge: %+v", s)
	}
	u.run(t, 1, "state", "show", "tf::time::Sleep[clock,label=nap]")

	// A runner is killed during a create. Another one takes its place, and does not create again.
	u.write(t, "site.yaml", strings.NewReplacer("ROUND", "3", "PURGED", "false", "1ms", "1h").Replace(naps))
	u.run(t, 0, "export", ".")
	u.has(t, w, "deploying")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	cmd = serving()
	u.has(t, w, "blocked")
	site("3", "false")
	u.run(t, 0, "export", ".")
	u.run(t, 0, "deploy", "--retry-failed", "tf::time::Sleep[clock,label=nap]", "--timeout", "8m")
	u.deployed(t, 2, 2*time.Minute)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("the runner ends with %v", err)
	}
}

// has waits until a resource has a status. It sweeps, because the schedule of an emulator may not.
func (u *user) has(t *testing.T, w *world, status string) {
	t.Helper()
	untilEach(t, 2*time.Second, "a resource is "+status, 6*time.Minute, func() bool {
		w.sweep(t)
		return strings.Contains(string(u.run(t, 0, "resources", "--json")), `"status":"`+status+`"`)
	})
}
