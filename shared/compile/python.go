package compile

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/module"
	"southbound/shared/lang/project"
	"southbound/shared/lang/python"
)

// pythonMemory is how many bytes the Python code of modules may hold while a model is compiled,
// with all processes that it starts.
const pythonMemory = 4 << 30

// early starts Python while a project is read, as soon as one of its modules has code: to start it
// takes longer than to read the rest.
type early struct {
	ctx   context.Context
	o     Options
	begun chan struct{} // closed when it was started, or could not be; nil: nothing has begun
	host  *python.Host  // nil: it could not be started, or belongs to somebody else by now
}

// found begins when a module was found that needs it. What is wrong is said when Python is started
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

// take returns what was started; nil if nothing was.
func (e *early) take() *python.Host {
	if e.begun == nil {
		return nil
	}
	<-e.begun
	h := e.host
	e.host = nil
	return h
}

// drop ends what was started and not taken.
func (e *early) drop() {
	if h := e.take(); h != nil {
		h.Drop()
	}
}

// options returns how Python is started for a project in a folder. They have no Python if there is
// none that could be.
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

// environment returns the virtual environment of a project in a folder, or where it should be.
func environment(o Options, dir string) string {
	return cmp.Or(project.Environment(dir, o.VirtualEnv), filepath.Join(dir, module.EnvDir))
}

// startPython starts the Python code of the modules of a project, unless that was done, and adds
// what they have to a program. It returns nil if there is none: then no Python is needed.
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
	if _, wrong := python.Find(environment(o, p.Dir)); wrong != "" {
		return nil, diag.Problems{noPython(o, p, start.Modules[0].Name, wrong)}
	}
	if o.Host != nil {
		o.Host.Use(start)
		return o.Host, load(o.Host, program)
	}
	h := begun.take()
	if h == nil {
		if h, err = python.Start(ctx, start); err != nil {
			return nil, err
		}
	}
	h.Use(start)
	if err := load(h, program); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// load adds what modules have in Python to a program.
func load(h *python.Host, program *eval.Program) error {
	code, err := h.Load()
	if err != nil {
		return err
	}
	program.Dataclasses = code.Dataclasses
	own := map[string]bool{}
	for i := range program.Plugins {
		own[program.Plugins[i].Name] = true
	}
	for _, q := range code.Plugins {
		if !own[q.Name] { // those of std are ours, though other modules may import them
			program.Plugins = append(program.Plugins, q)
		}
	}
	return nil
}

// noPython says that there is no Python for a module that needs it.
func noPython(o Options, p *project.Project, name, wrong string) diag.Problem {
	hint := "install what the project needs: southbound project install"
	if len(o.Modules) > 0 { // they are tested as they stand, and there may be no project
		hint = "install what the module needs: southbound module test --install"
	}
	return diag.Problem{
		Code: python.CodePython, Pos: diag.Pos{File: p.Env.Modules[name]},
		Message: "the module " + name + " has Python code, and " + wrong,
		Hint:    hint,
	}
}

// export runs the finalizers of modules, and makes resources with their classes.
func export(h *python.Host, r *eval.Result) (*python.Export, error) {
	if err := h.Finish(); err != nil {
		return nil, err
	}
	return h.Export(r)
}
