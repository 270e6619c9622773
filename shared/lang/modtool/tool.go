// Package modtool does what the commands project and module do: it makes, installs, lists, freezes,
// builds and releases modules.
package modtool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
	"southbound/shared/lang/project"
	"southbound/shared/pattern"
)

// Tool works on the project or module in a folder.
type Tool struct {
	Dir string
	// Say tells people what was done, a line each.
	Say func(format string, args ...any)
	// Warn tells people what is wrong and not an error.
	Warn func(diag.Problem)
	// BuiltIn says which modules are part of the program, and are not installed.
	BuiltIn func(name string) bool
}

// state is a project with the modules that it imports.
type state struct {
	meta    *metadata.Project
	asked   []metadata.Requirement // by the project
	finder  *module.Finder
	modules []*module.Module // that were found, in the order of imports
	missing []string         // that were not
	direct  []string         // those that main.cf, or the module of the folder, imports
}

// isProject reports whether the folder is a project.
func (t *Tool) isProject() bool {
	return fileThere(filepath.Join(t.Dir, metadata.ProjectFile)) ||
		fileThere(filepath.Join(t.Dir, project.MainFile))
}

// open reads the project in the folder.
func (t *Tool) open() (*metadata.Project, error) {
	if !t.isProject() {
		return nil, fault.New(fault.Invalid, "open the project", "%s has neither %s nor %s",
			t.Dir, metadata.ProjectFile, project.MainFile).
			WithHint("go into the folder of a project, or make one with `southbound project init`")
	}
	p, warnings, err := project.ReadFile(t.Dir)
	t.warn(warnings)
	return p, err
}

func (t *Tool) warn(warnings diag.Problems) {
	for _, w := range warnings {
		t.Warn(w)
	}
}

// here returns the project in the folder, or the module, if that is what the folder is.
func (t *Tool) here() (*state, *module.Module, error) {
	isModule := fileThere(filepath.Join(t.Dir, metadata.FileV1)) ||
		fileThere(filepath.Join(t.Dir, metadata.FileV2))
	if isModule && !t.isProject() {
		return t.alone()
	}
	meta, err := t.open()
	if err != nil {
		return nil, nil, err
	}
	s, err := t.load(meta)
	return s, nil, err
}

// alone returns the module in the folder, and what it needs. That is looked for where `module test`
// looks for it, and beside the module.
func (t *Tool) alone() (*state, *module.Module, error) {
	m, warnings, err := module.Open(t.Dir)
	t.warn(warnings)
	if err != nil {
		return nil, nil, err
	}
	meta, active := metadata.NoProject(t.Dir), os.Getenv("VIRTUAL_ENV")
	meta.ModulePath = []string{".."}
	around, err := project.Around(t.Dir)
	if err != nil {
		return nil, nil, fault.Wrap(fault.Invalid, "find the project around the module", err)
	}
	if around != "" {
		outer, _, err := project.ReadFile(around)
		if err != nil {
			return nil, nil, err
		}
		meta.ModulePath = append(outer.Paths(), "..")
		active = project.Environment(around, active)
	}
	s := &state{meta: meta, modules: []*module.Module{m}}
	if s.direct, err = moduleImports(m); err != nil {
		return nil, nil, err
	}
	if err := t.find(s, active); err != nil {
		return nil, nil, err
	}
	direct := s.direct
	for _, r := range m.Meta.Requires {
		if r.Module != "" && r.Holds(module.MarkerEnvironment()) {
			direct = append(direct, r.Module)
		}
	}
	return s, m, t.follow(s, direct)
}

// load reads the project and follows its imports as far as there are modules.
func (t *Tool) load(meta *metadata.Project) (*state, error) {
	s := &state{meta: meta}
	var err error
	if s.asked, err = module.ProjectRequirements(meta); err != nil {
		return nil, err
	}
	if err := t.find(s, os.Getenv("VIRTUAL_ENV")); err != nil {
		return nil, err
	}
	main := filepath.Join(t.Dir, project.MainFile)
	if _, err := os.Stat(main); err == nil {
		if s.direct, err = importsOf(main); err != nil {
			return nil, err
		}
	}
	return s, t.follow(s, s.direct)
}

