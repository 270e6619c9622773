package svc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"southbound/handlers/internal/tool"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// sysvinit runs the scripts in init.d and manages the links in rc?.d through update-rc.d, or
// chkconfig if that is installed instead.
type sysvinit struct {
	etc    string   // "": /etc
	before []string // a command in front, for tests
}

func (s sysvinit) dir() string {
	if s.etc != "" {
		return s.etc
	}
	return "/etc"
}

func (s sysvinit) script(name string) string { return filepath.Join(s.dir(), "init.d", name) }

// lack returns its missing requirement.
func (s sysvinit) lack(*provider.Context) string {
	if info, err := os.Stat(filepath.Join(s.dir(), "init.d")); err != nil || !info.IsDir() {
		return "there is no directory " + filepath.Join(s.dir(), "init.d")
	}
	for _, command := range []string{"update-rc.d", "chkconfig"} {
		if _, err := exec.LookPath(command); err == nil {
			return ""
		}
	}
	return "there is neither update-rc.d nor chkconfig"
}

func (s sysvinit) run(ctx context.Context, args ...string) (string, error) {
	return tool.Run(ctx, nil, append(append([]string{}, s.before...), args...)...)
}

func (s sysvinit) states(ctx context.Context, names []string) (map[string]state, error) {
	if len(names) == 0 {
		entries, err := os.ReadDir(filepath.Join(s.dir(), "init.d"))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	known := map[string]state{}
	for _, name := range names {
		info, err := os.Stat(s.script(name))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		now := state{enabled: s.enabled(name)}
		_, err = s.run(ctx, s.script(name), "status")
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		now.running = err == nil // any other exit code: down, or unknown
		known[name] = now
	}
	return known, nil
}

// enabled reports whether the service starts in any of the usual run levels.
func (s sysvinit) enabled(name string) bool {
	for _, level := range []string{"2", "3", "4", "5", "S"} {
		links, err := filepath.Glob(filepath.Join(s.dir(), "rc"+level+".d", "S[0-9][0-9]*"))
		if err != nil {
			continue
		}
		for _, link := range links {
			if strings.TrimLeft(filepath.Base(link)[1:], "0123456789") == name {
				return true
			}
		}
	}
	return false
}

func (s sysvinit) start(ctx context.Context, name string) error {
	return s.controlAndWait(ctx, name, "start", true)
}

func (s sysvinit) stop(ctx context.Context, name string) error {
	return s.controlAndWait(ctx, name, "stop", false)
}

func (s sysvinit) restart(ctx context.Context, name string) error {
	return s.controlAndWait(ctx, name, "restart", true)
}

func (s sysvinit) reload(ctx context.Context, name string) error {
	return s.control(ctx, name, "reload")
}

// controlAndWait sends a command to a script, and waits until its status confirms it: many return
// earlier.
func (s sysvinit) controlAndWait(ctx context.Context, name, verb string, running bool) error {
	if err := s.control(ctx, name, verb); err != nil {
		return err
	}
	over, release := patience.After(waitFor)
	defer release()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		_, err := s.run(ctx, s.script(name), "status")
		if (err == nil) == running {
			return nil
		}
		select {
		case <-tick.C:
		case <-over:
			if running {
				return fmt.Errorf("after %s, its script reports by status that it does not run: %w",
					verb, err)
			}
			return fmt.Errorf("after %s, its script reports by status that it still runs", verb)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s sysvinit) control(ctx context.Context, name, verb string) error {
	_, err := s.run(ctx, s.script(name), verb)
	return err
}

func (s sysvinit) enable(ctx context.Context, name string) error {
	if _, err := exec.LookPath("update-rc.d"); err != nil {
		_, err := s.run(ctx, "chkconfig", name, "on")
		return err
	}
	if links, _ := filepath.Glob(filepath.Join(s.dir(), "rc[0-9S].d", "[SK][0-9][0-9]"+name)); len(
		links) == 0 {
		_, err := s.run(ctx, "update-rc.d", name, "defaults")
		return err
	}
	_, err := s.run(ctx, "update-rc.d", name, "enable") // defaults keeps disabled services disabled
	return err
}

func (s sysvinit) disable(ctx context.Context, name string) error {
	if _, err := exec.LookPath("update-rc.d"); err != nil {
		_, err := s.run(ctx, "chkconfig", name, "off")
		return err
	}
	_, err := s.run(ctx, "update-rc.d", name, "disable")
	return err
}
