//go:build servers

package svc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

const bare = "[Unit]\nDefaultDependencies=no\n"

// TestSystemd drives a real systemd.
func TestSystemd(t *testing.T) {
	t.Parallel()
	b := newBooted(t)
	b.watch, b.wait = 100*time.Millisecond, 10*time.Minute
	b.define(t, "c@.service",
		bare+"[Service]\nExecStart=/bin/sleep 100000\n[Install]\nWantedBy=multi-user.target\n")
	t.Run("conformance", func(t *testing.T) { // before the others, as it lists all that there is
		quick, n := b.hurried().systemd, 0
		quick.watch = time.Millisecond
		providertest.Run(t,
			providertest.Subject{Definition: define(quick, runit{}, supervisor{}, sysvinit{}),
				New: func(string, *providertest.Host) (providertest.Case, error) {
					n++
					own := []string{fmt.Sprintf("c@%da", n), fmt.Sprintf("c@%db", n),
						fmt.Sprintf("c@%dc", n)}
					return providertest.Case{
						Attributes: map[string]any{"name": own[0], "running": true, "enabled": true,
							"provider": "systemd"},
						Updates: []map[string]any{{"running": false},
							{"running": true, "enabled": false}},
						Others: []map[string]any{{"name": own[1], "running": true,
							"provider": "systemd"},
							{"name": own[2], "enabled": true, "provider": "systemd"}},
						World: func() (string, error) { return b.world(own...) },
						Vanish: func() error {
							b.tell(t, "stop", own[0])
							b.tell(t, "disable", own[0])
							return nil
						},
					}, nil
				}})
	})
	for name, test := range map[string]func(t *testing.T, b *booted){
		"what does not stay up": crashes, "what takes long": slow,
		"what ends between two calls": between, "restarts of before": restarted,
		"what cannot be enabled":  fixed,
		"what cannot be started":  masked,
		"definitions that change": redefined, "kinds of units": kinds, "of a user": ofUser} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// goes does what is wanted, and then has nothing to do.
func (b *booted) goes(
	t *testing.T, why string, want diff.Change, attrs map[string]any, purge bool,
) {
	t.Helper()
	for _, expected := range []diff.Change{want, diff.NoChange} {
		if got := b.once(t, attrs, purge); got.Err != nil || got.Change != expected {
			t.Errorf("%s: %q, %v, want %q; %v", why, got.Change, got.Err, expected,
				got.Host.Lines())
		}
	}
}

func (b *booted) once(t *testing.T, attrs map[string]any, purge bool) providertest.Outcome {
	t.Helper()
	return providertest.Once(t.Context(), define(b.systemd, runit{}, supervisor{}, sysvinit{}), nil,
		attrs, purge)
}

// hurried returns it with a short wait for starts and stops, so that those of slow services are under
// way.
func (b *booted) hurried() *booted {
	out := *b
	out.wait = time.Second
	return &out
}

// patient returns it with a watch that only ends when what is started fails, however slow the
// machine is.
func (b *booted) patient() *booted {
	out := *b
	out.watch, out.wait = time.Minute, 10*time.Minute
	return &out
}

// refused demands that a service is refused with a class and a text.
func (b *booted) refused(t *testing.T, class provider.Class, text string, attrs map[string]any) {
	t.Helper()
	b = b.patient()
	for range 2 { // and it stays so
		if got := b.once(t, attrs, false); got.Err == nil || provider.ClassOf(got.Err) != class ||
			!strings.Contains(got.Err.Error(), text) {
			t.Errorf("%v: %v (%s), want %s: %s", attrs, got.Err, provider.ClassOf(got.Err), class,
				text)
		}
	}
}

func up(name string) map[string]any {
	return map[string]any{"name": name, "running": true, "provider": "systemd"}
}

func enabled(name string, is bool) map[string]any {
	return map[string]any{"name": name, "enabled": is, "provider": "systemd"}
}

func crashes(t *testing.T, b *booted) {
	b.define(t, "false.service", bare+"[Service]\nExecStart=/bin/sh -c 'exit 3'\n", "loop.service",
		bare+"[Service]\nExecStart=/bin/false\nRestart=always\nRestartSec=100\n",
		"once.service", bare+"[Service]\nType=oneshot\nExecStart=/bin/true\n", "stays.service",
		bare+"[Service]\nType=oneshot\nExecStart=/bin/true\nRemainAfterExit=yes\n",
		"often.service",
		"[Unit]\nDefaultDependencies=no\nStartLimitBurst=1\nStartLimitIntervalSec=1000\n"+
			"[Service]\nExecStart=/bin/false\n", "needs.service",
		"[Unit]\nRequires=gate.service\nAfter=gate.service\n"+bare[7:]+
			"[Service]\nExecStart=/bin/sleep 100000\n",
		"gate.service", bare+"[Service]\nType=oneshot\nExecStart=/bin/false\n")
	b.refused(t, provider.Retryable,
		"does not stay up: failed (failed), exit-code, its program ended with 3", up("false"))
	b.refused(t, provider.Retryable, "does not stay up: activating (auto-restart)", up("loop"))
	b.goes(t, "one that always begins anew is ended", diff.Purged, up("loop"), true)
	b.refused(t, provider.NeedsChange, "RemainAfterExit=yes", up("once"))
	b.goes(t, "a oneshot that remains", diff.Created, up("stays"), false)
	b.refused(t, provider.Retryable, "dependency", up("needs"))
	b.refused(t, provider.Retryable, "does not stay up", up("often"))
	b.define(t, "often.service", bare+"[Service]\nExecStart=/bin/sleep 100000\n")
	b.goes(t, "one that was started too often, and is mended", diff.Created, up("often"), false)
	b.tell(t, "kill", "--signal=KILL", "often.service")
	(&machine{}).until(t, "systemd to see that",
		func() bool {
			return b.tell(t, "show", "--property=ActiveState", "often") == "ActiveState=failed"
		})
	b.goes(t, "one that was killed", diff.Created, up("often"), false)
}

func slow(t *testing.T, b *booted) {
	b = b.hurried()
	b.define(t, "slow.service",
		bare+
			"[Service]\nType=notify\nNotifyAccess=all\n"+
			"ExecStart=/bin/sh -c 'sleep 2; systemd-notify --ready; exec sleep 100000'\n"+
			"ExecStop=/bin/sleep 2\n",
		"never.service",
		bare+"[Service]\nType=notify\nTimeoutStartSec=2\nExecStart=/bin/sleep 100000\n")
	began := time.Now()
	b.goes(t, "one that takes two seconds", diff.Created, up("slow"), false)
	if took := time.Since(began); took < 2*time.Second ||
		b.tell(t, "is-active", "slow") != "active" {
		t.Errorf("it counts as running after %s", took)
	}
	b.goes(t, "and two to stop", diff.Updated, map[string]any{"name": "slow", "running": false,
		"provider": "systemd"}, false)
	b.tell(t, "start", "--no-block", "slow")
	if got := b.once(t, map[string]any{"name": "slow", "running": false, "provider": "systemd"},
		false); got.Err != nil || got.Change != diff.Updated ||
		b.tell(t, "show", "--property=ActiveState", "slow") != "ActiveState=inactive" {
		t.Errorf("one that is starting is not stopped: %q, %v", got.Change, got.Err)
	}
	b.refused(t, provider.Retryable, "timeout", up("never"))
}

// between is about services that end between two calls, at a moment that the test chooses: they are
// not started anew for ever.
func between(t *testing.T, b *booted) {
	b = b.hurried()
	end := func(name string) string { return filepath.Join(b.dir, name+".end") }
	waits := func(name, more, then string) string { // for the test
		// systemd otherwise ends starts and stops after 90 s of wall clock
		return bare + "[Service]\nTimeoutSec=infinity\n" + more +
			"\nExecStart=/bin/sh -c 'until test -e " + end(name) +
			"; do sleep 0.05; done; " + then + "'\n"
	}
	for name, c := range map[string]struct {
		unit  string
		after string // how it is then
		class provider.Class
		text  string
	}{
		"fails": {waits("fails", "Type=notify", "exit 3"), "failed", provider.Retryable,
			"start fails: it was started and does not stay up: failed (failed), exit-code, its " +
				"program ended with 3"},
		"anew": {waits("anew", "Type=notify\nRestart=always\nRestartSec=1000", "exit 3"),
			"auto-restart", provider.Retryable, "does not stay up: activating (auto-restart)"},
		"done": {waits("done", "Type=oneshot", "exit 0"), "inactive", provider.NeedsChange,
			"RemainAfterExit=yes"},
		"stuck": {waits("stuck", "Type=notify\nExecStopPost=/bin/sleep 100000", "exit 3"),
			"deactivating", provider.Retryable,
			"does not stay up: deactivating (stop-post), exit-code"},
		"rounds": {waits("rounds",
			"Type=notify\nRestart=always\nRestartSec=0.01\nStartLimitIntervalSec=0",
			"rm "+end("rounds")+"; exit 3"), "again", provider.Retryable,
			"and it has restarted "}, // three times, or more if systemd counts on
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.define(t, name+".service", c.unit)
			h := handler{b.systemd}
			act := func(state []byte) (provider.Result, error) {
				host := providertest.NewHost(nil)
				r := provider.Resource{ID: "svc::Service[a,name=x]", Type: "svc::Service",
					Attributes: up(name)}
				return h.Create(host.Context(t.Context(), provider.Options{ID: r.ID, Desired: r,
					State: state}), provider.CreateRequest{Resource: r})
			}
			is := func(property string) string {
				return strings.TrimPrefix(b.tell(t, "show", "--property="+property, name),
					property+"=")
			}
			for range 2 { // an error is an end, and what comes after it is a first call
				var out provider.Result
				var err error
				(&machine{}).until(t, "its start", func() bool {
					if out, err = act(nil); err != nil || out.Again == nil {
						t.Fatalf("it is started: %v, %v", out, err)
					}
					return is("SubState") == "start"
				})
				if out, err = act(out.Again.State); err != nil || out.Again == nil {
					t.Fatalf("it is on its way: %v, %v", out, err)
				}
				rounds := 1
				if c.after == "again" {
					rounds = 3
				}
				for n := range rounds {
					put(t, end(name), "")
					(&machine{}).until(t, c.after, func() bool {
						if c.after == "again" { // of this start: act has reset the count
							count, err := strconv.Atoi(is("NRestarts"))
							return err == nil && count > n && is("SubState") == "start"
						}
						return is("ActiveState") == c.after || is("SubState") == c.after
					})
				}
				if out, err := act(out.Again.State); err == nil ||
					provider.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v, %v (%s), want %s: %s", out, err, provider.ClassOf(err), c.class,
						c.text)
				}
				// where there is anything left of it
				_, _ = b.run(t.Context(), "kill", "--signal=KILL", name)
				b.tell(t, "stop", name)
				if err := os.RemoveAll(end(name)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// restarted is about restarts that systemd counted before a start: they are none of this start.
func restarted(t *testing.T, b *booted) {
	is := func(property string) string {
		return strings.TrimPrefix(b.tell(t, "show", "--property="+property, "flaps"), property+"=")
	}
	ready := filepath.Join(b.dir, "flaps.ready")
	// systemd forgets a unit that nothing refers to
	b.define(t, "refers.service",
		bare+"After=flaps.service\n[Service]\nExecStart=/bin/sleep 100000\n")
	b.tell(t, "start", "refers")
	for why, stop := range map[string]bool{"it is between two restarts": false,
		"somebody stopped it between two restarts": true} {
		b.define(t, "flaps.service", bare+"[Unit]\nStartLimitIntervalSec=0\n[Service]\n"+
			"Type=notify\nExecStart=/bin/false\nRestart=always\nRestartSec=0.01\n")
		b.tell(t, "daemon-reload")
		b.tell(t, "start", "--no-block", "flaps")
		(&machine{}).until(t, "restarts", func() bool {
			n, err := strconv.Atoi(is("NRestarts"))
			return err == nil && n > maxStarts
		})
		// the next restart is far away, and the unit is mended
		b.define(t, "flaps.service", bare+"[Unit]\nStartLimitIntervalSec=0\n[Service]\n"+
			"Type=notify\nNotifyAccess=all\nExecStart=/bin/sh -c 'test -e "+ready+" || exit 1; "+
			"sleep 2; systemd-notify --ready; exec sleep 100000'\n"+
			"Restart=always\nRestartSec=1000\n")
		b.tell(t, "daemon-reload")
		(&machine{}).until(t, "a long delay",
			func() bool { return is("SubState") == autoRestart && is("RestartUSec") != "10ms" })
		if stop {
			b.tell(t, "stop", "flaps")
		}
		put(t, ready, "")
		b.goes(t, why, diff.Created, up("flaps"), false)
		b.goes(t, "it goes", diff.Purged, up("flaps"), true)
		if err := os.Remove(ready); err != nil {
			t.Fatal(err)
		}
	}
}

func fixed(t *testing.T, b *booted) {
	b.define(t, "static.service", bare+"[Service]\nExecStart=/bin/sleep 100000\n", "sock.service",
		bare+"[Service]\nExecStart=/bin/sleep 100000\n",
		"sock.socket",
		bare+"[Socket]\nListenStream=/run/sock\n[Install]\nWantedBy=sockets.target\n",
		"also.service",
		bare+"[Service]\nExecStart=/bin/sleep 100000\n[Install]\nAlso=sock.socket\n")
	b.refused(t, provider.NeedsChange, "no section [Install]", enabled("static", true))
	b.goes(t, "what cannot be enabled is not", diff.NoChange, enabled("static", false), false)
	b.goes(t, "it can run", diff.Created, up("static"), false)
	b.goes(t, "and can be purged", diff.Purged, up("static"), true)
	b.goes(t, "a socket", diff.Created, map[string]any{"name": "sock.socket", "running": true,
		"enabled": true, "provider": "systemd"}, false)
	b.goes(t, "what a socket starts is started with the machine", diff.NoChange,
		enabled("sock", true), false)
	b.goes(t, "the socket is purged", diff.Purged, up("sock.socket"), true)
	b.goes(t, "what enables another", diff.NoChange, enabled("also", false), false)
	b.tell(t, "enable", "--runtime", "c@runtime")
	b.goes(t, "what is enabled until the machine ends", diff.Created, enabled("c@runtime", true),
		false)
}

func masked(t *testing.T, b *booted) {
	b.define(t, "wrong.service", bare+"[Service]\nType=simple\n")
	b.refused(t, provider.NeedsChange,
		"its unit is wrong: Unit wrong.service has a bad unit file setting", up("wrong"))
	if err := os.Symlink("/dev/null", filepath.Join(b.units, "masked.service")); err != nil {
		t.Fatal(err)
	}
	b.refused(t, provider.NeedsChange, "systemctl unmask masked.service", up("masked"))
	b.refused(t, provider.NeedsChange, "systemctl unmask masked.service", enabled("masked", true))
	b.goes(t, "it is as it should be", diff.NoChange,
		map[string]any{"name": "masked", "running": false, "enabled": false, "provider": "systemd"},
		false)
	b.goes(t, "it is gone", diff.NoChange, up("masked"), true)
	if err := os.Remove(filepath.Join(b.units, "masked.service")); err != nil {
		t.Fatal(err)
	}
	b.define(t, "masked.service", bare+"[Service]\nExecStart=/bin/sleep 100000\n")
	b.goes(t, "no longer masked, and systemd was not told", diff.Created, up("masked"), false)
}

func redefined(t *testing.T, b *booted) {
	b.refused(t, provider.Retryable, "there is no service late", up("late"))
	b.goes(t, "what is not there is gone", diff.NoChange, up("late"), true)
	notes := filepath.Join(b.dir, "notes")
	unit := func(text string) string {
		return bare + "[Service]\nExecStart=/bin/sh -c 'echo " + text + " >> " + notes +
			"; exec sleep 100000'\nExecReload=/bin/sh -c 'echo reload " + text + " >> " + notes +
			"'\n"
	}
	b.define(t, "late.service", unit("one"))
	b.goes(t, "defined since", diff.Created, up("late"), false)
	handler := handler{b.systemd}
	for _, step := range []struct{ how, file, text, want string }{
		{"restart", "late.service", unit("two"), "one two"},
		{"reload", "late.service", unit("three"), "one two reload three"},
		{"restart", "late.service.d/more.conf", "[Service]\nExecStartPre=/bin/sh -c 'echo pre >> " +
			notes + "'\n", "one two reload three pre three"},
		{"nothing", "late.service", unit("four"), "one two reload three pre three"},
	} {
		b.define(t, step.file, step.text)
		ctx, _, r := thing(t, with(up("late"), "on_change", step.how))
		if err := handler.Reload(ctx, provider.ReadRequest{Resource: r}); err != nil {
			t.Error(err)
		}
		(&machine{}).until(t, step.how+" after "+step.file+": "+step.want, func() bool {
			// it is begun, and notes it when it comes to that
			got, err := os.ReadFile(notes)
			return err == nil && strings.Join(strings.Fields(string(got)), " ") == step.want
		})
	}
	b.define(t, "late.service", bare+"[Service]\nExecStart=/bin/false\n")
	ctx, _, r := thing(t, with(up("late"), "on_change", "restart"))
	handler.system = b.patient().systemd
	if err := handler.Reload(ctx, provider.ReadRequest{Resource: r}); err == nil ||
		!strings.Contains(err.Error(), "does not stay up") {
		t.Errorf("a restart that fails: %v", err)
	}
}

func with(attrs map[string]any, name string, value any) map[string]any {
	attrs[name] = value
	return attrs
}

func kinds(t *testing.T, b *booted) {
	b.define(t, "real.service",
		bare+"[Service]\nExecStart=/bin/sleep 100000\n[Install]\nWantedBy=multi-user.target\n"+
			"Alias=other.service\n", "t.service", bare+"[Service]\nExecStart=/bin/true\n",
		"t.timer", bare+"[Timer]\nOnCalendar=*-01-01\n[Install]\nWantedBy=multi-user.target\n")
	both := func(name string) map[string]any { return with(enabled(name, true), "running", true) }
	b.goes(t, "with the kind in its name", diff.Created, both("real.service"), false)
	b.goes(t, "by another name", diff.NoChange, both("other"), false)
	b.goes(t, "an instance", diff.Created, both("c@it"), false)
	b.goes(t, "a timer", diff.Created, both("t.timer"), false)
	b.tell(t, "disable", "real")
	b.goes(t, "disabled behind our back", diff.Updated, both("real"), false)
	b.tell(t, "stop", "real")
	b.goes(t, "stopped behind our back", diff.Updated, both("real"), false)
	b.define(t, "idle.service",
		bare+"[Service]\nExecStart=/bin/sleep 100000\n[Install]\nWantedBy=nothing.target\n")
	b.goes(t, "enabled, and not loaded", diff.Created, enabled("idle", true), false)
	list, _ := provider.As[provider.Lister](define(b.systemd, runit{}, supervisor{}, sysvinit{}).
		Handler)
	ctx, _, _ := thing(t, up("x"))
	found := map[string]bool{}
	err := list.List(ctx, func(f provider.Found) error {
		f.Attributes["provider"] = "systemd"
		found[fmt.Sprint(f.Attributes["name"])] = true
		if name := fmt.Sprint(f.Attributes["name"]); name == "real" || name == "idle" ||
			name == "c@it" {
			// others change meanwhile
			b.goes(t, "what was discovered", diff.NoChange, f.Attributes, false)
		}
		return nil
	})
	if err != nil || !found["real"] || !found["idle"] || !found["c@it"] || found["c@"] ||
		found["manager.service"] {
		t.Errorf("found %v, %v", found, err)
	}
	for _, name := range []string{"real", "c@it", "t.timer", "idle"} {
		b.goes(t, "purged", diff.Purged, both(name), true)
	}
}

func ofUser(t *testing.T, b *booted) {
	put(t, filepath.Join(b.users, "mine.service"),
		bare+"[Service]\nExecStart=/bin/sleep 100000\n[Install]\nWantedBy=default.target\n")
	mine := map[string]any{"name": "mine", "running": true, "enabled": true, "scope": "user",
		"provider": "systemd"}
	if _, err := b.run(t.Context(), "start", "manager"); err != nil {
		log, _ := os.ReadFile(filepath.Join(b.dir, "manager.log"))
		t.Fatalf("%v\n%s", err, log)
	}
	b.goes(t, "a service of the user", diff.Created, mine, false)
	if link, err := os.Lstat(filepath.Join(b.dir, "home", ".config", "systemd", "user",
		"default.target.wants", "mine.service")); err != nil || link.Mode()&os.ModeSymlink == 0 {
		t.Errorf("it is not enabled for the user: %v", err)
	}
	b.refused(t, provider.Retryable, "there is no service mine", up("mine"))
	h := handler{b.systemd}
	ctx, _, of := thing(t, mine)
	_, _, machine := thing(t, up("mine"))
	got := h.ReadBatch(t.Context(),
		[]provider.BatchRead{{Context: ctx, ReadRequest: provider.ReadRequest{Resource: of}},
			{Context: ctx, ReadRequest: provider.ReadRequest{Resource: machine}}})
	if !got[0].Observation.Exists || got[1].Observation.Exists {
		t.Errorf("one batch for both: %v", got)
	}
	b.goes(t, "purged", diff.Purged, mine, true)
}
