package packages

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// uv runs uv for one bundle.
type uv struct {
	program   string
	env       string // the virtual environment
	python    string
	dir       string // for its files
	variables []string
	platform  Platform
}

// run runs uv with arguments, and returns the text of its errors if it fails.
func (u *uv) run(ctx context.Context, args ...string) (said string, err error) {
	cmd := exec.CommandContext(ctx, u.program, append([]string{"--quiet", "--no-progress"},
		args...)...)
	cmd.Dir, cmd.Env = u.dir, u.variables
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "UV_SYSTEM_CERTS=1", "UV_NATIVE_TLS=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return strings.TrimSpace(out.String()), err
}

// options returns the arguments that name the platform, and exclude everything but wheels.
func (u *uv) options() []string {
	return []string{"--no-deps", "--only-binary", ":all:", "--python", u.python,
		"--python-platform", u.platform.tag(), "--python-version", u.platform.Python}
}

// lock returns the pins with the hashes of the index, as a requirements file, and what uv says if it
// fails.
func (u *uv) lock(ctx context.Context, pins []pin) (lock, said string, err error) {
	from, to := filepath.Join(u.dir, "pins.txt"), filepath.Join(u.dir, "lock.txt")
	if err := os.WriteFile(from, []byte(requirements(pins)), 0o600); err != nil {
		return "", "", err
	}
	said, err = u.run(ctx, append([]string{"pip", "compile", "--generate-hashes", "--no-header",
		"--no-annotate", "--output-file", to, from}, u.options()...)...)
	if err != nil {
		return "", said, err
	}
	text, err := os.ReadFile(to)
	return string(text), "", err
}

// install installs distributions into a folder: those of a requirements file with hashes, or if it
// is "", those of pins. It returns the distributions that the index has as source only and that the
// environment has without compiled parts, for the caller to copy.
func (u *uv) install(ctx context.Context, lock string, pins []pin, into string) ([]*pure, error) {
	var local []*pure
	for {
		said, err := u.installOnce(ctx, lock, pins, into)
		if err == nil {
			return local, nil
		}
		lacking := u.withoutWheel(ctx, pins, said)
		for _, p := range lacking {
			found, wrong := findPure(u.env, p)
			if wrong != nil {
				return nil, wrong
			}
			if found == nil {
				return nil, u.failed(ctx, lacking, said, err)
			}
			local = append(local, found)
		}
		if len(lacking) == 0 {
			return nil, u.failed(ctx, nil, said, err)
		}
		if lock != "" {
			lock = without(lock, lacking)
		}
		pins = slices.DeleteFunc(slices.Clone(pins),
			func(p pin) bool { return slices.Contains(lacking, p) })
	}
}

// installOnce is one try of install. If it fails, it returns what uv says.
func (u *uv) installOnce(
	ctx context.Context, lock string, pins []pin, into string,
) (said string, err error) {
	if err := os.MkdirAll(into, 0o700); err != nil || len(pins) == 0 {
		return "", err
	}
	if lock == "" {
		if lock, said, err = u.lock(ctx, pins); err != nil {
			return said, err
		}
	}
	file := filepath.Join(u.dir, "install.txt")
	if err := os.WriteFile(file, []byte(lock), 0o600); err != nil {
		return "", err
	}
	return u.run(ctx, append([]string{"pip", "install", "--require-hashes", "--link-mode",
		"copy", "--target", into, "-r", file}, u.options()...)...)
}

// failed returns the error of uv; without are the packages that have no wheel for the platform.
func (u *uv) failed(ctx context.Context, without []pin, said string, err error) error {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fault.Wrap(fault.Canceled, doing, context.Cause(ctx))
	case !errors.As(err, &exit):
		return fault.New(fault.NotFound, doing, "uv cannot be started: %v", err).
			WithHint("install it again, such as with `pip install uv`")
	case len(without) == 0:
		return fault.New(fault.Invalid, doing, "uv: %s", hidden(said)).
			WithHint("repair the requirements or the index of the project, and run the command again")
	}
	var names []string
	for _, p := range without {
		if found, err := findPure(u.env, p); err != nil || found == nil {
			names = append(names, "package "+p.name+" "+p.version)
		}
	}
	return fault.New(fault.Invalid, doing, "no wheel for %s on the index: %s; functions compile no "+
		"packages", u.platform, strings.Join(names, ", ")).
		WithHint("use a version that has a wheel for the function, publish a wheel on the index of " +
			"the project, or serve the agents with `southbound agent run`")
}

// unsolved are parts of uv's errors about packages that an index does not have for a platform. All
// other errors are about the index itself.
func unsolved(said string) bool {
	return strings.Contains(said, "No solution found") || strings.Contains(said, "wheel")
}

// withoutWheel returns the packages that uv names in an error and that it cannot lock alone.
func (u *uv) withoutWheel(ctx context.Context, pins []pin, said string) []pin {
	if !unsolved(said) {
		return nil
	}
	var out []pin
	for _, p := range pins {
		if !strings.Contains(normal(said), p.name) {
			continue
		}
		file := filepath.Join(u.dir, "one.txt")
		if os.WriteFile(file, []byte(requirements([]pin{p})), 0o600) != nil {
			return nil
		}
		one := append([]string{"pip", "compile", "--no-header", "--output-file",
			filepath.Join(u.dir, "one.lock"), file}, u.options()...)
		if _, err := u.run(ctx, one...); err == nil {
			continue
		}
		out = append(out, p)
	}
	return out
}

var credentials = pattern.Lazy(`://[^/@\s]*@`)

// hidden removes names and passwords from the addresses in a text.
func hidden(text string) string { return credentials().ReplaceAllString(text, "://") }
