package svc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"southbound/localstack/server"
)

// programs returns the directory with the programs of runit. Where it is not installed it is
// unpacked into the cache, which changes nothing of the machine.
func programs(ctx context.Context) (string, error) {
	if path, err := exec.LookPath("runsvdir"); err == nil {
		return filepath.Dir(path), nil
	}
	return server.Unpack(ctx, "runit")
}

// machine is a runsvdir with services of a test.
type machine struct {
	runit
	names []string
}

// newMachine starts runsvdir with services that are linked and down.
func newMachine(t *testing.T, names ...string) *machine {
	t.Helper()
	bin, err := programs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m := &machine{runit: runit{sv: filepath.Join(bin, "sv"), watched: filepath.Join(dir, "service"),
		defined: filepath.Join(dir, "sv"), watch: time.Millisecond}, names: names}
	if err := os.Mkdir(m.watched, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		m.define(t, name)
		if err := os.Symlink(filepath.Join(m.defined, name),
			filepath.Join(m.watched, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(bin, "runsvdir"), "-P", m.watched)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGHUP) // it ends all it watches
		_ = cmd.Wait()
		for _, name := range names { // and runsv goes once it has ended its service
			m.until(t, name, func() bool { return m.free(name) })
		}
	})
	for _, name := range names {
		m.until(t, name, func() bool {
			return exists(filepath.Join(m.watched, name, "supervise", "ok")) && !m.free(name)
		})
	}
	return m
}

// free reports whether no runsv looks after a service.
func (m *machine) free(name string) bool {
	f, err := os.OpenFile(filepath.Join(m.defined, name, "supervise", "ok"),
		os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		_ = f.Close()
	}
	return err != nil
}

func (m *machine) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	limit, tick := time.NewTimer(10*time.Minute), time.NewTicker(10*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Errorf("waited too long for %s", what)
			return
		}
	}
}

// define makes a service that notes its starts.
func (m *machine) define(t *testing.T, name string) {
	t.Helper()
	dir := filepath.Join(m.defined, name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	run := "#!/bin/sh\ntrap 'echo hup >> starts' HUP\ntrap 'kill $!; exit 0' TERM\n" +
		"echo start >> starts\nwhile :; do sleep 1000 & wait $!; done\n"
	for file, text := range map[string]string{"run": run, "down": ""} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// reset stops services and marks them down.
func (m *machine) reset(names ...string) error {
	for _, name := range names {
		if err := mark(filepath.Join(m.defined, name, "down")); err != nil {
			return err
		}
		if err := m.stop(context.Background(), name); err != nil {
			return err
		}
	}
	return nil
}

// starts returns what a service has noted.
func (m *machine) starts(name string) string {
	text, err := os.ReadFile(filepath.Join(m.defined, name, "starts"))
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(bytes.TrimSpace(text))), " ")
}

// world describes services, whatever their names.
func (m *machine) world(names ...string) (string, error) {
	known, err := m.states(context.Background(), names)
	out := ""
	for _, name := range names {
		out += fmt.Sprint(known[name])
	}
	return out, err
}
