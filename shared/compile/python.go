package compile

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/module"
	"southbound/shared/lang/project"
	"southbound/shared/lang/python"
)

// pythonMemory is how many bytes the Python code of modules may hold while a model is compiled,
// with all processes that it starts.
const pythonMemory = 4 << 30

// startPython starts the Python code of the modules of a project, and adds what they have to a
// program. It returns nil if there is none: then no Python is needed.
func startPython(
	ctx context.Context, o Options, p *project.Project, program *eval.Program,
) (*python.Host, error) {
	start := python.Options{Shown: p.Dir, Print: o.Print, Memory: pythonMemory}
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
	env := cmp.Or(project.Environment(p.Dir, o.VirtualEnv), filepath.Join(p.Dir, module.EnvDir))
	path, wrong := python.Find(env)
	if wrong != "" {
		return nil, diag.Problems{noPython(o, p, start.Modules[0].Name, wrong)}
	}
	var err error
	if o.Host != nil {
		if start.Dir, err = filepath.Abs(p.Dir); err == nil {
			o.Host.Use(start)
			err = load(o.Host, program)
		}
		return o.Host, err
	}
	if start.Python, err = filepath.Abs(path); err != nil {
		return nil, fault.Wrap(fault.Invalid, "find Python", err)
	}
	if start.Dir, err = filepath.Abs(p.Dir); err != nil {
		return nil, fault.Wrap(fault.Invalid, "find the project", err)
	}
	h, err := python.Start(ctx, start)
	if err != nil {
		return nil, err
	}
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
