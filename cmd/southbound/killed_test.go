package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sites is a model with a service; an instance of it is one file.
const sites = `
import lsm
import lsm::fsm
import southbound
import southbound::fs
entity Site extends lsm::ServiceEntity:
    string name
end
implementation page for Site:
    self.owned_resources += southbound::fs::File(
        agent=here, path="ROOT/{{ self.name }}", content="site {{ self.name }}\n",
        purged=self.purge_resources,
    )
end
implement Site using parents, page
here = southbound::Agent(name="here")
sites = lsm::ServiceEntityBinding(
    service_entity="__config__::Site", lifecycle=lsm::fsm::simple, service_entity_name="site",
    service_identity="name",
)
for one in lsm::all(sites):
    Site(instance_id=one["id"], entity_binding=sites, name=one["attributes"]["name"])
end
`

// killed is a data directory in which orders are carried out by programs that are killed.
type killed struct {
	*testing.T
	bin, dir, data, root string
	names                []string // what was ordered
	orders               [][]string
}

// run runs a command and returns what it prints.
func (k *killed) run(args ...string) string {
	k.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(k.Context(), k.bin, append(args, "--data", k.data)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		k.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// order starts a command that orders a number of sites, and returns what waits for its end.
func (k *killed) order(sites int) func() {
	k.Helper()
	var text strings.Builder
	for range sites {
		name := fmt.Sprintf("s%02d", len(k.names))
		k.names = append(k.names, name)
		fmt.Fprintf(&text,
			"- {action: create, service_entity: site, attributes: {name: %s}}\n", name)
	}
	n := len(k.orders)
	file := filepath.Join(k.dir, fmt.Sprintf("order%d.yaml", n))
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		k.Fatal(err)
	}
	args := []string{"service", "order", "-f", file,
		"--id", fmt.Sprintf("00000000-0000-4000-8000-%012d", n)}
	k.orders = append(k.orders, args)
	var out bytes.Buffer
	cmd := exec.CommandContext(k.Context(), k.bin, append(args, "--data", k.data)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		k.Fatal(err)
	}
	return func() {
		k.Helper()
		if err := cmd.Wait(); err != nil {
			k.Errorf("order %d: %v\n%s", n, err, &out)
		}
	}
}

// serve starts a program that carries orders out. It is there when it says what it serves.
func (k *killed) serve() (*exec.Cmd, *bufio.Scanner) {
	k.Helper()
	cmd := exec.CommandContext(k.Context(), k.bin, "run", "--data", k.data)
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.Fatal(err)
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		k.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.Fatal(err)
	}
	messages := bufio.NewScanner(said)
	if !messages.Scan() || !strings.HasPrefix(messages.Text(), "serving ") {
		k.Fatalf("run says %q", messages.Text())
	}
	go func() {
		for messages.Scan() { // what it says else is of no interest, and must not hold it up
		}
	}()
	return cmd, bufio.NewScanner(out)
}

// TestKilled kills the program that carries orders out three times while two others order: when it
// has begun, after the first file, and after a few more. In the end all that was ordered is up,
// once, and sending all orders again changes nothing.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := &killed{T: t, bin: build(t), dir: dir, data: filepath.Join(dir, "data"),
		root: filepath.Join(dir, "tree")}
	model := filepath.Join(dir, "main.cf")
	text := strings.ReplaceAll(sites, "ROOT", k.root)
	if err := os.WriteFile(model, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(k.root, 0o700); err != nil {
		t.Fatal(err)
	}
	k.run("service", "export", model)
	for _, files := range []int{0, 1, 4} {
		cmd, lines := k.serve()
		ends := []func(){k.order(5), k.order(5)}
		for n := 0; n < files; n++ { // each of these orders makes it write more than that
			if !lines.Scan() {
				t.Fatalf("it ended after %d of %d files", n, files)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, end := range ends {
			end()
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Errorf("it was not killed: %v", err)
		}
	}
	ends := []func(){k.order(5), k.order(5)}
	cmd, lines := k.serve()
	go func() {
		for lines.Scan() { // what it writes must not hold it up
		}
	}()
	for _, end := range ends {
		end()
	}
	for _, args := range k.orders {
		k.run(append(args, "--wait")...)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	k.wantAllOnce()
}

// wantAllOnce wants an instance that is up, and a file, of each name, and nothing else.
func (k *killed) wantAllOnce() {
	k.Helper()
	var up []string
	listed := k.run("service", "instances", "site", "--sort", "service_identity_attribute_value")
	for line := range strings.Lines(listed) {
		if f := strings.Fields(line); f[0] != "IDENTITY" {
			up = append(up, f[0]+" "+f[1])
		}
	}
	slices.Sort(up)
	want := make([]string, len(k.names))
	for i, name := range k.names {
		want[i] = name + " up"
		if b, err := os.ReadFile(filepath.Join(k.root, name)); string(b) != "site "+name+"\n" {
			k.Errorf("%s: %v: %q", name, err, b)
		}
	}
	if len(want) != 40 || !slices.Equal(up, want) {
		k.Errorf("instances %v, expected %v", up, want)
	}
	if entries, err := os.ReadDir(k.root); err != nil || len(entries) != len(want) {
		k.Errorf("%v: %d entries, expected %d: %v", err, len(entries), len(want), entries)
	}
	checkActions(k.T, k.bin, k.data)
}
