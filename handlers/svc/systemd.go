package svc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/handlers/internal/tool"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// systemd uses systemctl.
type systemd struct {
	before []string // a command in front, for tests
	flags  []string
	user   bool          // the services of the user of this process
	watch  time.Duration // in place of watchStart, for tests
	wait   time.Duration // in place of waitFor, for tests
}

const (
	// waitFor is how long to wait for a start or stop of a service before other work continues.
	waitFor = 5 * time.Second
	// watchStart is how long a service without a readiness signal is watched. A service with a
	// wrong setup ends immediately, and the type of its unit requires only that it begins.
	watchStart = 500 * time.Millisecond
	pollEvery  = 25 * time.Millisecond
)

func (s systemd) ofUser() system {
	s.user = true
	return s
}

// unit returns the name of a unit.
func unit(name string) string {
	for _, kind := range []string{".service", ".socket", ".timer", ".path", ".target", ".mount",
		".automount", ".swap", ".slice"} {
		if strings.HasSuffix(name, kind) {
			return name
		}
	}
	return name + ".service"
}

// file returns the name of the file that defines a unit: an instance is defined by its template.
func file(unit string) string {
	template, rest, is := strings.Cut(unit, "@")
	if dot := strings.LastIndex(rest, "."); is && dot > 0 {
		return template + "@" + rest[dot:]
	}
	return unit
}

func (s systemd) run(ctx context.Context, args ...string) (string, error) {
	argv := append(append([]string{}, s.before...), "systemctl")
	argv = append(append(argv, s.flags...), "--no-pager", "--no-ask-password")
	var env []string
	if s.user {
		argv = append(argv, "--user")
		if os.Getenv("XDG_RUNTIME_DIR") == "" {
			// there is no session, for example with sudo or over ssh without PAM
			env = append(env, fmt.Sprintf("XDG_RUNTIME_DIR=/run/user/%d", os.Getuid()))
		}
	}
	return tool.Run(ctx, env, append(argv, args...)...)
}

// asked are the properties of a unit that are read.
const asked = "--property=Id,Names,LoadState,LoadError,ActiveState,SubState,UnitFileState,WantedBy,RequiredBy,UpheldBy,TriggeredBy,BusName,SourcePath,Type,RemainAfterExit,Result,ExecMainStatus,NRestarts,Job"

func (s systemd) states(ctx context.Context, names []string) (map[string]state, error) {
	if len(names) == 0 {
		return s.all(ctx)
	}
	args := []string{"show", asked, "--"}
	byUnit := map[string][]string{}
	for _, name := range names {
		u := unit(name)
		if byUnit[u] == nil {
			args = append(args, u)
		}
		byUnit[u] = append(byUnit[u], name)
	}
	out, err := s.run(ctx, args...)
	if err != nil {
		return nil, err
	}
	known := map[string]state{}
	for text := range strings.SplitSeq(out, "\n\n") {
		p := properties(text)
		if p["LoadState"] == "" || p["LoadState"] == "not-found" {
			continue
		}
		now := s.stateOf(ctx, p)
		for _, u := range append(strings.Fields(p["Names"]), p["Id"]) {
			// an alias has the state of its unit
			for _, name := range byUnit[u] {
				known[name] = now
			}
		}
	}
	return known, nil
}

// all returns the loaded services, and the enabled ones that are not loaded.
func (s systemd) all(ctx context.Context) (map[string]state, error) {
	// --all includes services that do not run
	loaded, err := s.run(ctx, "show", "--all", "--property=Id", "--", "*.service")
	if err != nil {
		return nil, err
	}
	enabled, err := s.run(ctx, "list-unit-files", "--no-legend", "--type=service",
		"--state=enabled")
	if err != nil && (tool.Code(err) != 1 || enabled != "") { // 1: there is none
		return nil, err
	}
	var names []string
	for line := range strings.Lines(loaded + "\n" + enabled) {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "Id="), " ")
		if name, is := strings.CutSuffix(name, ".service"); is && !strings.HasSuffix(name, "@") {
			// a template is no service
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	return s.states(ctx, slices.Compact(names))
}

