package fulfil_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/fulfil"
)

// away keeps passwords, but cannot be reached.
type away struct{}

func (away) Password(context.Context, string) (string, error) {
	return "", fault.New(fault.Unavailable, "read", "nobody answers")
}

func (a away) Make(ctx context.Context, name, _ string) (string, error) {
	return a.Password(ctx, name)
}

// TestPasswordsAway has who keeps passwords not be reached: the order waits, and is not rejected.
func TestPasswordsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site+"\nx = std::generate_password(\"db\")\n")
	w.order("site", "i", map[string]any{"host_name": "f"})
	visitor := w.visitor(w.store, func(c *fulfil.Config) { c.Passwords = away{} })
	if _, err := visitor.Visit(t.Context(), []string{"i"}, false, time.Time{}); !fault.Is(err,
		fault.Unavailable) {
		t.Errorf("the visit ends with %v", err)
	}
	r, err := w.store.Instance(t.Context(), env, "i")
	if err != nil || len(r.Tasks) == 0 || !strings.Contains(string(r.Problems),
		"it waits, and is tried again: read: nobody answers") {
		t.Errorf("%v: the order is %s with %v: %s", err, r.State, r.Tasks, r.Problems)
	}
	if !w.notified(w.store, "i") {
		t.Error("it does not go on")
	}
	w.state("i", "up")
	if r = w.read("i"); len(r.Problems) > 0 {
		t.Errorf("it still says %s", r.Problems)
	}
}

// TestPasswordsStay holds that a password that an order has got stays the same when the project
// comes to have data of its own, and when it has moved.
func TestPasswordsStay(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	w := newWorld(t, site)
	secret := strings.Replace(site, `content="{{ self.text }} {{ port }}"`,
		`content="{{ self.text }} " + std::generate_password(self.host_name)`, 1)
	offer := func(more string) {
		w.offerIn(project, secret+more)
	}
	text := func(name string) string {
		t.Helper()
		w.state(name, "up")
		text, err := os.ReadFile(filepath.Join(w.srv, name))
		if err != nil {
			t.Fatal(err)
		}
		_, password, _ := strings.Cut(string(text), " ")
		return password
	}
	own := func(name, password string) {
		t.Helper()
		dir := filepath.Join(project, "data", "std")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		line := []byte(name + "=" + password + "\n")
		if err := os.WriteFile(filepath.Join(dir, "passwordfile.txt"), line, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	offer("")
	w.order("site", "a", map[string]any{"host_name": "a"})
	w.work()
	first := text("a")
	own("b", "of-the-project")
	offer("# with data\n")
	w.order("site", "b", map[string]any{"host_name": "b"})
	w.update("a", map[string]any{"text": "more"})
	w.work()
	if got := text("a"); got != first || len(got) != 20 {
		t.Errorf("the password was %q, and is %q", first, got)
	}
	if got := text("b"); got != "of-the-project" {
		t.Errorf("the password of the project is %q", got)
	}
	if err := os.RemoveAll(filepath.Join(project, "data")); err != nil {
		t.Fatal(err)
	}
	w.update("a", map[string]any{"text": "again"})
	w.update("b", map[string]any{"text": "again"})
	w.work()
	if a, b := text("a"), text("b"); a != first || b != "of-the-project" {
		t.Errorf("the passwords are %q and %q when the project has moved", a, b)
	}
	info, err := os.Stat(filepath.Join(w.home.Dir, "models", env, "data", "std",
		"passwordfile.txt"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: who may read it: %v", err, info)
	}
}

// TestPasswordsDisk has the file of passwords not be read: the order waits, and is not rejected.
func TestPasswordsDisk(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	w := newWorld(t, site)
	w.offerIn(project, site+"\nx = std::generate_password(\"db\")\n")
	data := filepath.Join(project, "data")
	std := filepath.Join(data, "std")
	if err := errors.Join(os.RemoveAll(std), os.WriteFile(std, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	w.order("site", "i", map[string]any{"host_name": "f"})
	worker := w.running()
	var failed error
	for worked := true; worked && failed == nil; {
		worked, failed = worker.Round(t.Context())
	}
	if !fault.Is(failed, fault.Unavailable) ||
		!strings.Contains(failed.Error(), "passwordfile.txt") {
		t.Errorf("the round ends with %v", failed)
	}
	r := w.read("i")
	if len(r.Tasks) == 0 || r.State == "rejected" {
		t.Errorf("the order is %s with %v", r.State, r.Tasks)
	}
	if !strings.Contains(string(r.Problems), "passwordfile.txt") {
		t.Errorf("at the instance stands %s", r.Problems)
	}
	again := w.running() // which knows nothing of what waits
	if _, err := again.Round(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("the next round ends with %v", err)
	}
	if now := w.read("i"); now.Rev != r.Rev {
		t.Error("the same is said once more")
	}
}
