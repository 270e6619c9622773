package svc

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"southbound/handlers/internal/tool"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// runit uses the directories that runsvdir watches. A directory with a program run defines a
// service. The service is enabled if the directory is linked into the watched directory and has no
// file named down.
type runit struct {
	sv      string        // the program sv; "": the one in PATH
	watched string        // "": the first existing one of the usual directories
	defined string        // "": /etc/sv
	watch   time.Duration // in place of watchStart, for tests
}

// watchFor is how long to wait for a service that was linked: runsvdir reads the directory every
// five seconds.
const watchFor = 15 * time.Second

func (r runit) program() string {
	if r.sv != "" {
		return r.sv
	}
	return "sv"
}

func (r runit) definitions() string {
	if r.defined != "" {
		return r.defined
	}
	return "/etc/sv"
}

// services returns the directory that is watched, "" if there is none.
func (r runit) services() string {
	if r.watched != "" {
		return r.watched
	}
	for _, dir := range []string{os.Getenv("SVDIR"), "/etc/service", "/var/service", "/service"} {
		if dir == "" {
			continue
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return ""
}

// lack returns the missing requirement of runit.
func (r runit) lack(ctx *provider.Context) string {
	if r.services() == "" {
		return "no directory is watched by runit"
	}
	if _, err := tool.Run(ctx, nil, "sh", "-c", `command -v "$0"`, r.program()); err != nil {
		return "there is no command sv"
	}
	return ""
}

// at returns the directory of a service: the watched one or, if it is not watched, the definition;
// "" if there is none.
func (r runit) at(name string) (dir string, linked bool) {
	if strings.HasPrefix(name, ".") {
		return "", false
	}
	dir = filepath.Join(r.services(), name)
	if exists(filepath.Join(dir, "run")) {
		return dir, true
	}
	if dir = filepath.Join(r.definitions(), name); exists(filepath.Join(dir, "run")) {
		return dir, false
	}
	return "", false
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (r runit) states(ctx context.Context, names []string) (map[string]state, error) {
	if len(names) == 0 {
		for _, dir := range []string{r.services(), r.definitions()} {
			entries, err := os.ReadDir(dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
	}
	known := map[string]state{}
	var ask []string
	for _, name := range names {
		dir, linked := r.at(name)
		if dir == "" {
			continue
		}
		known[name] = state{enabled: linked && !exists(filepath.Join(dir, "down"))}
		if linked {
			ask = append(ask, dir)
		}
	}
	if len(ask) == 0 {
		return known, nil
	}
	out, err := tool.Run(ctx, nil, append([]string{r.program(), "status"}, ask...)...)
	if err != nil && (out == "" || tool.Code(err) < 0) {
		return nil, err // otherwise it is the number of services that do not run
	}
	for line := range strings.Lines(out) {
		// "run: /etc/service/x: (pid 1) 3s, normally down, want down; run: log: ..."
		line, _, _ = strings.Cut(line, ";")
		word, rest, _ := strings.Cut(line, ": ")
		dir, _, _ := strings.Cut(rest, ": ")
		if name := filepath.Base(dir); word == "run" {
			s := known[name]
			s.running = true
			known[name] = s
		}
	}
	return known, nil
}

// start links a service that is not watched, with a file named down if linking must not enable it,
// and sends the command to run.
func (r runit) start(ctx context.Context, name string) error {
	dir, linked := r.at(name)
	if !linked {
		if err := mark(filepath.Join(dir, "down")); err != nil {
			return err
		}
		if err := r.link(ctx, name, dir); err != nil {
			return err
		}
	}
	return r.controlUntil(ctx, "up", name, true)
}

func (r runit) link(ctx context.Context, name, dir string) error {
	to := filepath.Join(r.services(), name)
	if err := os.Symlink(dir, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	over, release := patience.After(watchFor)
	defer release()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if _, err := tool.Run(ctx, nil, r.program(), "status", to); err == nil ||
			tool.Code(err) > 0 && exists(filepath.Join(to, "supervise", "ok")) {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-over:
			return errors.New("runit has not taken notice of it: does runsvdir run and watch " +
				r.services() + "?")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r runit) stop(ctx context.Context, name string) error {
	return r.controlUntil(ctx, "down", name, false)
}

// changeTimeout is how long a service may take to start or to stop.
const changeTimeout = 30 * time.Second

// controlUntil sends a command to a service until the service has the desired state. Sending it once
// is not enough: runsv sleeps a second if a service ended soon after its start. sv decides by
// runsv's last status. It may therefore treat a service that is about to start as stopped, or omit
// a command that seems to be pending already.
func (r runit) controlUntil(ctx context.Context, verb, name string, running bool) error {
	over, release := patience.After(changeTimeout)
	defer release()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	dir := filepath.Join(r.services(), name)
	down := 0
	for n := 0; ; n++ {
		var err error
		if n%25 == 0 {
			_, err = tool.Run(ctx, nil, r.program(), verb, dir)
		}
		out, _ := tool.Run(ctx, nil, r.program(), "status", dir)
		line, _, _ := strings.Cut(out, ";")
		if strings.HasPrefix(line, "run: ") == running && !strings.Contains(line, ", want ") &&
			!strings.HasPrefix(line, "finish: ") && out != "" {
			break
		}
		if now, is := downFor(line); running && is {
			if now < down { // it was started since, and ended too soon to be seen
				return errors.New("it was started and does not stay up: " + strings.TrimSpace(line))
			}
			down = now
		}
		select {
		case <-tick.C:
		case <-over:
			if err == nil {
				err = errors.New("it does not stay so: " + strings.TrimSpace(line))
			}
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !running {
		return nil
	}
	if exists(filepath.Join(dir, "check")) {
		return r.control(ctx, "check", name) // wait until its check reports that it is ready
	}
	return r.stays(ctx, dir)
}

// downFor returns for how many seconds a service that should be up is down, from a line of sv:
// "down: DIR: 1s, want up"; false: the line has another form.
func downFor(line string) (int, bool) {
	rest, wanted := strings.CutSuffix(strings.TrimSpace(line), ", want up")
	rest, _ = strings.CutSuffix(rest, ", normally up")
	n, err := strconv.Atoi(strings.TrimSuffix(rest[strings.LastIndexByte(rest, ' ')+1:], "s"))
	return n, err == nil && wanted && strings.HasPrefix(rest, "down: ")
}

// stays checks whether a started service is still the same process after a while: a service that
// ends immediately is restarted each second.
func (r runit) stays(ctx context.Context, dir string) error {
	over, release := patience.After(cmp.Or(r.watch, watchStart))
	defer release()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	first := ""
	for {
		out, _ := tool.Run(ctx, nil, r.program(), "status", dir)
		line, _, _ := strings.Cut(out, ";")
		_, process, _ := strings.Cut(line, "(pid ")
		process, _, _ = strings.Cut(process, ")")
		if first == "" {
			first = process
		}
		if process == "" || process != first {
			return errors.New("it was started and does not stay up: " + strings.TrimSpace(line))
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

func (r runit) control(ctx context.Context, verb, name string) error {
	_, err := tool.Run(ctx, nil, r.program(), "-w", "20", verb, filepath.Join(r.services(), name))
	return err
}

// enable removes the file named down. A service that is not watched is linked, which starts it:
// runit has no other way to enable it.
func (r runit) enable(ctx context.Context, name string) error {
	dir, linked := r.at(name)
	if err := os.Remove(filepath.Join(dir, "down")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if linked {
		return nil
	}
	return r.link(ctx, name, dir)
}

func (r runit) disable(_ context.Context, name string) error {
	dir, linked := r.at(name)
	if !linked {
		return nil
	}
	return mark(filepath.Join(dir, "down"))
}

// mark makes an empty file.
func mark(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644) // other users may read it
	if err != nil {
		return err
	}
	return f.Close()
}

func (r runit) restart(ctx context.Context, name string) error {
	if err := r.controlUntil(ctx, "down", name, false); err != nil {
		return err
	}
	return r.controlUntil(ctx, "up", name, true)
}

func (r runit) reload(ctx context.Context, name string) error { return r.control(ctx, "hup", name) }
