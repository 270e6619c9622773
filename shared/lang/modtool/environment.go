package modtool

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/internal/flock"
	"southbound/shared/lang/module"
)

// mark is a file that exists while an installation runs, and after an interrupted one. Its text is
// markedAll if that installation covers everything that the environment needs.
const (
	mark      = ".southbound-installing"
	markedAll = "all\n"
)

// marked reports whether an installation was interrupted. other reports whether the interrupted
// installation covered everything and the current one (all is false) does not, so cannot repair it.
func marked(env string, all bool) (interrupted, other bool) {
	text, err := os.ReadFile(filepath.Join(env, mark))
	return err == nil, err == nil && string(text) == markedAll && !all
}

// work is the folder in an environment for temporary files of an installation, so that a killed
// installation leaves no files elsewhere.
const work = ".southbound-work"

// lockFile is the file in an environment that is locked during an installation. Child processes
// hold the lock, too, since they may survive this process.
const lockFile = ".southbound-lock"

// lockEnvironment creates the folder of an environment, and waits until no other installation into
// it is running. Closing the returned file releases the lock.
func lockEnvironment(
	ctx context.Context, env string, say func(format string, args ...any),
) (*os.File, error) {
	if err := os.MkdirAll(env, 0o755); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "lock "+env, err)
	}
	f, err := os.OpenFile(filepath.Join(env, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "lock "+env, err)
	}
	return f, locked(ctx, f, env, say)
}

// lockFolder waits until no other installation holds the lock on a folder. It writes nothing there.
// Closing the returned file releases the lock.
func lockFolder(
	ctx context.Context, dir string, say func(format string, args ...any),
) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "lock "+dir, err)
	}
	return f, locked(ctx, f, dir, say)
}

// locked locks an open file; on an error it closes the file. dir is the target of the installation.
func locked(
	ctx context.Context, f *os.File, dir string, say func(format string, args ...any),
) error {
	err := flock.Lock(ctx, f, func() {
		say("another installation into %s is under way; waiting for its end", dir)
	})
	if err != nil {
		_ = f.Close()
	}
	return err
}

// beginInstall marks an environment as being installed into. all reports whether the installation
// covers everything that the environment needs. It returns an empty folder for temporary files, and
// removes files that a killed run left there.
func beginInstall(env string, all bool) (dir string, err error) {
	text := ""
	if all {
		text = markedAll
	}
	if err = os.WriteFile(filepath.Join(env, mark), []byte(text), 0o600); err == nil {
		// child processes have other working directories
		if dir, err = filepath.Abs(filepath.Join(env, work)); err == nil {
			if err = os.RemoveAll(dir); err == nil {
				err = os.Mkdir(dir, 0o700)
			}
		}
	}
	return dir, fault.Wrap(fault.Unavailable, "install packages", err)
}

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

// environment is the virtual environment into which packages are installed.
type environment struct {
	path string
	dir  string // the working directory of child processes
	lock *os.File
	say  func(format string, args ...any)
}

// environmentAt returns the virtual environment at a path, with the lock on it.
func environmentAt(path string, lock *os.File, t *Tool) environment {
	return environment{path: path, dir: t.Dir, lock: lock, say: t.Say}
}

// run runs a program that inherits the lock on the environment.
func (e environment) run(ctx context.Context, name string, args ...string) (string, error) {
	return program{dir: e.dir, env: os.Environ(), lock: e.lock}.run(ctx, name, args...)
}