func properties(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			out[name] = value
		}
	}
	return out
}

// stateOf reads the properties of a unit.
func (s systemd) stateOf(ctx context.Context, p map[string]string) state {
	now := state{ended: ended(p)}
	switch p["ActiveState"] {
	case "active", "reloading", "refreshing":
		now.running = true
	case "activating", "deactivating":
		now.changing = true
	case "inactive":
		// its start is queued, and has not begun
		now.changing = p["Job"] != "" && p["Job"] != "0"
	}
	switch p["UnitFileState"] {
	case "enabled", "alias":
		now.enabled = true
	case "static", "indirect", "transient":
		now.fixed = true
		now.enabled = cmp.Or(p["WantedBy"], p["RequiredBy"], p["UpheldBy"], p["TriggeredBy"],
			p["BusName"]) != ""
	case "generated":
		// a unit generated from a script in init.d is enabled by the script's own tools; others by
		// the source of the generated unit
		now.fixed, now.enabled = true, true
		if strings.HasPrefix(p["SourcePath"], "/etc/init.d/") {
			_, err := s.run(ctx, "is-enabled", "--quiet", "--", p["Id"])
			now.fixed, now.enabled = false, err == nil
		}
	}
	switch p["LoadState"] {
	case "masked":
		now.problem = "it is masked, so that nothing starts it; `systemctl unmask " + p["Id"] +
			"` ends that"
	case "bad-setting", "error":
		_, why, _ := strings.Cut(p["LoadError"], " ")
		now.problem = "its unit is wrong: " + strings.Trim(why, `"`)
	}
	return now
}

func (s systemd) do(ctx context.Context, verb, name string) error {
	_, err := s.run(ctx, verb, "--", unit(name))
	return err
}

// refresh makes systemd read its units again. systemd does not always know that this is necessary,
// for example after a drop-in in a new directory.
func (s systemd) refresh(ctx context.Context, names []string) (map[string]state, error) {
	if _, err := s.run(ctx, "daemon-reload"); err != nil {
		return nil, err
	}
	return s.states(ctx, names)
}

// short runs a command that may take long. A command that does not finish in time continues, and
// its result is polled later.
func (s systemd) short(ctx context.Context, verb, name string) error {
	limited, cancel := patience.WithTimeout(ctx, cmp.Or(s.wait, waitFor))
	defer cancel()
	err := s.do(limited, verb, name)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return errBusy{}
	}
	return err
}

func (s systemd) start(ctx context.Context, name string) error {
	now, err := s.show(ctx, name)
	if err != nil {
		return err
	}
	for _, verb := range before(now) {
		if err := s.do(ctx, verb, name); err != nil {
			return err
		}
	}
	if err := s.short(ctx, "start", name); err != nil {
		return s.explained(ctx, name, err)
	}
	return s.stays(ctx, name)
}

// before returns what is done to a unit in this state before it is started. Without a reset, systemd
// refuses a service that was started too often, and goes on counting the restarts of a service that
// was stopped between two of them.
func before(now map[string]string) []string {
	switch {
	case now["SubState"] == autoRestart:
		// a start would wait for the unit's whole restart delay
		return []string{"reset-failed", "stop"}
	case now["ActiveState"] == "failed", now["ActiveState"] == "inactive" && restarts(now) > 0:
		return []string{"reset-failed"}
	}
	return nil
}

// autoRestart is the state of a service that has ended and will be restarted after a delay.
const autoRestart = "auto-restart"

