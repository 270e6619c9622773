package cli

import (
	"os"
	"path/filepath"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/lang/project"
	"southbound/shared/lang/python"
)

// pythonVariable names the virtual environment, or the Python program, that runs handlers.
const pythonVariable = "SOUTHBOUND_PYTHON"

// projectFile is the file in the data directory that names the project whose handlers were exported
// last. Commands without a path find its virtual environment there.
const projectFile = "project"

// noteProject records the project that was exported, if it has handlers.
func (d *documents) noteProject() {
	dir, err := filepath.Abs(dirOf(d.handled))
	if err == nil && d.handled != "" && !d.remote() {
		_ = os.WriteFile(filepath.Join(d.data, projectFile), []byte(dir+"\n"), 0o600)
	}
}

// dirOf returns the directory of a path argument, which may be a file.
func dirOf(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// findPython returns the Python that runs handlers, and where it was found.
func (d *documents) findPython() (path, dir string, err error) {
	if said := os.Getenv(pythonVariable); said != "" {
		return pythonAt(said)
	}
	dirs := []string{dirOf(d.handled), dirOf(d.path), "."}
	if b, err := os.ReadFile(filepath.Join(d.data, projectFile)); err == nil {
		dirs = append(dirs, strings.TrimSuffix(string(b), "\n"))
	}
	var wrong string
	for _, dir := range dirs {
		env := ""
		if dir != "" {
			env = project.Environment(dir, os.Getenv("VIRTUAL_ENV"))
		}
		if env == "" {
			continue
		}
		if path, wrong = python.Find(env); wrong == "" {
			return absolute(path, dir)
		}
	}
	if wrong == "" {
		wrong = "there is no virtual environment"
	}
	return "", "", fault.New(
		fault.NotFound,
		"run Python",
		"its handler is Python code, and %s; install what the project needs (southbound project "+
			"install), or name a virtual environment in %s",
		wrong,
		pythonVariable,
	)
}

// pythonAt returns the Python that a variable names.
func pythonAt(said string) (path, dir string, err error) {
	info, err := os.Stat(said)
	if err == nil && !info.IsDir() {
		return absolute(said, ".")
	}
	path, wrong := python.Find(said)
	if wrong != "" {
		return "", "", fault.New(fault.NotFound, "run Python", "%s: %s", pythonVariable, wrong)
	}
	return absolute(path, ".")
}

func absolute(path, dir string) (string, string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return path, dir, fault.Wrap(fault.Invalid, "find Python", err)
}
