//go:build servers

package functions_test

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"southbound/shared/aws/home/hometest"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/tf/packages"
	"southbound/shared/tf/tftest"
)

const boxes = `southbound: 1
agents:
  store: {transport: terraform, provider: example.com/a/fw, config: {url: "URL"}}
defaults: {agent: store}
resources:
`

// bridged is a site with an agent of a provider, whose objects are in store.
type bridged struct {
	*site
	store  *tftest.Store
	url    string // of the store
	mirror string // of the provider
	clone  string // of the project, on a machine without the provider
	runner string // the directory of a machine that serves the agent
}

// newBridged makes a project with a provider, and a clone of the project.
func newBridged(t *testing.T) *bridged {
	t.Helper()
	b := &bridged{site: newSite(t), store: &tftest.Store{}, mirror: t.TempDir(), clone: t.TempDir(),
		runner: t.TempDir()}
	objects := httptest.NewServer(b.store)
	t.Cleanup(objects.Close)
	b.url = objects.URL
	to := filepath.Join(b.mirror, "example.com", "a", "fw", "1.0.0", packages.Platform())
	program, err := os.ReadFile(tftest.Framework(t))
	if err = errors.Join(err, os.MkdirAll(to, 0o700), os.WriteFile(filepath.Join(to,
		"terraform-provider-fw"), program, 0o600)); err != nil {
		t.Fatal(err)
	}
	author := t.TempDir()
	b.prints(author, 0, "provider add example.com/a/fw --from "+b.mirror, `^added`)
	lock, err := os.ReadFile(filepath.Join(author, "southbound.lock"))
	if err = errors.Join(err,
		os.CopyFS(filepath.Join(b.clone, "southbound.lock.d"), os.DirFS(filepath.Join(author, "southbound.lock.d"))),
		os.WriteFile(filepath.Join(b.clone, "southbound.lock"), lock, 0o600),
		os.WriteFile(filepath.Join(b.runner, "southbound.lock"), lock, 0o600)); err != nil {
		t.Fatal(err)
	}
	return b
}

// providers is where the provider is installed for the user of a directory.
func providers(dir string) string { return "SOUTHBOUND_PROVIDERS=" + filepath.Join(dir, "providers") }

// prints runs a command in a directory. It fails the test unless the command ends with a code and its
// output matches the expressions.
func (b *bridged) prints(dir string, code int, line string, want ...string) string {
	b.t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(b.t.Context(), filepath.Join(bin, "southbound"), strings.Fields(line)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(os.Environ(), "SOUTHBOUND_API="+b.site.url, "SOUTHBOUND_ENVIRONMENT=prod",
		"AWS_REGION="+region, "AWS_ACCESS_KEY_ID=person", "AWS_SECRET_ACCESS_KEY=test", providers(dir))
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		b.t.Fatalf("%s: %v, want code %d\n%s", line, err, code, &out)
	}
	for _, w := range want {
		if !regexp.MustCompile("(?m)" + w).Match(out.Bytes()) {
			b.t.Errorf("%s prints\n%swithout %s", line, &out, w)
		}
	}
	return out.String()
}

// export exports documents with these resources from the clone.
func (b *bridged) export(resources string, want ...string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.clone, "site.yaml"),
		[]byte(strings.ReplaceAll(boxes, "URL", b.url)+resources), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.prints(b.clone, 0, "export site.yaml", want...)
	b.sweep("none") // makes the queue
}

// serving starts a runner of the agent.
func (b *bridged) serving() *exec.Cmd {
	b.t.Helper()
	cmd := exec.CommandContext(b.t.Context(), filepath.Join(bin, "southbound"), "agent", "run", "store",
		"--environment", "prod", "--data", b.t.TempDir())
	cmd.Env = slices.Concat(environment(b.stack.Config), b.environment("runner"), []string{providers(b.runner)})
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	return cmd
}

// until has a runner serve the agent until so many resources have a status.
func (b *bridged) until(status state.Status, n int) {
	b.t.Helper()
	b.run("store", string(status), func() bool { return counts(b.t, b.home)[status] == n },
		providers(b.runner))
}