// find says where modules are looked for. active is the virtual environment that is used if the
// folder has none.
func (t *Tool) find(s *state, active string) error {
	env, err := module.OpenEnvironment(project.Environment(t.Dir, active))
	if err != nil {
		return fault.Wrap(fault.Invalid, "read the environment", err)
	}
	s.finder = module.NewFinder(s.meta.Paths(), env)
	return nil
}

// follow finds the modules of some names, and those that they import.
func (t *Tool) follow(s *state, names []string) error {
	var wrong diag.Problems
	open, seen := slices.Clone(names), map[string]bool{}
	for _, m := range s.modules {
		seen[m.Name] = true
	}
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		if seen[name] || t.BuiltIn(name) && s.finder.Known(name) == nil && !t.onPath(s, name) {
			continue
		}
		seen[name] = true
		found, err := s.finder.Find(name)
		if err != nil {
			return err
		}
		wrong = append(wrong, found.Wrong...)
		if found.Module == nil {
			s.missing = append(s.missing, name)
			continue
		}
		s.modules = append(s.modules, found.Module)
		more, err := moduleImports(found.Module)
		if err != nil {
			return err
		}
		open = append(open, more...)
		if found.Module.Meta != nil {
			for _, r := range found.Module.Meta.Requires {
				if r.Module != "" && r.Holds(module.MarkerEnvironment()) {
					open = append(open, r.Module)
				}
			}
		}
	}
	return wrong.Err()
}

// onPath reports whether a module that is part of the program is on the modulepath all the same.
func (t *Tool) onPath(s *state, name string) bool {
	return slices.ContainsFunc(s.finder.Paths, func(p string) bool {
		_, err := os.Stat(filepath.Join(p, name, "model"))
		return err == nil
	})
}

// demands returns what the project and its modules ask.
func (s *state) demands() *module.Demands { return module.NewDemands(s.asked, s.modules) }

// run runs a program and returns what it wrote to standard output. Of a failure the error has what
// the program said, without passwords in addresses.
func run(
	ctx context.Context,
	dir string,
	env []string,
	name string,
	args ...string,
) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &limited{&said}
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", fault.Wrap(fault.Canceled, "run "+filepath.Base(name), ctx.Err())
	}
	if err == nil {
		return out.String(), nil
	}
	doing := strings.TrimSpace("run " + filepath.Base(name) + " " + first(args))
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return "", fault.Wrap(fault.Unavailable, doing, err)
	}
	text := strings.TrimSpace(hide(said.String()))
	if text == "" {
		text = strings.TrimSpace(hide(out.String()))
	}
	return out.String(), fault.New(fault.Unavailable, doing, "%s", last(text))
}

// first returns the first argument of a program, or the module of Python that is run.
func first(args []string) string {
	if len(args) > 1 && args[0] == "-m" {
		return "-m " + args[1]
	}
	return strings.Join(args[:min(1, len(args))], "")
}

// limited keeps the first MiB.
type limited struct{ *bytes.Buffer }

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if l.Len() < 1<<20 {
		l.Buffer.Write(b)
	}
	return len(b), nil
}

var credentials = pattern.Lazy(`(\w[\w+.-]*://)[^/\s@'"]*@`)

// hide takes passwords out of the addresses in a text.
func hide(text string) string { return credentials().ReplaceAllString(text, "$1") }

// last returns the last lines of a text.
func last(text string) string {
	const limit = 12
	lines := strings.Split(text, "\n")
	if len(lines) > limit {
		lines = lines[len(lines)-limit:]
	}
	return strings.Join(lines, "\n")
}

// writeNew writes a file that is not there yet, with its folders.
func writeNew(dir, name, text string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fault.Wrap(fault.Unavailable, "write "+path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fault.Wrap(fault.Conflict, "write "+path, err)
	}
	_, err = io.WriteString(f, text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return fault.Wrap(fault.Unavailable, "write "+path, err)
}

// replace writes a file whole, beside it first.
func replace(path string, text []byte) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temporary := fmt.Sprintf("%s.%d.new", path, os.Getpid())
	err := os.WriteFile(temporary, text, mode)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary) // the error is that of writing
		return fault.Wrap(fault.Unavailable, "write "+path, err)
	}
	return nil
}
