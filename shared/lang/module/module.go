// Package module finds the modules of a project, and checks their requirements on each other.
// Modules of the first generation (V1) are on the modulepath, those of the second (V2) in the
// virtual environment.
package module

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/pep440"
)

// Module is a module that was found.
type Module struct {
	Name       string
	Dir        string // with model, files and templates
	Generation int    // 1 or 2
	Editable   bool   // Dir holds its sources; always true for V1
	BuiltIn    bool   // it is part of the program, and has no Dir
	Code       string // the folder of its Python code, which may be missing
	// Meta is its metadata; nil if it has no module.yml, which is optional for V1.
	Meta *metadata.Module
}

// Version returns the version; the zero value if it is unknown.
func (m *Module) Version() pep440.Version {
	if m.Meta == nil {
		return pep440.Version{}
	}
	return m.Meta.Version
}

// HasCode reports whether the module has Python code: a file that is not empty.
func (m *Module) HasCode() bool {
	found := false
	_ = filepath.WalkDir(m.Code, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".py" {
			info, err := d.Info()
			if found = err != nil || info.Size() > 0; found {
				return fs.SkipAll
			}
		}
		return nil
	})
	return found
}

// Finder finds modules by name, and caches the results.
type Finder struct {
	Paths []string // of modules V1
	Env   *Environment
	// Given are modules that take precedence over all others of the same name.
	Given []*Module
	found map[string]*Found
}

// Found is the result of a search: no module, a module, or the problems of an unusable one.
type Found struct {
	Module   *Module
	Warnings diag.Problems
	Wrong    diag.Problems
}

// NewFinder returns a finder for a modulepath and an environment.
func NewFinder(paths []string, env *Environment) *Finder {
	return &Finder{Paths: paths, Env: env, found: map[string]*Found{}}
}

// Find finds a module. The module is nil if there is none, or if it is unusable.
func (f *Finder) Find(name string) (*Found, error) {
	if out := f.found[name]; out != nil {
		return out, nil
	}
	out := &Found{}
	f.found[name] = out
	for _, m := range f.Given {
		if m.Name == name {
			out.Module = m
			return out, nil
		}
	}
	if !metadata.IsModuleName(name) {
		return out, nil
	}
	if err := f.second(name, out); err != nil {
		return nil, err
	}
	err := f.first(name, out)
	return out, err
}

// Known returns a module that Find has found; nil otherwise.
func (f *Finder) Known(name string) *Module {
	if out := f.found[name]; out != nil {
		return out.Module
	}
	return nil
}

// second searches for a module V2.
func (f *Finder) second(name string, out *Found) error {
	at := f.Env.find(name)
	for i, dir := range at {
		if i > 0 {
			out.warn(dir, "remove one of them, with pip uninstall "+metadata.PackageOf(name),
				"the module %s is installed twice: %s is used, %s is not", name, at[0], dir)
			break
		}
		m, err := openV2(name, dir, out)
		if err != nil {
			return err
		}
		out.Module = m
	}
	return nil
}

