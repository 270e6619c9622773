// Package project finds the texts of a model: main.cf and the modules that it imports.
package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
	"southbound/shared/lang/std"
	"southbound/shared/lang/syntax"
)

// MainFile is the name of a model's main file.
const MainFile = "main.cf"

// Options configure Load.
type Options struct {
	NoStd bool // disable the implicit import of std
	// BuiltIn returns the text of a built-in namespace, and whether it exists. A module of the same
	// name takes precedence. BuiltIn may be nil.
	BuiltIn func(namespace string) (text string, ok bool)
	// Namespaces are the namespaces of BuiltIn, for hints.
	Namespaces []string
	// VirtualEnv locates installed modules if the project has no environment of its own.
	VirtualEnv string
	// Beside are folders with modules V1, in addition to those in project.yml.
	Beside []string
	// Modules take precedence over all other modules of the same name.
	Modules []*module.Module
	// StdInPython reports whether the Python code of the installed std serves a plugin that is also
	// built in, by the full name of the plugin. If StdInPython is nil, it serves none.
	StdInPython func(plugin string) bool
	// Found is called with the folder of the project and each used module that is not built in, as
	// soon as the module is found. It may be nil.
	Found func(dir string, m *module.Module)
	Editor
}

// Project is a model with its modules.
type Project struct {
	Dir      string
	Main     string // the path of the main file
	Sources  []eval.Source
	Rules    []eval.Rule
	Warnings diag.Problems
	// Meta is the parsed project.yml; the defaults if there is none.
	Meta *metadata.Project
	// Modules are the imported modules that are not built in, in the order of Sources.
	Modules []*module.Module
	// Std is the module std that the model uses; the zero value if it uses none.
	Std Std
	// Env is the environment of the plugins of std.
	Env *std.Env
}

// Is reports whether a path is a model: a .cf file, or a directory with a main.cf.
func Is(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return filepath.Ext(path) == ".cf"
	}
	_, err = os.Lstat(filepath.Join(path, MainFile))
	return err == nil
}

// Load reads the model at a path: a .cf file, or a directory with a main.cf. It returns errors in
// the texts as diag.Problems.
func Load(path string, o Options) (*Project, error) {
	main, err := o.mainFile(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(main)
	l := &loader{
		project: &Project{
			Dir: dir, Main: main, Env: std.NewEnv(dir, map[string]string{}),
		},
		options: o, done: map[string]bool{}, told: map[string]bool{}, crossed: map[[2]string]bool{},
	}
	if err := l.settings(); err != nil {
		return nil, err
	}
	f, err := l.main(main)
	if err != nil {
		return nil, err
	}
	l.project.Sources = append(
		l.project.Sources,
		eval.Source{Namespace: eval.Main, Path: main, File: f},
	)
	l.imports(main, f, "")
	if err := l.follow(); err != nil {
		return nil, err
	}
	if l.std == nil && len(l.sources["std"]) > 0 {
		l.project.Std.Version = std.Version
	}
	l.check()
	if l.needsStdCode() {
		l.project.Modules = append(l.project.Modules, l.std)
	}
	return l.project, l.problems.Err()
}

// loader reads texts by following imports.
type loader struct {
	project  *Project
	options  Options
	finder   *module.Finder
	open     []imported
	done     map[string]bool    // namespaces that were loaded
	told     map[string]bool    // modules whose problems were recorded
	crossed  map[[2]string]bool // recorded imports of modules V1 by modules V2
	modules  []string           // in the order in which they were found
	sources  map[string][]eval.Source
	nowhere  []imported // missing modules, each at its first import
	problems diag.Problems
	std      *module.Module // std in the environment; nil if there is none
}

// imported is an import that has not been followed.
type imported struct {
	name string
	at   diag.Pos
	by   string // the importing module; "" for the main file
}

// read reads and parses a file. It records the problems of the text.
func (l *loader) read(path string) (*syntax.File, error) {
	if text, ok := l.options.text(path); ok {
		return l.parse(path, text), nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case info.IsDir():
		return nil, fault.New(fault.Invalid, "read the model", "%s is a directory", path).
			WithHint(whatToName)
	case info.Size() > syntax.MaxText:
		l.problems.Add(diag.Problem{
			Pos: diag.Pos{File: path, Line: 1, Column: 1}, Code: syntax.CodeTooLarge,
			Message: "the file is too large for a model", Hint: "divide it into several files",
		})
		return &syntax.File{Tokens: []syntax.Token{{Kind: syntax.EOF}}}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return l.parse(path, string(text)), nil
}

// whatToName is the hint about valid paths of models.
const whatToName = "name a directory with a " + MainFile + ", or a .cf file; " +
	"`southbound project init` makes a project"

// unreadable returns the error for a file that cannot be read.
func unreadable(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Invalid, "read the model", "there is no %s", path).
			WithHint(whatToName)
	}
	return fault.Wrap(fault.Invalid, "read the model", err)
}

func (l *loader) parse(path, text string) *syntax.File {
	f, problems := l.options.parse(path, text)
	at := func(p syntax.Pos) diag.Pos {
		return diag.Pos{File: path, Line: int(p.Line), Column: int(p.Column)}
	}
	for _, p := range problems {
		q := diag.Problem{Pos: at(p.Pos), Code: p.Code, Message: p.Message, Hint: p.Hint}
		for _, r := range p.Related {
			q.Related = append(q.Related, diag.Related{Pos: at(r.Pos), Message: r.Message})
		}
		if p.Warning {
			l.project.Warnings.Add(q)
		} else {
			l.problems.Add(q)
		}
	}
	return f
}