// killProviders kills the processes of the provider.
func (b *bridged) killProviders() {
	all, err := os.ReadDir("/proc")
	if err != nil {
		b.t.Error(err)
	}
	for _, d := range all {
		program, err := os.Readlink(filepath.Join("/proc", d.Name(), "exe"))
		if id, isProcess := strconv.Atoi(d.Name()); err == nil && isProcess == nil &&
			strings.HasPrefix(program, b.runner+"/") {
			_ = syscall.Kill(id, syscall.SIGKILL) // it may have ended
		}
	}
}

// revision returns the revision of the kept state of a resource; "": there is none.
func (b *bridged) revision(label string) string {
	b.t.Helper()
	kept, err := b.home.State.Kept(b.t.Context(), "prod", []resource.ID{resource.NewID("tf::fw::Thing", "store",
		resource.Key{Name: "label", Value: label})})
	if err != nil {
		b.t.Fatal(err)
	}
	if len(kept) == 0 {
		return ""
	}
	if bytes.Contains(kept[0].Sealed, []byte("box")) {
		b.t.Errorf("the kept state of %s is in clear", label)
	}
	return kept[0].Revision
}

// TestAgentRunTerraform pins that functions check and store resources of a provider by their declarations,
// and that a runner with the provider serves them: from a project's clone to the purge, with a runner
// that lacks the provider, drift, and a provider that is killed during a create, with two runners.
func TestAgentRunTerraform(t *testing.T) {
	b := newBridged(t)
	const thing = "  - {type: 'tf::fw::Thing', attributes: {label: "
	const one = thing + "one, name: box, note: hello}}\n"
	b.export(one, `1 changed`)
	b.until(state.StatusUnavailable, 1)
	b.prints(b.clone, 0, "resources --json", `example.com/a/fw 1\.0\.0 .*is not installed`,
		"southbound provider install")
	b.prints(b.runner, 0, "provider install --from "+b.mirror, `^fw +1\.0\.0`)
	b.prints(b.clone, 0, "deploy --retry-failed --no-wait")
	b.until(state.StatusDeployed, 1)
	made, kept := b.store.IDs(), b.revision("one")
	if len(made) != 1 || kept == "" {
		t.Fatalf("the store has %v, the state of it is %q", made, kept)
	}

	b.export(one, `0 changed`)
	b.store.Requests()
	b.prints(b.clone, 0, "repair --no-wait")
	var requests []string
	b.run("store", "the object is read", func() bool {
		requests = append(requests, b.store.Requests()...)
		return len(requests) > 0
	}, providers(b.runner))
	if got := b.revision("one"); got != kept || slices.ContainsFunc(requests, func(r string) bool {
		return !strings.HasPrefix(r, "GET ")
	}) {
		t.Errorf("a check has sent %q and written the state", requests)
	}
	b.store.Change(made[0], func(d map[string]any) { d["note"] = "drift" })
	b.prints(b.clone, 0, "repair --no-wait")
	b.run("store", "the drift is corrected", func() (corrected bool) {
		b.store.Change(made[0], func(d map[string]any) { corrected = d["note"] == "hello" })
		return corrected && counts(t, b.home)[state.StatusDeployed] == 1
	}, providers(b.runner))

	b.store.Requests()
	b.store.At(1, tftest.Hang)
	b.export(one+thing+"two, name: box}}\n", `1 changed`)
	other := b.serving()
	go func() {
		<-b.store.Hanging()
		b.killProviders()
	}()
	b.until(state.StatusFailed, 1)
	b.prints(b.clone, 0, "deploy --retry-failed --no-wait")
	b.until(state.StatusBlocked, 1)
	_ = other.Process.Signal(os.Interrupt)
	_ = other.Wait() // its code is that of an interrupted command
	if got := b.store.IDs(); len(got) != 2 {
		t.Fatalf("the store has %v", got)
	}
	second := slices.DeleteFunc(b.store.IDs(), func(id string) bool { return id == made[0] })[0]
	b.export(one + thing + "two, name: box, import: " + second + "}}\n")
	b.until(state.StatusDeployed, 2)

	b.export(thing + "one}, purged: true}\n" + thing + "two}, purged: true}\n")
	b.run("store", "everything is purged", func() bool {
		return len(b.store.IDs()) == 0 && b.revision("one") == "" && b.revision("two") == ""
	}, providers(b.runner))
	hometest.Until(t, "the purge is recorded", func() bool { return counts(t, b.home)[state.StatusDeployed] == 2 })
}
