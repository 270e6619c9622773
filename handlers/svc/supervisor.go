package svc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"southbound/handlers/internal/tool"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// supervisor uses supervisorctl. A service is a program of supervisord, or group:program. The
// configuration of supervisord determines whether it starts with supervisord, and must be changed
// there.
type supervisor struct {
	before []string // a command in front, for tests
	flags  []string
	wait   time.Duration // in place of waitFor, for tests
}

func (s supervisor) run(ctx context.Context, args ...string) (string, error) {
	argv := append(append([]string{}, s.before...), "supervisorctl")
	return tool.Run(ctx, nil, append(append(argv, s.flags...), args...)...)
}

// lack returns its missing requirement.
func (s supervisor) lack(ctx *provider.Context) string {
	if _, err := s.run(ctx, "pid"); err != nil {
		return "supervisorctl reaches no supervisord"
	}
	return ""
}

// states reads the programs and their configuration.
func (s supervisor) states(ctx context.Context, names []string) (map[string]state, error) {
	configured, err := s.run(ctx, "avail")
	if err != nil {
		return nil, err
	}
	return s.configured(ctx, configured, names)
}

// configured reads the programs if the configured ones are known: "name in use auto 1:2".
func (s supervisor) configured(
	ctx context.Context, configured string, names []string,
) (map[string]state, error) {
	all, err := s.status(ctx)
	if err != nil {
		return nil, err
	}
	auto := map[string]bool{}
	for line := range strings.Lines(configured) {
		f := strings.Fields(line)
		auto[alone(first(f))] = len(f) > 2 && f[len(f)-2] == "auto"
	}
	for name, now := range all {
		now.enabled = auto[alone(name)]
		all[name] = now
	}
	if len(names) == 0 {
		return all, nil
	}
	known := map[string]state{}
	for _, name := range names {
		if now, is := called(all, name); is {
			known[name] = now
		}
	}
	return known, nil
}

// status reads "name STATE more" of each program, which does not show whether it is enabled.
func (s supervisor) status(ctx context.Context) (map[string]state, error) {
	out, err := s.run(ctx, "status")
	if err != nil && tool.Code(err) != 3 { // 3: some do not run
		return nil, err
	}
	all := map[string]state{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 1 {
			all[f[0]] = stateOf(f[1:])
		}
	}
	return all, nil
}

// called returns the program that a name stands for.
func called(all map[string]state, name string) (now state, is bool) {
	for _, form := range []string{name + ":" + name, alone(name), name} {
		if now, is = all[form]; is {
			break
		}
	}
	return now, is
}

// stateOf parses the words that follow the name of a program.
func stateOf(words []string) (now state) {
	switch words[0] {
	case "RUNNING":
		now.running = true
	case "STARTING", "STOPPING":
		now.changing = true
	case "BACKOFF":
		now.changing = true
		fallthrough
	case "EXITED", "FATAL":
		now.ended = errors.New("it was started and does not stay up: " + strings.Join(words, " "))
	}
	return now
}

func first(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// alone returns the name, without the group, of a program that is the only one of its group.
func alone(name string) string {
	if group, program, is := strings.Cut(name, ":"); is && group == program {
		return program
	}
	return name
}

// group returns the name of the group in which a program is added and updated.
func group(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return name
}

// control sends a command. A state that is already reached is no error. supervisorctl reports other
// errors on standard output.
func (s supervisor) control(ctx context.Context, verb string, args ...string) error {
	out, err := s.run(ctx, append([]string{verb}, args...)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "ERROR (") && !strings.Contains(line, "already started") &&
			!strings.Contains(line, "not running") && !strings.Contains(line, "already active") {
			return errors.New(strings.TrimSpace(line))
		}
	}
	if out == "" {
		return err
	}
	return nil
}

// refresh reads the configuration again, and adds new programs. Adding programs does not change the
// configuration, so one query is enough: each query starts a Python.
func (s supervisor) refresh(ctx context.Context, names []string) (map[string]state, error) {
	_, err := s.run(ctx, "reread")
	if err != nil {
		return nil, err
	}
	configured, err := s.run(ctx, "avail")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(configured) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == "avail" { // not in use yet
			if err := s.control(ctx, "add", group(f[0])); err != nil {
				return nil, fmt.Errorf("add %s: %w", f[0], err)
			}
		}
	}
	return s.configured(ctx, configured, names)
}

func (s supervisor) start(ctx context.Context, name string) error {
	if err := s.control(ctx, "update", group(name)); err != nil { // applies a changed configuration
		return err
	}
	if err := s.control(ctx, "start", name); err != nil {
		return err
	}
	return s.stays(ctx, name)
}

// stays waits until a started program runs: supervisorctl also reports a program as started while
// it is starting, and one that exits repeatedly.
func (s supervisor) stays(ctx context.Context, name string) error {
	over, release := patience.After(cmp.Or(s.wait, waitFor))
	defer release()
	tick := time.NewTicker(10 * pollEvery)
	defer tick.Stop()
	for {
		all, err := s.status(ctx)
		now, _ := called(all, name)
		switch {
		case err != nil:
			return err
		case now.running:
			return nil
		case now.ended != nil:
			return now.ended
		}
		select {
		case <-tick.C:
		case <-over:
			return errBusy{}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s supervisor) stop(ctx context.Context, name string) error {
	return s.control(ctx, "stop", name)
}

func (s supervisor) enable(context.Context, string) error {
	return provider.Errorf(provider.NeedsChange,
		"supervisord starts it only when its configuration has autostart=true; set it there")
}

func (s supervisor) disable(context.Context, string) error {
	return provider.Errorf(provider.NeedsChange,
		"supervisord starts it as long as its configuration has no autostart=false; set it there")
}

func (s supervisor) restart(ctx context.Context, name string) error {
	if err := s.control(ctx, "update", group(name)); err != nil {
		return err
	}
	return s.control(ctx, "restart", name)
}

func (s supervisor) reload(ctx context.Context, name string) error {
	return s.control(ctx, "signal", "HUP", name)
}