// imports records the imports of a text of a module.
func (l *loader) imports(path string, f *syntax.File, by string) {
	if by != "std" && !l.options.NoStd {
		l.open = append(l.open, imported{name: "std"})
	}
	for _, st := range f.Body {
		if i, ok := st.(*syntax.Import); ok {
			p := f.Pos(i)
			l.open = append(
				l.open,
				imported{
					i.Module.Text,
					diag.Pos{File: path, Line: int(p.Line), Column: int(p.Column)},
					by,
				},
			)
		}
	}
}

// follow reads all imported texts, the last import first, and groups them by module.
func (l *loader) follow() error {
	l.sources = map[string][]eval.Source{}
	for len(l.open) > 0 {
		i := l.open[len(l.open)-1]
		l.open = l.open[:len(l.open)-1]
		parts := strings.Split(i.name, "::")
		l.earlier(parts[0], i.at)
		if l.done[i.name] {
			continue
		}
		for n := 1; n <= len(parts); n++ {
			if name := strings.Join(parts[:n], "::"); !l.done[name] {
				l.done[name] = true
				if err := l.load(name, parts[:n], i); err != nil {
					return err
				}
			}
		}
	}
	for _, i := range l.nowhere {
		l.problems.Add(diag.Problem{
			Pos: i.at, Code: eval.CodeImport, Message: "there is no module " + i.name,
			Hint: l.whereModulesAre(i.name),
		})
	}
	for _, m := range l.modules {
		l.project.Sources = append(l.project.Sources, l.sources[m]...)
	}
	return nil
}

// load reads the text of a namespace.
func (l *loader) load(name string, parts []string, by imported) error {
	m, known, err := l.module(parts[0])
	if err != nil || !known {
		return err
	}
	l.generations(m, by)
	path, f, err := l.find(m, parts)
	if err != nil {
		return err
	}
	if f == nil {
		l.missing(name, parts, by, m)
		return nil
	}
	if l.sources[parts[0]] == nil {
		l.modules = append(l.modules, parts[0])
	}
	l.sources[parts[0]] = append(
		l.sources[parts[0]],
		eval.Source{Namespace: name, Path: path, File: f},
	)
	l.imports(path, f, parts[0])
	return nil
}

// earlier moves the report of a missing module to its first import in a file.
func (l *loader) earlier(name string, at diag.Pos) {
	for n := range l.nowhere {
		if i := &l.nowhere[n]; i.name == name && i.at.File == at.File && at.Line < i.at.Line {
			i.at = at
		}
	}
}

// whereModulesAre returns a hint with the places where a missing module was searched for.
func (l *loader) whereModulesAre(name string) string {
	hint := "modules are looked for in " + strings.Join(l.finder.Paths, ", ")
	if l.finder.Env.Dir != "" {
		hint += " and installed in " + l.finder.Env.Dir
	}
	if near := eval.DidYouMean(name, l.names()); near != "" {
		return near + " " + hint
	}
	if len(l.project.Meta.Repos) > 0 || l.project.Meta.Pip.Index != "" {
		hint += "; run `southbound project install` to fetch missing modules"
	}
	return hint
}

// missing records that a namespace has no text. It ignores the parts of a missing module.
func (l *loader) missing(name string, parts []string, by imported, m *module.Module) {
	if m == nil && l.sources[parts[0]] == nil {
		if len(parts) == 1 {
			l.nowhere = append(l.nowhere, by)
			l.nowhere[len(l.nowhere)-1].name = name
		}
		return
	}
	hint := "the module " + parts[0] + " has neither model/" + strings.Join(parts[1:], "/") +
		".cf nor such a directory with an _init.cf"
	if len(parts) == 1 {
		hint = l.whereModulesAre(name)
	}
	if m == nil {
		hint = "the module " + parts[0] + " is part of the program, and has no such part"
	}
	message := "there is no module " + name
	if m != nil && len(parts) == 1 {
		message = "the module " + name + " in " + m.Dir + " has no model/_init.cf"
		hint = "write one; it may be empty"
	}
	l.problems.Add(diag.Problem{
		Pos: by.at, Code: eval.CodeImport, Message: message, Hint: hint,
	})
}

// names returns all available modules and built-in namespaces.
func (l *loader) names() []string {
	return slices.Concat([]string{"std"}, l.options.Namespaces, l.finder.Names())
}

// find finds and reads the text of a namespace; nil if there is none.
func (l *loader) find(m *module.Module, parts []string) (string, *syntax.File, error) {
	if m != nil {
		path := m.Model(parts[1:])
		if path == "" {
			return "", nil, nil
		}
		f, err := l.read(path)
		return path, f, err
	}
	if parts[0] == "std" {
		return l.builtIn(parts)
	}
	if l.options.BuiltIn != nil {
		if text, ok := l.options.BuiltIn(strings.Join(parts, "::")); ok {
			path := strings.Join(parts, "/") + ".cf"
			return path, l.parse(path, text), nil
		}
	}
	return "", nil, nil
}

// builtIn reads a text of the built-in module std.
func (l *loader) builtIn(parts []string) (string, *syntax.File, error) {
	name := "model/_init.cf"
	if len(parts) > 1 {
		name = "model/" + strings.Join(parts[1:], "/") + ".cf"
	}
	text, err := std.Model.ReadFile(name)
	if err != nil {
		return "", nil, nil // the namespace does not exist
	}
	path := "std/" + name
	return path, l.parse(path, string(text)), nil
}
