package svc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"southbound/handlers/internal/tool"
	"southbound/shared/provider"
)

// supervisor asks supervisorctl. A service is a program of supervisord, or group:program. Whether it is started with supervisord stands in
// its configuration, and is changed there.
type supervisor struct {
	before []string // a command in front, for tests
	flags  []string
}

func (s supervisor) run(ctx context.Context, args ...string) (string, error) {
	argv := append(append([]string{}, s.before...), "supervisorctl")
	return tool.Run(ctx, nil, append(append(argv, s.flags...), args...)...)
}

// lack says what is missing for it to suit.
func (s supervisor) lack(ctx *provider.Context) string {
	if _, err := s.run(ctx, "pid"); err != nil {
		return "supervisorctl reaches no supervisord"
	}
	return ""
}

// states reads "name  STATE  more" of what there is, and "name  in use  auto  1:2" of what is configured.
func (s supervisor) states(ctx context.Context, names []string) (map[string]state, error) {
	out, err := s.run(ctx, "status")
	if err != nil && tool.Code(err) != 3 { // 3: not all run
		return nil, err
	}
	starts, err := s.run(ctx, "avail")
	if err != nil {
		return nil, err
	}
	auto := map[string]bool{}
	for line := range strings.Lines(starts) {
		f := strings.Fields(line)
		auto[alone(first(f))] = len(f) > 2 && f[len(f)-2] == "auto"
	}
	all := map[string]state{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		now := state{enabled: auto[alone(f[0])]}
		switch f[1] {
		case "RUNNING":
			now.running = true
		case "STARTING", "BACKOFF", "STOPPING":
			now.changing = true
		}
		all[f[0]] = now
	}
	if len(names) == 0 {
		return all, nil
	}
	known := map[string]state{}
	for _, name := range names {
		for _, form := range []string{name, alone(name), name + ":" + name} {
			if now, is := all[form]; is {
				known[name] = now
			}
		}
	}
	return known, nil
}

func first(fields []string) string {
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// alone returns the name of a program that is a group by itself without the group.
func alone(name string) string {
	if group, program, is := strings.Cut(name, ":"); is && group == program {
		return program
	}
	return name
}

// group returns the name of what a program is added and updated with.
func group(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return name
}

// tell gives an order. What is so already is no error; supervisorctl says of others what is wrong where one looks for answers.
func (s supervisor) tell(ctx context.Context, verb string, args ...string) error {
	out, err := s.run(ctx, append([]string{verb}, args...)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "ERROR (") && !strings.Contains(line, "already started") && !strings.Contains(line, "not running") && !strings.Contains(line, "already active") {
			return errors.New(strings.TrimSpace(line))
		}
	}
	if out == "" {
		return err
	}
	return nil
}

// refresh reads the configuration anew. New programs are added when they are started.
func (s supervisor) refresh(ctx context.Context) error {
	_, err := s.run(ctx, "reread")
	if err != nil {
		return err
	}
	configured, err := s.run(ctx, "avail")
	if err != nil {
		return err
	}
	for line := range strings.Lines(configured) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == "avail" { // not in use yet
			if err := s.tell(ctx, "add", group(f[0])); err != nil {
				return fmt.Errorf("add %s: %w", f[0], err)
			}
		}
	}
	return nil
}

func (s supervisor) start(ctx context.Context, name string) error {
	if err := s.tell(ctx, "update", group(name)); err != nil { // what is configured otherwise now
		return err
	}
	return s.tell(ctx, "start", name)
}

func (s supervisor) stop(ctx context.Context, name string) error { return s.tell(ctx, "stop", name) }

func (s supervisor) enable(context.Context, string) error {
	return provider.Errorf(provider.NeedsChange, "supervisord starts it only when its configuration has autostart=true; set it there")
}

func (s supervisor) disable(context.Context, string) error {
	return provider.Errorf(provider.NeedsChange, "supervisord starts it as long as its configuration has no autostart=false; set it there")
}

func (s supervisor) restart(ctx context.Context, name string) error {
	if err := s.tell(ctx, "update", group(name)); err != nil {
		return err
	}
	return s.tell(ctx, "restart", name)
}

func (s supervisor) reload(ctx context.Context, name string) error {
	return s.tell(ctx, "signal", "HUP", name)
}
