package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rolled is a data directory in which rollouts are killed.
type rolled struct {
	*killed
	kills int
}

// export offers a model whose files have another text.
func (r *rolled) export(text string) {
	r.Helper()
	model := filepath.Join(r.dir, text, "main.cf")
	with := strings.NewReplacer("ROOT", r.root, "site {{", text+" {{").Replace(sites)
	if err := os.MkdirAll(filepath.Dir(model), 0o700); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(model, []byte(with), 0o600); err != nil {
		r.Fatal(err)
	}
	r.run("service", "export", model)
}

// repeat runs a command, kills it after a time that grows with each run, and repeats it until it ends.
func (r *rolled) repeat(args ...string) {
	r.Helper()
	const longer, most = 12 * time.Millisecond, 2000
	for n := range most {
		var out bytes.Buffer
		cmd := exec.CommandContext(r.Context(), r.bin, append(args, "--data", r.data)...)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			r.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(n)*longer, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		if err == nil {
			return
		}
		if code := cmd.ProcessState.ExitCode(); code != -1 {
			r.Fatalf("%s after %d kills: exit code %d\n%s", strings.Join(args, " "), r.kills, code, &out)
		}
		r.kills++
	}
	r.Fatalf("%s does not end", strings.Join(args, " "))
}

// want wants each instance up with one of the texts, and so many events that contain a word.
func (r *rolled) want(text, word string, events int) {
	r.Helper()
	for _, name := range r.names {
		b, err := os.ReadFile(filepath.Join(r.root, name))
		if string(b) != text+" "+name+"\n" {
			r.Errorf("%s: %v: %q", name, err, b)
		}
		listed := r.run("service", "instance", "site/"+name, "--events")
		if n := strings.Count(listed, word); n != events {
			r.Errorf("%s has %d events with %q, expected %d\n%s", name, n, word, events, listed)
		}
	}
	if n := strings.Count(r.run("service", "instances", "site"), " up "); n != len(r.names) {
		r.Errorf("%d of %d instances are up", n, len(r.names))
	}
}

// TestKilledRollout kills rollouts, and the way back, at all places: before a request, between it and
// the move, before the export, while resources are deployed, and between waves. To repeat the command
// goes on, and each instance is moved once.
func TestKilledRollout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := &rolled{killed: &killed{T: t, bin: build(t), dir: dir, data: filepath.Join(dir, "data"),
		root: filepath.Join(dir, "tree")}}
	if err := os.Mkdir(r.root, 0o700); err != nil {
		t.Fatal(err)
	}
	r.export("one")
	r.order(6)()
	r.run(append(r.orders[0], "--wait")...)
	for n, text := range []string{"two", "three"} {
		r.export(text)
		r.repeat("service", "rollout", "site", "--batch", "2", "--message", "newer")
		r.want(text, "moved to the model", n+1)
		r.repeat("service", "rollout", "site", "--back", "--batch", "4")
		r.want("one", "brought back to the model", n+1)
	}
	const few = 10
	if t.Logf("%d runs were killed", r.kills); r.kills < few {
		t.Error("too few runs were killed: the test shows nothing")
	}
	checkActions(t, r.bin, r.data)
}
