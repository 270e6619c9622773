package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/shared/buildtest"
)

// build makes the real program.
func build(t *testing.T) string {
	t.Helper()
	return buildtest.Program(t, buildtest.Southbound)
}

func writeModel(t *testing.T, file, root string, n, generation int) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b,
		"southbound: 1\ndefaults: {agent: a}\nresources:\n"+
			"  - {type: fs::Directory, attributes: {path: %s}}\n", root)
	for i := range n {
		fmt.Fprintf(&b,
			"  - {type: fs::File, attributes: {path: %s/f%d, content: %q, mode: \"0640\"}}\n", root,
			i, content(i, generation))
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(i, generation int) string {
	return fmt.Sprintf("file %d of generation %d\n", i, generation)
}

// TestKill kills the program at a random instant, more than a hundred times, while it creates and
// replaces 500 files. The next run always finishes: the tree is exact, nothing is left over, and
// every action is recorded once.
func TestKill(t *testing.T) {
	t.Parallel()
	const files, rounds, killsInRound = 500, 4, 26
	bin := build(t)
	rnd := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for round := range rounds {
		dir := t.TempDir()
		data, root, model := filepath.Join(dir, "data"), filepath.Join(dir, "tree"),
			filepath.Join(dir, "site.yaml")
		for generation, kills := 0, 0; kills < killsInRound; generation++ {
			if generation > 4*killsInRound {
				t.Fatalf("only %d of %d runs were killed in the middle: the test shows nothing",
					kills, generation)
			}
			writeModel(t, model, root, files, generation)
			cmd := exec.Command(bin, "apply", model, "--data", data, "--quiet")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Duration(rnd.IntN(120))*time.Millisecond,
				func() { _ = cmd.Process.Kill() })
			if err := cmd.Wait(); err != nil {
				kills++
			}
			timer.Stop()
			if generation%5 == 4 || kills == killsInRound {
				finish(t, bin, model, data, files)
				checkTree(t, root, files, generation)
			}
		}
		if round == 0 {
			checkActions(t, bin, data)
		}
	}
}

func finish(t *testing.T, bin, model, data string, files int) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(bin, "apply", model, "--data", data, "--json")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("apply after kills: %v\n%s%s", err, out, stderr.Bytes())
	}
	var r struct {
		Counts map[string]int `json:"counts"`
	}
	if err := json.Unmarshal(out, &r); err != nil || r.Counts["deployed"] != files+1 {
		t.Fatalf("apply after kills: %v: %s", err, out)
	}
}

func checkTree(t *testing.T, root string, files, generation int) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != files {
		t.Fatalf("%d entries, want %d: %v", len(entries), files, err)
	}
	for i := range files {
		b, err := os.ReadFile(filepath.Join(root, fmt.Sprintf("f%d", i)))
		if err != nil || string(b) != content(i, generation) {
			t.Fatalf("file %d: %v: %q", i, err, b)
		}
	}
}

// checkActions wants every action once, and at most one deploy of a resource for each version.
func checkActions(t *testing.T, bin, data string) {
	t.Helper()
	out, err := exec.Command(bin, "logs", "--all", "--json", "--data", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	seen, deployed := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(string(out)) {
		var a struct {
			ID, Resource, Action, Change string
			Version                      int
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		if seen[a.ID] {
			t.Fatalf("action %s is recorded twice", a.ID)
		}
		seen[a.ID] = true
		if a.Action != "deploy" {
			continue
		}
		key := fmt.Sprintf("%s v%d", a.Resource, a.Version)
		if deployed[key] {
			t.Fatalf("%s was deployed twice", key)
		}
		deployed[key] = true
	}
}

// TestManyAtOnce starts ten applies of the same documents, and two of different ones, on one data
// directory.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	bin, dir := build(t), t.TempDir()
	data := filepath.Join(dir, "data")
	same := filepath.Join(dir, "same.yaml")
	writeModel(t, same, filepath.Join(dir, "tree"), 300, 1)
	run := func(model string) (*exec.Cmd, *bytes.Buffer) {
		var out bytes.Buffer
		cmd := exec.Command(bin, "apply", model, "--data", data, "--json")
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, &out
	}
	var cmds []*exec.Cmd
	var outs []*bytes.Buffer
	for range 10 {
		cmd, out := run(same)
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil || !strings.Contains(outs[i].String(), `"version":1,`) ||
			!strings.Contains(outs[i].String(), `"deployed":301`) {
			t.Errorf("apply %d: %v: %s", i, err, outs[i])
		}
	}
	checkTree(t, filepath.Join(dir, "tree"), 300, 1)
	other := filepath.Join(dir, "other.yaml")
	writeModel(t, other, filepath.Join(dir, "tree"), 300, 2)
	a, outA := run(same)
	b, outB := run(other)
	for cmd, out := range map[*exec.Cmd]*bytes.Buffer{a: outA, b: outB} {
		// the one that comes first may be told that the other has overtaken it
		overtaken := func() bool {
			return cmd.ProcessState.ExitCode() == 3 && strings.Contains(out.String(), `"superseded_by":`)
		}
		if err := cmd.Wait(); err != nil && !overtaken() {
			t.Errorf("%v: %s", err, out)
		}
	}
}
