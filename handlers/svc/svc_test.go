package svc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
)

// TestRunit drives the real runit: one runsvdir, services that sleep.
func TestRunit(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d"}
	for i := range 120 {
		// each test has its own: runit starts one again no sooner than after a second
		names = append(names, fmt.Sprintf("s%d", i))
	}
	m := newMachine(t, names...)
	d := define(systemd{}, m.runit, supervisor{}, sysvinit{})
	t.Run("conformance", func(t *testing.T) {
		fresh := names[4:]
		providertest.Run(t,
			providertest.Subject{Definition: d,
				New: func(string, *providertest.Host) (providertest.Case, error) {
					own := fresh[:3]
					fresh = fresh[3:]
					return providertest.Case{
						Attributes: map[string]any{"name": own[0], "running": true, "enabled": true,
							"provider": "runit"},
						Updates: []map[string]any{{"running": false},
							{"running": true, "enabled": false}},
						Others: []map[string]any{{"name": own[1], "running": true,
							"provider": "runit"},
							{"name": own[2], "enabled": true, "provider": "runit"}},
						World:  func() (string, error) { return m.world(own...) },
						Vanish: func() error { return m.reset(own[0]) },
					}, nil
				}})
	})
	t.Run("chosen without init", func(t *testing.T) { chosen(t, d) })
	t.Run("reload", func(t *testing.T) { reloads(t, m, d) })
	t.Run("drift", func(t *testing.T) { drift(t, m, d) })
	t.Run("linked when it is not", func(t *testing.T) { links(t, m, d) })
	t.Run("not defined", func(t *testing.T) { undefined(t, d) })
	t.Run("what does not stay up", func(t *testing.T) { ends(t, m) })
}

// thing returns a resource and its context.
func thing(
	t *testing.T, attrs map[string]any,
) (*provider.Context, *providertest.Host, provider.Resource) {
	t.Helper()
	host := providertest.NewHost(nil)
	r := provider.Resource{ID: "svc::Service[a,name=x]", Type: "svc::Service", Attributes: attrs}
	return host.Context(t.Context(), provider.Options{ID: r.ID, Desired: r}), host, r
}

