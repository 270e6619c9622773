package modtool

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/module"
)

// mark is the file that says that an installation is under way, or was interrupted.
const mark = ".southbound-installing"

// python returns the interpreter of an environment.
func python(env string) string {
	if path := filepath.Join(env, "Scripts", "python.exe"); fileThere(path) {
		return path
	}
	return filepath.Join(env, "bin", "python")
}

func fileThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func hasPython(env string) bool { return fileThere(python(env)) }

// environment is the virtual environment that packages are installed into.
type environment struct {
	path string
	dir  string // the working directory of the programs that make it
	say  func(format string, args ...any)
	warn func(diag.Problem)
}

// environmentAt returns the virtual environment at a path.
func environmentAt(path string, t *Tool) environment {
	return environment{path: path, dir: t.Dir, say: t.Say, warn: t.Warn}
}

// ready makes the environment, or makes it anew if its interpreter does not run, or if it was only
// half made.
func (e environment) ready(ctx context.Context) error {
	interrupted := fileThere(filepath.Join(e.path, mark))
	if hasPython(e.path) {
		wrong, err := e.wrong(ctx, interrupted)
		if wrong == "" || err != nil {
			return err
		}
		e.say("%s; making it again", wrong)
		if err := os.RemoveAll(e.path); err != nil {
			return fault.Wrap(fault.Unavailable, "make "+e.path, err)
		}
	}
	e.say("making the environment %s", module.EnvDir)
	if err := os.MkdirAll(e.path, 0o755); err != nil {
		return fault.Wrap(fault.Unavailable, "make "+e.path, err)
	}
	if err := os.WriteFile(filepath.Join(e.path, mark), nil, 0o600); err != nil {
		return fault.Wrap(fault.Unavailable, "make "+e.path, err)
	}
	if err := e.create(ctx); err != nil || interrupted {
		return err
	}
	return fault.Wrap(fault.Unavailable, "make "+e.path, os.Remove(filepath.Join(e.path, mark)))
}

// whatIsThere is a text in Python that says what it finds of an environment.
const whatIsThere = `import importlib.util, os, sysconfig
print("python" if not os.path.isdir(sysconfig.get_path("purelib"))
      else "pip" if importlib.util.find_spec("pip") is None else "")`

// wrong returns why the environment has to be made again; "" if it can be used. pip is put into
// one that has none, unless there is uv, which needs none.
func (e environment) wrong(ctx context.Context, interrupted bool) (string, error) {
	said, err := run(ctx, e.dir, os.Environ(), python(e.path), "-c", whatIsThere)
	_, noUV := exec.LookPath("uv")
	lacks := strings.TrimSpace(said)
	if err == nil && lacks == "" && interrupted && noUV != nil {
		_, err = run(ctx, e.dir, os.Environ(), python(e.path), "-m", "pip", "--version")
	}
	switch {
	case ctx.Err() != nil:
		return "", err
	case err != nil:
		return "the Python of " + module.EnvDir + " does not run", nil
	case lacks == "python":
		return module.EnvDir + " was made with another Python than it has now", nil
	case lacks == "pip" && noUV != nil:
		_, err = run(ctx, e.dir, os.Environ(), python(e.path), "-m", "ensurepip")
		return "", fault.Wrap(fault.Unavailable, "put pip into "+e.path, err)
	}
	return "", nil
}

// create has Python, or uv, make the virtual environment.
func (e environment) create(ctx context.Context) error {
	base, version := basePython(ctx, e.dir)
	if base != "" && version < libraryPython {
		e.warn(diag.Problem{
			Message: fmt.Sprintf("%s is Python 3.%d, for which pip takes an older inmanta-core",
				base, version),
			Hint: fmt.Sprintf("install Python 3.%d, and remove %s", libraryPython, module.EnvDir),
		})
	}
	if uv, err := exec.LookPath("uv"); err == nil {
		args := []string{"venv", "-q", "--seed", "--allow-existing", e.path}
		if version >= libraryPython {
			args = append(args, "--python", base)
		}
		_, err := run(ctx, e.dir, os.Environ(), uv, args...)
		return err
	}
	if base == "" {
		return fault.New(fault.Unavailable, "make "+e.path,
			"there is no python3 and no uv on this machine").
			WithHint("install Python, or run this with --no-python: models are installed, and " +
				"no plugins")
	}
	_, err := run(ctx, e.dir, os.Environ(), base, "-m", "venv", e.path)
	return err
}

// libraryPython is the oldest Python 3 for which there is a current inmanta-core. pip looks for an
// older one where Python is older.
const libraryPython = 13

// newestPython is the newest Python 3 that is looked for by its name.
const newestPython = 15

// basePython returns the Python to make environments of, and which Python 3 it is: python3, or a
// newer one if that is too old for the library. "": there is none.
func basePython(ctx context.Context, dir string) (path string, version int) {
	names := []string{"python3"}
	for n := newestPython; n >= libraryPython; n-- {
		names = append(names, fmt.Sprintf("python3.%d", n))
	}
	for _, name := range names {
		found, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		said, err := run(ctx, dir, os.Environ(), found, "-c",
			"import sys; print(sys.version_info[1])")
		n, wrong := strconv.Atoi(strings.TrimSpace(said))
		if err != nil || wrong != nil { // such as a name that only leads to what is not installed
			continue
		}
		if n >= libraryPython {
			return found, n
		}
		if path == "" {
			path, version = found, n
		}
	}
	return path, version
}