func (o *Found) warn(file, hint, format string, args ...any) {
	o.Warnings.Add(diag.Problem{Pos: diag.Pos{File: file}, Code: metadata.CodeModule,
		Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (o *Found) wrong(file, hint, format string, args ...any) {
	o.Wrong.Add(diag.Problem{Pos: diag.Pos{File: file}, Code: metadata.CodeModule,
		Message: fmt.Sprintf(format, args...), Hint: hint})
}

// openV2 opens a module by the folder of its package. For an editable install, that folder is in
// the sources.
func openV2(name, code string, out *Found) (*Module, error) {
	code, err := filepath.EvalSymlinks(code)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "find the module "+name, err)
	}
	if init, err := filepath.EvalSymlinks(filepath.Join(code, "__init__.py")); err == nil {
		code = filepath.Dir(init) // a tree of links, as in strict editable installs
	}
	m := &Module{Name: name, Dir: code, Generation: 2, Code: code}
	if !exists(filepath.Join(code, metadata.FileV2)) {
		m.Dir, m.Editable = filepath.Dir(filepath.Dir(code)), true
	}
	file := filepath.Join(m.Dir, metadata.FileV2)
	if !exists(file) {
		out.wrong(code, "build it with `southbound module build` and install the wheel in dist, "+
			"or install its folder with `southbound module install -e PATH`",
			"the module %s is installed without its %s", name, metadata.FileV2)
		return nil, nil
	}
	return m, m.read(file, metadata.ReadModuleV2, out)
}

// first searches for a module V1.
func (f *Finder) first(name string, out *Found) error {
	before := out.Module
	for _, path := range f.Paths {
		dir := filepath.Join(path, name)
		if info, err := os.Stat(filepath.Join(dir, "model")); err != nil || !info.IsDir() {
			continue
		}
		switch {
		case before != nil && before.Generation == 2:
			if !sameFile(dir, before.Dir) {
				out.warn(
					dir,
					"remove one of them",
					"the module %s is installed as a "+
						"package (V2), which is used; the one on the modulepath is not",
					name,
				)
			}
			return nil
		case before != nil:
			out.warn(
				dir,
				"remove one of them",
				"the module %s is in %s, which is used, and in %s",
				name,
				before.Dir,
				dir,
			)
			return nil
		case out.Wrong != nil:
			return nil
		}
		m, err := openV1(name, dir, out)
		if err != nil {
			return err
		}
		out.Module, before = m, m
	}
	return nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// openV1 opens a module in a folder of the modulepath.
func openV1(name, dir string, out *Found) (*Module, error) {
	m := &Module{
		Name:       name,
		Dir:        dir,
		Generation: 1,
		Editable:   true,
		Code:       filepath.Join(dir, "plugins"),
	}
	file := filepath.Join(dir, metadata.FileV1)
	if !exists(file) {
		if exists(filepath.Join(dir, metadata.FileV2)) {
			out.wrong(
				filepath.Join(dir, metadata.FileV2),
				"install it with `southbound module install -e "+
					dir+"`",
				"%s is a module V2, which is not found on the modulepath",
				name,
			)
			return nil, nil
		}
		return m, nil
	}
	err := m.read(file, metadata.ReadModuleV1, out)
	if m.Meta != nil && m.Meta.Name != name {
		out.warn(file, "name both alike", "the module is %s by its file and %s by its folder",
			m.Meta.Name, name)
	}
	return m, err
}

// Open opens the module in a folder: V1 if it has a module.yml, else V2 by its setup.cfg.
func Open(dir string) (*Module, diag.Problems, error) {
	out := &Found{}
	m := &Module{Dir: dir, Editable: true}
	var err error
	switch v2 := filepath.Join(dir, metadata.FileV2); {
	case exists(v2) && !exists(filepath.Join(dir, metadata.FileV1)):
		m.Generation = 2
		err = m.read(v2, metadata.ReadModuleV2, out)
	case exists(filepath.Join(dir, metadata.FileV1)):
		m.Generation = 1
		err = m.read(filepath.Join(dir, metadata.FileV1), metadata.ReadModuleV1, out)
	default:
		return nil, nil, fault.New(fault.Invalid, "open the module", "%s has neither %s nor %s",
			dir, metadata.FileV2, metadata.FileV1).WithHint(
			"go into the folder of a module, or make one with `southbound module create NAME`")
	}
	if err == nil {
		err = out.Wrong.Err()
	}
	if err != nil {
		return nil, out.Warnings, err
	}
	m.Name = m.Meta.Name
	m.Code = filepath.Join(dir, "plugins")
	if m.Generation == 2 {
		m.Code = filepath.Join(dir, PluginsPackage, m.Name)
	}
	return m, out.Warnings, nil
}

// read reads the metadata of the module, and for V1 its requirements.txt.
func (m *Module) read(
	file string, parse func(string, []byte) (*metadata.Module, diag.Problems, error), out *Found,
) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fault.Wrap(fault.Invalid, "read the module", err)
	}
	meta, warnings, err := parse(file, text)
	out.Warnings = append(out.Warnings, warnings...)
	if err != nil {
		problems, _ := diag.Of(err)
		out.Wrong = append(out.Wrong, problems...)
		return nil
	}
	m.Meta = meta
	if meta.Deprecated {
		out.warn(file, "", "the module %s is deprecated", meta.Name)
	}
	if m.Generation == 1 {
		more, options, err := requirements(filepath.Dir(file), out)
		for _, o := range options {
			out.Warnings.Add(diag.Problem{
				Pos: o.At, Code: metadata.CodeModule,
				Message: cmp.Or(o.Name, "a path") +
					" is read in the requirements.txt of a project only",
				Hint: "write it there, or name the package",
			})
		}
		meta.Requires = append(meta.Requires, more...)
		return err
	}
	return nil
}

// requirements reads the requirements.txt of a folder, if there is one.
func requirements(
	dir string, out *Found,
) ([]metadata.Requirement, []metadata.PipOption, error) {
	file := filepath.Join(dir, metadata.RequirementsFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fault.Wrap(fault.Invalid, "read the requirements", err)
	}
	reqs, options, err := metadata.Requirements(file, text)
	problems, _ := diag.Of(err)
	out.Wrong = append(out.Wrong, problems...)
	return reqs, options, nil
}

// ProjectRequirements returns the requirements of a project: requires in project.yml, and its
// requirements.txt. Syntax errors in the file are returned as an error.
func ProjectRequirements(p *metadata.Project) ([]metadata.Requirement, error) {
	out := &Found{}
	more, _, err := requirements(filepath.Dir(p.File), out)
	if err == nil {
		err = out.Wrong.Err()
	}
	return slices.Concat(p.Requires, more), err
}

// ProjectOptions returns the pip options in the requirements.txt of a project.
func ProjectOptions(p *metadata.Project) ([]metadata.PipOption, error) {
	_, options, err := requirements(filepath.Dir(p.File), &Found{})
	return options, err
}

// Names returns the names of all available modules.
func (f *Finder) Names() []string {
	out := f.Env.Names()
	for _, p := range f.Paths {
		for _, name := range folders(p) {
			if exists(filepath.Join(p, name, "model")) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Model returns the file of a namespace in the module. parts are the names after that of the
// module. It returns "" if there is no such file.
func (m *Module) Model(parts []string) string {
	rest := filepath.Join(append([]string{m.Dir, "model"}, parts...)...)
	for _, path := range []string{filepath.Join(rest, "_init.cf"), rest + ".cf"} {
		if info, err := os.Stat(path); err == nil && !info.IsDir() &&
			filepath.IsLocal(strings.Join(parts, "/")+"x") {
			return path
		}
	}
	return ""
}
