package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
)

// settings reads project.yml, if there is one, and sets up the search for modules.
func (l *loader) settings() error {
	dir, env := l.project.Dir, ""
	l.project.Meta = metadata.NoProject(dir)
	if l.options.ModulePath == nil {
		env = Environment(dir, l.options.VirtualEnv)
		meta, warnings, err := ReadFile(dir)
		if err != nil {
			return err
		}
		l.project.Meta = meta
		l.project.Warnings = append(l.project.Warnings, warnings...)
	}
	for _, r := range l.project.Meta.Policy {
		l.project.Rules = append(l.project.Rules, eval.Rule{
			FirstEntity: r.FirstEntity, First: r.First, ThenEntity: r.ThenEntity, Then: r.Then,
			At: r.At,
		})
	}
	packages, err := module.OpenEnvironment(env)
	if err != nil {
		return fault.Wrap(fault.Invalid, "read the environment "+env, err)
	}
	paths := l.options.ModulePath
	if paths == nil {
		paths = l.project.Meta.Paths()
	}
	paths = slices.Concat(paths, l.options.Beside)
	l.finder = module.NewFinder(paths, packages)
	l.finder.Given = l.options.Modules
	return nil
}

// ReadFile parses the project.yml of a folder. Without such a file it returns the defaults.
func ReadFile(dir string) (*metadata.Project, diag.Problems, error) {
	file := filepath.Join(dir, metadata.ProjectFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return metadata.NoProject(dir), nil, nil
	}
	if err != nil {
		return nil, nil, fault.Wrap(fault.Invalid, "read "+file, err)
	}
	return metadata.ReadProject(file, text)
}

// Environment returns the folder of the virtual environment of a project: its own, else the active
// one; "" if there is none.
func Environment(dir, active string) string {
	own := filepath.Join(dir, module.EnvDir)
	if info, err := os.Stat(own); err == nil && info.IsDir() {
		return own
	}
	return active
}

// Around returns the folder of the project that contains a folder; "" if there is none.
func Around(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, metadata.ProjectFile)); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return "", err
}

// module finds a module, and records its problems and warnings once. m is nil if the module is part
// of the program or missing. known is false if the module exists but is unusable. The std of the
// virtual environment takes precedence over the built-in one.
func (l *loader) module(name string) (m *module.Module, known bool, err error) {
	found, err := l.finder.Find(name)
	if err != nil {
		return nil, false, err
	}
	m = found.Module
	if name == "std" && m != nil && m.Generation == 1 {
		l.unusedStd(m)
		return nil, true, nil
	}
	if !l.told[name] {
		l.told[name] = true
		l.problems = append(l.problems, found.Wrong...)
		l.project.Warnings = append(l.project.Warnings, found.Warnings...)
		switch {
		case m == nil || found.Wrong != nil:
		case name == "std":
			l.installedStd(m)
		default:
			l.project.Env.Modules[name] = m.Dir
			l.project.Modules = append(l.project.Modules, m)
			if l.options.Found != nil {
				l.options.Found(l.project.Dir, m)
			}
		}
	}
	return m, found.Wrong == nil, nil
}

// unusedStd warns of a std on the modulepath, which is not used.
func (l *loader) unusedStd(m *module.Module) {
	if !l.told["std"] {
		l.told["std"] = true
		l.project.Warnings.Add(diag.Problem{
			Pos: diag.Pos{File: m.Dir}, Code: metadata.CodeModule,
			Message: "the module std is part of the program, and the one on the modulepath is " +
				"not used",
			Hint: "remove it, or give it another name",
		})
	}
}

// generations rejects an import of a module V1 by a module V2.
func (l *loader) generations(m *module.Module, i imported) {
	if m == nil || m.Generation == 2 || i.by == "" || i.by == m.Name {
		return
	}
	cross := [2]string{i.by, m.Name}
	if by := l.finder.Known(i.by); by != nil && by.Generation == 2 && !l.crossed[cross] {
		l.crossed[cross] = true
		l.problems.Add(diag.Problem{
			Pos: i.at, Code: metadata.CodeRequires,
			Message: i.by + " is a module V2, and " + m.Name + ", which it imports, is one V1",
			Hint: "install " + metadata.PackageOf(m.Name) +
				", or convert the module with southbound module v1tov2",
		})
	}
}

// check checks the requirements of the project and its modules on each other.
func (l *loader) check() {
	if l.options.ModulePath != nil {
		return
	}
	asked, err := module.ProjectRequirements(l.project.Meta)
	if err != nil {
		problems, _ := diag.Of(err)
		l.problems = append(l.problems, problems...)
		return
	}
	modules := l.project.Modules
	if l.std == nil && len(l.sources["std"]) > 0 {
		modules = append(slices.Clone(modules), builtInStd())
	} else if l.std != nil && !slices.Contains(modules, l.std) {
		modules = append(slices.Clone(modules), l.std)
	}
	d := module.NewDemands(asked, modules)
	wrong, warnings := d.Check(l.project.Meta.StrictDeps)
	l.problems = append(l.problems, wrong...)
	l.project.Warnings = append(l.project.Warnings, warnings...)
}