// stays waits until it is certain that a started service runs.
func (s systemd) stays(ctx context.Context, name string) error {
	over, release := patience.After(cmp.Or(s.watch, watchStart))
	defer release()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		p, err := s.show(ctx, name)
		if err != nil {
			return err
		}
		if err := ended(p); err != nil {
			return err
		}
		switch {
		case p["ActiveState"] != "active" && p["ActiveState"] != "reloading" &&
			p["ActiveState"] != "refreshing":
			return doesNotStay(p)
		case p["Type"] != "simple" && p["Type"] != "exec" && p["Type"] != "idle":
			return nil // it has reported that it is ready
		}
		select {
		case <-tick.C:
		case <-over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ended returns the error of a unit that was started and is in this state; nil if it runs, or may
// still come to run.
func ended(p map[string]string) error {
	switch {
	case p["Type"] == "oneshot" && p["RemainAfterExit"] != "yes" &&
		p["ActiveState"] == "inactive" && p["Result"] == "success":
		return provider.Errorf(provider.NeedsChange,
			"it is of type oneshot and has done its work, so it does not stay running; set "+
				"RemainAfterExit=yes in its unit, or leave running out")
	case p["ActiveState"] == "failed", p["SubState"] == autoRestart,
		p["ActiveState"] == "activating" && restarts(p) > maxStarts,
		// its remaining processes are being ended
		p["ActiveState"] == "deactivating" && p["Result"] != "success":
		return doesNotStay(p)
	}
	return nil
}

// restarts returns how often systemd has restarted a unit since it was started.
func restarts(p map[string]string) int {
	n, _ := strconv.Atoi(p["NRestarts"]) // systemd before 235 has no such property
	return n
}

func (s systemd) show(ctx context.Context, name string) (map[string]string, error) {
	out, err := s.run(ctx, "show", asked, "--", unit(name))
	return properties(out), err
}

// how describes the state of a unit.
func how(p map[string]string) string {
	out := p["ActiveState"] + " (" + p["SubState"] + ")"
	if p["Result"] != "" && p["Result"] != "success" {
		out += ", " + p["Result"]
	}
	if code, err := strconv.Atoi(p["ExecMainStatus"]); err == nil && code != 0 {
		out += fmt.Sprintf(", its program ended with %d", code)
	}
	if n := restarts(p); n > 0 {
		out += fmt.Sprintf(", and it has restarted %d times", n)
	}
	return out
}

// explained adds the state of the unit to an error. A unit that keeps ending and restarting does
// not count as busy.
func (s systemd) explained(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	p, failed := s.show(ctx, name)
	switch {
	case failed != nil:
		return err
	case !errors.As(err, &errBusy{}):
		return fmt.Errorf("%w; it is %s", err, how(p))
	case p["SubState"] == autoRestart:
		return doesNotStay(p)
	}
	return err
}

func doesNotStay(p map[string]string) error {
	return errors.New("it was started and does not stay up: " + how(p))
}

func (s systemd) stop(ctx context.Context, name string) error { return s.short(ctx, "stop", name) }

// enable returns an error if nothing can be enabled.
func (s systemd) enable(ctx context.Context, name string) error {
	if err := s.do(ctx, "enable", name); err != nil {
		return err
	}
	known, err := s.states(ctx, []string{name})
	if now := known[name]; err == nil && now.fixed && !now.enabled {
		return provider.Errorf(provider.NeedsChange,
			"its unit has no section [Install], and nothing else starts it with the machine; add "+
				"WantedBy= there, or leave enabled out")
	}
	return err
}

func (s systemd) disable(ctx context.Context, name string) error {
	return s.do(ctx, "disable", name)
}

func (s systemd) restart(ctx context.Context, name string) error {
	return s.again(ctx, "restart", name)
}

func (s systemd) reload(ctx context.Context, name string) error {
	return s.again(ctx, "reload-or-restart", name)
}

func (s systemd) again(ctx context.Context, verb, name string) error {
	if err := s.do(ctx, verb, name); err != nil {
		return s.explained(ctx, name, err)
	}
	return s.stays(ctx, name)
}