func chosen(t *testing.T, d provider.Definition) {
	ctx, host, r := thing(t, map[string]any{"name": "a", "running": true})
	if _, err := d.Handler.Read(ctx, provider.ReadRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	if provider.MachineFacts()["init"] == "systemd" {
		return // then that is what serves
	}
	if name, why := host.Chosen(); name != "runit" || !strings.Contains(why, "not systemd") {
		t.Errorf("%s because %s", name, why)
	}
}

func reloads(t *testing.T, m *machine, d provider.Definition) {
	l, _ := provider.As[provider.Reloader](d.Handler)
	before := strings.Count(m.starts("a"), "start")
	for i, step := range []struct {
		how     string
		running bool
		starts  int
		hups    int
	}{{"restart", false, 0, 0}, {"restart", true, 2, 0}, {"nothing", true, 2, 0},
		{"reload", true, 2, 1}} {
		if step.running && i == 1 {
			if err := m.start(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			m.until(t, "the first start",
				func() bool { return strings.Count(m.starts("a"), "start") == before+1 })
		}
		ctx, _, r := thing(t, map[string]any{"name": "a", "running": true, "on_change": step.how,
			"provider": "runit"})
		if err := l.Reload(ctx, provider.ReadRequest{Resource: r}); err != nil {
			t.Fatal(err)
		}
		m.until(t, "reload "+step.how, func() bool {
			return strings.Count(m.starts("a"), "start") == before+step.starts &&
				strings.Count(m.starts("a"), "hup") == step.hups
		})
	}
}

// drift stops a service behind our back: it is found, and set right.
func drift(t *testing.T, m *machine, d provider.Definition) {
	if err := m.stop(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	ctx, _, r := thing(t, map[string]any{"name": "b", "running": true, "enabled": true,
		"provider": "runit"})
	if _, err := d.Handler.Create(ctx, provider.CreateRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	if err := m.stop(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	obs, err := d.Handler.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil || obs.Attributes["running"] != false || obs.Attributes["enabled"] != true {
		t.Fatal(obs, err)
	}
	if _, err := d.Handler.Update(ctx,
		provider.UpdateRequest{Resource: r, Observed: obs}); err != nil {
		t.Fatal(err)
	}
	if obs, err = d.Handler.Read(ctx, provider.ReadRequest{Resource: r}); err != nil ||
		obs.Attributes["running"] != true {
		t.Fatal(obs, err)
	}
	stopped := r
	stopped.Attributes = map[string]any{"name": "d", "running": false, "provider": "runit"}
	if obs, err := d.Handler.Read(ctx, provider.ReadRequest{Resource: stopped}); err != nil ||
		!obs.Exists || obs.Attributes["running"] != false {
		t.Errorf("one that is to be stopped, and is, is as wanted: %v %v", obs, err)
	}
}

// links starts a service that runit does not watch yet.
func links(t *testing.T, m *machine, d provider.Definition) {
	m.define(t, "late")
	m.names = append(m.names, "late")
	t.Cleanup(func() { _ = m.stop(t.Context(), "late") })
	ctx, _, r := thing(t, map[string]any{"name": "late", "running": true, "provider": "runit"})
	if obs, err := d.Handler.Read(ctx, provider.ReadRequest{Resource: r}); err != nil ||
		obs.Exists {
		t.Fatal(obs, err)
	}
	if _, err := d.Handler.Create(ctx, provider.CreateRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	obs, err := d.Handler.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil || obs.Attributes["running"] != true || obs.Attributes["enabled"] != false {
		t.Errorf("it runs, and nobody asked for it to be enabled: %v %v", obs, err)
	}
	if err := m.stop(t.Context(), "late"); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(m.watched, "late")); err != nil {
		t.Error(err)
	}
}

// ends starts a service that ends at once: that is said, each time.
func ends(t *testing.T, m *machine) {
	program := filepath.Join(m.defined, "c", "run")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	slower := m.runit
	slower.watch = watchStart
	for range 2 {
		got := providertest.Once(t.Context(), define(systemd{}, slower, supervisor{}, sysvinit{}),
			nil, map[string]any{"name": "c", "running": true, "provider": "runit"}, false)
		if got.Err == nil || !strings.Contains(got.Err.Error(), "does not stay up") {
			t.Errorf("%q, %v", got.Change, got.Err)
		}
	}
	if err := m.stop(t.Context(), "c"); err != nil {
		t.Error(err)
	}
}

func undefined(t *testing.T, d provider.Definition) {
	ctx, _, r := thing(t, map[string]any{"name": "none", "running": true, "provider": "runit"})
	if _, err := d.Handler.Create(ctx,
		provider.CreateRequest{Resource: r}); provider.ClassOf(err) != provider.Retryable ||
		!strings.Contains(err.Error(), "there is no service none") {
		t.Error(err)
	}
	if _, err := d.Handler.Delete(ctx, provider.DeleteRequest{Resource: r}); err != nil {
		t.Error(err)
	}
}

// TestSysvinit runs real scripts, with the real update-rc.d on directories of the test.
func TestSysvinit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	levels := []string{"init.d", "rc0.d", "rc1.d", "rc2.d", "rc3.d", "rc4.d", "rc5.d", "rc6.d",
		"rcS.d"}
	mounts := ""
	for _, level := range levels {
		if err := os.Mkdir(filepath.Join(dir, level), 0o755); err != nil { // as in /etc
			t.Fatal(err)
		}
		mounts += "mount --bind " + filepath.Join(dir, level) + " /etc/" + level + " && "
	}
	script := `#!/bin/sh
### BEGIN INIT INFO
# Provides: sbtest
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: a test
### END INIT INFO
f=` + dir + `/running
case $1 in
start) touch $f ;;
stop) rm -f $f ;;
restart|reload) echo $1 > $f ;;
status) test -e $f || exit 3 ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "init.d", "sbtest"), []byte(script),
		0o755); err != nil {
		t.Fatal(err)
	}
	// The programs see the directories of the test in place of those of the machine, and nobody
	// else does.
	own := []string{"unshare", "--mount"}
	if os.Getuid() != 0 {
		own = append(own, "--map-root-user")
	}
	s := sysvinit{etc: dir, before: append(own, "sh", "-c", mounts+`exec "$0" "$@"`)}
	if _, err := s.run(t.Context(), "true"); err != nil {
		t.Fatalf("this test needs a mount namespace of its own, so root, or to be allowed "+
			"namespaces of users: %v", err)
	}
	h := handler{s}
	ctx, _, r := thing(t, map[string]any{"name": "sbtest", "running": true, "enabled": true})
	see := func(want diff.Change, running, enabled bool) {
		t.Helper()
		obs, err := h.Read(ctx, provider.ReadRequest{Resource: r})
		if err != nil {
			t.Fatal(err)
		}
		if want == diff.Created {
			if obs.Exists {
				t.Error("it exists")
			}
			return
		}
		if obs.Attributes["running"] != running || obs.Attributes["enabled"] != enabled {
			t.Errorf("%v, want running = %t, enabled = %t", obs.Attributes, running, enabled)
		}
	}
	see(diff.Created, false, false)
	if _, err := h.Create(ctx, provider.CreateRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	see(diff.NoChange, true, true)
	if err := os.Remove(filepath.Join(dir, "running")); err != nil {
		t.Fatal(err)
	}
	see(diff.Updated, false, true)
	if _, err := h.Update(ctx, provider.UpdateRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	see(diff.NoChange, true, true)
	r.Attributes = map[string]any{"name": "sbtest", "running": true, "enabled": false}
	if _, err := h.Update(ctx, provider.UpdateRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	see(diff.NoChange, true, false)
	r.Attributes = map[string]any{"name": "sbtest", "enabled": true}
	if _, err := h.Update(ctx, provider.UpdateRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	see(diff.NoChange, true, true)
	if _, err := h.Delete(ctx, provider.DeleteRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	see(diff.Created, false, false)
	lies := filepath.Join(dir, "init.d", "sblies")
	if err := os.WriteFile(lies, []byte("#!/bin/sh\ntest $1 != status\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.start(t.Context(), "sblies"); err == nil ||
		!strings.Contains(err.Error(), "it does not run") {
		t.Errorf("a script that begins nothing and says that all is well: %v", err)
	}
}

func TestTypeIsValid(t *testing.T) {
	t.Parallel()
	types, err := schema.NewRegistry(Service().Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := types.Type("svc::Service")
	if _, problems := typ.Check(map[string]any{"name": "x"}); len(problems) != 1 ||
		problems[0].Attribute != "running" {
		t.Error(problems)
	}
}

func TestBegun(t *testing.T) {
	t.Parallel()
	ended := errors.New("ended")
	for name, c := range map[string]struct {
		before string
		now    state
		starts int // 0: it is refused
	}{
		"the first call":                           {"", state{}, 1},
		"one that failed before the first":         {"", state{ended: ended}, 1},
		"one that others have started":             {"", state{changing: true}, 1},
		"what asked for another call was a stop":   {"0", state{ended: ended}, 1},
		"still on its way":                         {"1", state{changing: true}, 1},
		"still on its way after a second start":    {"2", state{changing: true}, 2},
		"nobody knows whether it was ever started": {"1", state{}, 2},
		"and again":          {"2", state{}, 0},
		"it failed":          {"1", state{ended: ended}, 0},
		"it fails each time": {"1", state{changing: true, ended: ended}, 0},
	} {
		if starts, err := begun([]byte(c.before), c.now); starts != c.starts ||
			(err == nil) != (c.starts > 0) {
			t.Errorf("%s: %d, %v, want %d", name, starts, err, c.starts)
		}
	}
}

func TestDownFor(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		seconds int
		is      bool
	}{
		"down: /etc/service/a b: 1s, normally up, want up": {1, true},
		"down: /etc/service/c: 12s, want up":               {12, true},
		"down: /etc/service/c: 12s, normally up":           {12, false},
		"run: /etc/service/c: (pid 7) 3s, want up":         {3, false},
		"finish: /etc/service/c: 0s, want up":              {0, false},
		"":                                                 {0, false},
	} {
		if n, is := downFor(line); is != want.is || is && n != want.seconds {
			t.Errorf("%q: %d %v", line, n, is)
		}
	}
}