// ready creates the environment. It recreates an environment that is incomplete or whose
// interpreter does not run.
func (e environment) ready(ctx context.Context) error {
	interrupted := fileThere(filepath.Join(e.path, mark))
	if hasPython(e.path) {
		wrong, err := e.wrong(ctx, interrupted)
		if wrong == "" || err != nil {
			return err
		}
		e.say("%s; making it again", wrong)
		if err := e.clear(); err != nil {
			return err
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

// clear removes the contents of the environment, except its lock.
func (e environment) clear() error {
	entries, err := os.ReadDir(e.path)
	for _, entry := range entries {
		if err == nil && entry.Name() != lockFile {
			err = os.RemoveAll(filepath.Join(e.path, entry.Name()))
		}
	}
	return fault.Wrap(fault.Unavailable, "make "+e.path, err)
}

// whatIsThere is a Python script that prints which part an environment lacks: python, pip or
// nothing.
const whatIsThere = `import importlib.util, os, sysconfig
print("python" if not os.path.isdir(sysconfig.get_path("purelib"))
      else "pip" if importlib.util.find_spec("pip") is None else "")`

// wrong returns why the environment has to be recreated; "" if it is usable. It installs pip if the
// environment has none, unless uv is available, which needs no pip.
func (e environment) wrong(ctx context.Context, interrupted bool) (string, error) {
	said, err := e.run(ctx, python(e.path), "-c", whatIsThere)
	_, noUV := exec.LookPath("uv")
	lacks := strings.TrimSpace(said)
	if err == nil && lacks == "" && interrupted && noUV != nil {
		_, err = e.run(ctx, python(e.path), "-m", "pip", "--version")
	}
	switch {
	case ctx.Err() != nil:
		return "", err
	case err != nil:
		return "the Python of " + module.EnvDir + " does not run", nil
	case lacks == "python":
		return module.EnvDir + " was made with another Python than it has now", nil
	case lacks == "pip" && noUV != nil:
		_, err = e.run(ctx, python(e.path), "-m", "ensurepip")
		return "", fault.Wrap(fault.Unavailable, "put pip into "+e.path, err)
	}
	return "", nil
}

// create creates the virtual environment with Python or uv.
func (e environment) create(ctx context.Context) error {
	base, version := basePython(ctx, e.dir)
	if uv, err := exec.LookPath("uv"); err == nil {
		wants := base
		if version < libraryPython {
			wants = fmt.Sprintf(">=3.%d", libraryPython) // uv finds such a Python, or downloads it
		}
		_, err := e.run(ctx, uv, "venv", "-q", "--seed", "--allow-existing", e.path, "--python", wants)
		return err
	}
	if base != "" && version < libraryPython {
		return tooOld(base, version, "")
	}
	if base == "" {
		return fault.New(fault.Unavailable, "make "+e.path,
			"there is no python3 and no uv on this machine").
			WithHint("install Python, or run this with --no-python: models are installed, and " +
				"no plugins")
	}
	_, err := e.run(ctx, base, "-m", "venv", e.path)
	return err
}

// libraryPython is the oldest minor version of Python 3 that a current inmanta-core supports.
const libraryPython = 13

// supported rejects a Python that is too old for the modules before any change is made. It checks
// the Python of an existing environment, else the Python for a new one. uv can download another
// Python.
func (e environment) supported(ctx context.Context) error {
	if hasPython(e.path) {
		n, err := versionOf(ctx, e.dir, python(e.path))
		if err == nil && n < libraryPython {
			return tooOld(python(e.path), n, "remove "+module.EnvDir+"; ")
		}
		return nil // an environment whose Python does not run is recreated
	}
	base, version := basePython(ctx, e.dir)
	if _, err := exec.LookPath("uv"); err == nil || base == "" || version >= libraryPython {
		return nil
	}
	return tooOld(base, version, "")
}

// tooOld returns the error for a Python that is too old; first is a step to do before others.
func tooOld(path string, version int, first string) error {
	return fault.New(fault.Unsupported, "install packages",
		"%s is Python 3.%d, and modules need 3.%d or later; nothing was installed", path, version,
		libraryPython).
		WithHint("%sinstall Python 3.%d, or uv, which gets it; with --no-python models are "+
			"installed, and no plugins", first, libraryPython)
}

// versionOf returns the minor version of a Python 3 program.
func versionOf(ctx context.Context, dir, python string) (int, error) {
	said, err := run(ctx, dir, os.Environ(), python, "-c",
		"import sys; print(sys.version_info[1])")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(said))
}

// newestPython is the newest minor version of Python 3 whose program name is tried.
const newestPython = 15

// basePython returns the Python for new environments, and its minor version: python3, or a newer
// Python if python3 is too old for the library. It returns "" if there is none.
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
		n, err := versionOf(ctx, dir, found)
		if err != nil { // such as a shim of a Python that is not installed
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
