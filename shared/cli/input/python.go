package input

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

// HandlersDir returns the absolute directory of the loaded model with handlers in Python; "": there
// is none.
func (d *Documents) HandlersDir() string {
	if d.Handled == "" {
		return ""
	}
	dir, err := filepath.Abs(dirOf(d.Handled))
	if err != nil {
		return ""
	}
	return dir
}

// NoteProject records the project that was exported, if it has handlers.
func (d *Documents) NoteProject() {
	if dir := d.HandlersDir(); dir != "" && !d.Remote() {
		_ = os.WriteFile(filepath.Join(d.Data, projectFile), []byte(dir+"\n"), 0o600)
	}
}

// dirOf returns the directory of a path argument, which may be a file.
func dirOf(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// FindPython returns the Python that runs handlers, and where it was found.
func (d *Documents) FindPython() (path, dir string, err error) {
	if named := os.Getenv(pythonVariable); named != "" {
		return pythonAt(named)
	}
	dirs := []string{dirOf(d.Handled), dirOf(d.Path), "."}
	if b, err := os.ReadFile(filepath.Join(d.Data, projectFile)); err == nil {
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
		"its handler is Python code, and %s; install the packages of the project (southbound project "+
			"install), or name a virtual environment in %s",
		wrong,
		pythonVariable,
	)
}

// pythonAt returns the Python that a variable names.
func pythonAt(named string) (path, dir string, err error) {
	info, err := os.Stat(named)
	if err == nil && !info.IsDir() {
		return absolute(named, ".")
	}
	path, wrong := python.Find(named)
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
