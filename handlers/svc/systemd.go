package svc

import (
	"context"
	"strings"

	"southbound/handlers/internal/tool"
)

// systemd asks systemctl.
type systemd struct {
	before []string // a command in front, for tests
	flags  []string
}

// unit returns the name of a unit.
func unit(name string) string {
	for _, kind := range []string{".service", ".socket", ".timer", ".path", ".target", ".mount"} {
		if strings.HasSuffix(name, kind) {
			return name
		}
	}
	return name + ".service"
}

func (s systemd) run(ctx context.Context, args ...string) (string, error) {
	argv := append(append([]string{}, s.before...), "systemctl")
	argv = append(append(argv, s.flags...), "--no-pager", "--no-ask-password")
	return tool.Run(ctx, nil, append(argv, args...)...)
}

func (s systemd) states(ctx context.Context, names []string) (map[string]state, error) {
	args := []string{"show", "--property=Id,Names,LoadState,ActiveState,UnitFileState", "--"}
	byUnit := map[string][]string{}
	if len(names) == 0 {
		args[len(args)-1] = "*.service"
	}
	for _, name := range names {
		if u := unit(name); byUnit[u] == nil {
			args = append(args, u)
		}
		byUnit[unit(name)] = append(byUnit[unit(name)], name)
	}
	out, err := s.run(ctx, args...)
	if err != nil {
		return nil, err
	}
	known := map[string]state{}
	for text := range strings.SplitSeq(out, "\n\n") {
		p := properties(text)
		if p["LoadState"] != "loaded" {
			continue
		}
		now := stateOf(p)
		if len(names) == 0 {
			if name, is := strings.CutSuffix(p["Id"], ".service"); is && now.running {
				known[name] = now
			}
			continue
		}
		for u := range strings.FieldsSeq(p["Id"] + " " + p["Names"]) { // an alias shows the unit it stands for
			for _, name := range byUnit[u] {
				known[name] = now
			}
		}
	}
	return known, nil
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

// stateOf reads the properties of a unit. One that cannot be enabled by itself (static, generated, ...) is started by others, and counts as enabled.
func stateOf(p map[string]string) state {
	s := state{}
	switch p["ActiveState"] {
	case "active", "activating", "reloading", "refreshing":
		s.running = true
	}
	switch p["UnitFileState"] {
	case "enabled", "enabled-runtime", "alias", "static", "indirect", "generated":
		s.enabled = true
	}
	return s
}

func (s systemd) do(ctx context.Context, verb, name string) error {
	_, err := s.run(ctx, verb, "--", unit(name))
	return err
}

func (s systemd) start(ctx context.Context, name string) error   { return s.do(ctx, "start", name) }
func (s systemd) stop(ctx context.Context, name string) error    { return s.do(ctx, "stop", name) }
func (s systemd) enable(ctx context.Context, name string) error  { return s.do(ctx, "enable", name) }
func (s systemd) disable(ctx context.Context, name string) error { return s.do(ctx, "disable", name) }
func (s systemd) restart(ctx context.Context, name string) error { return s.do(ctx, "restart", name) }
func (s systemd) reload(ctx context.Context, name string) error {
	return s.do(ctx, "reload-or-restart", name)
}
