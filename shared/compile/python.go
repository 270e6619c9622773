package compile

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/module"
	"southbound/shared/lang/project"
	"southbound/shared/lang/python"
)

// pythonMemory is the memory limit in bytes of the modules' Python code during a compilation. It
// includes all processes that the code starts.
const pythonMemory = 4 << 30

// early starts Python while a project is loaded, as soon as a module with Python code is found.
// Starting Python takes longer than loading the other texts.
type early struct {
	ctx   context.Context
	o     Options
	begun chan struct{} // closed when Start has returned; nil: not called
	host  *python.Host  // nil: the start failed, or take has returned the host
}

// found starts Python if a module needs it. It ignores errors, since startPython reports them later
// for all modules.
func (e *early) found(dir string, m *module.Module) {
	if e.begun != nil || e.o.Host != nil || len(e.o.Modules) > 0 || !m.HasCode() {
		return
	}
	start, err := options(e.o, dir)
	if err != nil || start.Python == "" {
		return
	}
	e.begun = make(chan struct{})
	go func() {
		defer close(e.begun)
		e.host, _ = python.Start(e.ctx, start)
	}()
}

// take waits for the start, and returns the host; nil if there is none.
func (e *early) take() *python.Host {
	if e.begun == nil {
		return nil
	}
	<-e.begun
	h := e.host
	e.host = nil
	return h
}

// drop kills a host that take has not returned.
func (e *early) drop() {
	if h := e.take(); h != nil {
		h.Drop()
	}
}

// options returns the options of Python for a project in a folder. Options.Python is "" if there is
// no usable Python.
func options(o Options, dir string) (start python.Options, err error) {
	start = python.Options{Shown: dir, Print: o.Print, Ask: lsm.Ask, Memory: pythonMemory}
	if start.Dir, err = filepath.Abs(dir); err != nil {
		return start, fault.Wrap(fault.Invalid, "find the project", err)
	}
	if path, wrong := python.Find(environment(o, dir)); wrong == "" {
		if start.Python, err = filepath.Abs(path); err != nil {
			return start, fault.Wrap(fault.Invalid, "find Python", err)
		}
	}
	return start, nil
}

// environment returns the virtual environment of a project in a folder, or its expected place.
func environment(o Options, dir string) string {
	return cmp.Or(project.Environment(dir, o.VirtualEnv), filepath.Join(dir, module.EnvDir))
}

// startPython starts Python for the modules of a project, unless it is running, and adds the
// plugins and dataclasses of their code to a program. It returns nil if no module has code.
func startPython(
	ctx context.Context, o Options, p *project.Project, begun *early, program *eval.Program,
) (*python.Host, error) {
	start, err := options(o, p.Dir)
	if err != nil {
		return nil, err
	}
	for _, m := range p.Modules {
		if !m.HasCode() {
			continue
		}
		dir, err := filepath.Abs(m.Dir)
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, "find the module "+m.Name, err)
		}
		if m.Generation == 2 && slices.Contains(o.Modules, m) {
			start.Path = append(start.Path, dir)
		}
		start.Modules = append(start.Modules, python.Module{
			Name: m.Name, Dir: dir, Legacy: m.Generation == 1,
		})
	}
	if len(start.Modules) == 0 {
		return nil, nil // there is no code
	}
	if start.Others, err = others(p, start.Modules); err != nil {
		return nil, err
	}
	if _, wrong := python.Find(environment(o, p.Dir)); wrong != "" {
		return nil, diag.Problems{noPython(o, p, start.Modules[0].Name, wrong)}
	}
	if o.Host != nil {
		o.Host.Use(start)
		return o.Host, load(o.Host, program, o.stdInPython())
	}
	h := begun.take()
	if h == nil {
		if h, err = python.Start(ctx, start); err != nil {
			return nil, err
		}
	}
	h.Use(start)
	if err := load(h, program, nil); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// others returns the modules of a project that are not in loaded, sorted by name.
func others(p *project.Project, loaded []python.Module) ([]python.Module, error) {
	var out []python.Module
	for _, name := range slices.Sorted(maps.Keys(p.Env.Modules)) {
		if slices.ContainsFunc(loaded, func(m python.Module) bool { return m.Name == name }) {
			continue
		}
		dir, err := filepath.Abs(p.Env.Modules[name])
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, "find the module "+name, err)
		}
		out = append(out, python.Module{Name: name, Dir: dir})
	}
	return out, nil
}

// stdInPython returns a function that reports whether a built-in plugin of std gives way to the
// installed one, which tests in Python need: all plugins if std is the module under test, else
// std::getfact, because the tests hold the facts.
func (o Options) stdInPython() func(plugin string) bool {
	if o.Host == nil {
		return nil
	}
	tested := slices.ContainsFunc(o.Modules, func(m *module.Module) bool { return m.Name == "std" })
	return func(plugin string) bool {
		return plugin == "std::getfact" || tested && strings.HasPrefix(plugin, "std::")
	}
}

// load adds the plugins and dataclasses of Python code to a program. Built-in plugins take
// precedence, unless instead selects the installed one; instead may be nil.
func load(h *python.Host, program *eval.Program, instead func(plugin string) bool) error {
	code, err := h.Load()
	if err != nil {
		return err
	}
	program.Dataclasses = code.Dataclasses
	own := map[string]int{}
	for i := range program.Plugins {
		own[program.Plugins[i].Name] = i
	}
	for _, q := range code.Plugins {
		i, builtIn := own[q.Name]
		switch {
		case !builtIn:
			program.Plugins = append(program.Plugins, q)
		case instead != nil && instead(q.Name):
			program.Plugins[i] = q
		} // other plugins of std are built in, even if modules import them
	}
	return nil
}

// noPython returns the problem of a module that needs Python if there is none.
func noPython(o Options, p *project.Project, name, wrong string) diag.Problem {
	hint := "install the packages of the project: southbound project install"
	if len(o.Modules) > 0 { // modules under test may have no project
		hint = "install the packages of the module: southbound module test --install"
	}
	return diag.Problem{
		Code: python.CodePython, Pos: diag.Pos{File: p.Env.Modules[name]},
		Message: "the module " + name + " has Python code, and " + wrong,
		Hint:    hint,
	}
}

// export runs the finalizers of modules, and makes resources with their resource classes.
func export(h *python.Host, r *eval.Result) (*python.Export, error) {
	if err := h.Finish(); err != nil {
		return nil, err
	}
	return h.Export(r)
}
