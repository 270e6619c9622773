// Package compile turns a model into deployable resources. It compiles the model, collects agents
// and resources, and reads them like documents, with the same checks.
package compile

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/entity"
	"southbound/shared/fault"
	"southbound/shared/internal/source"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/module"
	"southbound/shared/lang/project"
	"southbound/shared/lang/python"
	"southbound/shared/lang/resources"
	"southbound/shared/lang/std"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Options configure Model.
type Options struct {
	Path        string // a directory with a main.cf, or a .cf file
	NoStd       bool   // disable the implicit import of std
	Environment string // the name of the target environment
	Types       *schema.Registry
	Print       func(string) // receives the output of the model immediately; may be nil
	// VirtualEnv locates installed modules if the project has no environment of its own.
	VirtualEnv string
	// Beside are folders with modules, in addition to those of the project.
	Beside []string
	// Modules take precedence over all other modules of the same name.
	Modules []*module.Module
	// Host runs the Python code of modules, and stays open. If it is nil, Model starts one on
	// demand.
	Host *python.Host
	// Mapper maps entities to resources. If it is nil, only Southbound's own types and resource
	// classes of modules produce resources.
	Mapper *entity.Mapper
	// Services are the service instances for which the model is compiled; nil for none. Compilation
	// stores the model's data about them in Services.
	Services *lsm.Services
	// Passwords stores the passwords that the model generates; nil: in a file of the project.
	Passwords std.Passwords
	// Read receives the value of each environment variable that the model reads; it may be nil.
	Read func(value string)
	// Limits are the limits of the model; the zero value stands for the defaults.
	Limits eval.Limits
}

// Compiled is a compiled model.
type Compiled struct {
	*eval.Result
	Resources source.Built
	Warnings  diag.Problems
	Project   *project.Project // nil if it could not be loaded
	// Followed are the resources that service instances follow in addition to their own resources,
	// by instance id, sorted.
	Followed map[string][]resource.ID
	// FollowedPurged are the resources in Followed that the model purges.
	FollowedPurged map[string][]resource.ID

	code *code // of resources that Python classes have made; nil if there are none
}

// Model compiles a model. It returns errors in the model as diag.Problems. The result is not nil
// even on an error; it then holds the output.
func Model(ctx context.Context, o Options) (*Compiled, error) {
	out := &Compiled{Result: &eval.Result{}}
	builtIn := func(ns string) (string, bool) {
		if text, ok := lsm.Text(ns); ok {
			return text, true
		}
		return resources.Text(o.Types, ns)
	}
	importable := resources.Names(o.Types)
	early := &early{ctx: ctx, o: o}
	p, err := project.Load(o.Path, project.Options{
		Found: early.found,
		NoStd: o.NoStd, BuiltIn: builtIn, Namespaces: append(namespaces(importable),
			lsm.Namespaces()...),
		VirtualEnv: o.VirtualEnv, Beside: o.Beside, Modules: o.Modules,
		StdInPython: o.stdInPython(),
	})
	defer early.drop()
	if err != nil {
		return out, err
	}
	out.Project = p
	p.Env.Environment, p.Env.Later = o.Environment, resources.Facts(o.Mapper)
	p.Env.Passwords, p.Env.Read = o.Passwords, o.Read
	if o.Services != nil {
		p.Env.Ordered, p.Env.Holder = true, o.Services.Holder
	}
	program := eval.Program{
		Sources: p.Sources, Rules: p.Rules, Env: p.Env, Print: o.Print,
		Plugins: std.Plugins(), Importable: importable,
	}
	if program.Limits, err = limits(p.Meta, o.Limits); err != nil {
		return out, err
	}
	ours := func(s eval.Source) bool { return s.Namespace == resources.Namespace }
	if slices.ContainsFunc(p.Sources, ours) {
		program.Plugins = append(program.Plugins, resources.Plugins()...)
		program.Types = resources.Types()
	}
	if !hasModule(p, lsm.Namespace) {
		program.Plugins = append(program.Plugins, lsm.Plugins()...)
		p.Env.Services = cmp.Or(o.Services, lsm.NewServices(nil))
	}
	host, err := startPython(ctx, o, p, early, &program)
	if err != nil {
		return out, err
	}
	if host != nil && o.Host == nil {
		defer host.Close()
	}
	result, warnings, err := eval.Run(ctx, program)
	out.Result, out.Warnings = result, append(slices.Clone(p.Warnings), warnings...)
	if err != nil {
		return out, err
	}
	made := &python.Export{}
	if host != nil {
		if made, err = export(host, result); err != nil {
			return out, err
		}
		if o.Host == nil {
			host.Done()
		}
	}
	if err := resources.CheckMapped(o.Mapper, result.Entities, p.Sources); err != nil {
		return out, err
	}
	if err := out.collect(p.Dir, o, made); err != nil {
		return out, err
	}
	return out, out.deployable(o.Limits)
}

// hasModule reports whether a project has a module of a name, which takes precedence over a
// built-in one.
func hasModule(p *project.Project, name string) bool {
	return slices.ContainsFunc(p.Modules, func(m *module.Module) bool { return m.Name == name })
}

// namespaces returns the namespaces of full names.
func namespaces(names []string) []string {
	var out []string
	for _, name := range names {
		if i := strings.LastIndex(name, "::"); !slices.Contains(out, name[:i]) {
			out = append(out, name[:i])
		}
	}
	return out
}

// collect sets the agents and resources.
func (c *Compiled) collect(dir string, o Options, made *python.Export) error {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return fault.Wrap(fault.Invalid, "read the model", err)
	}
	var purges func(string) bool
	if o.Services != nil {
		purges = o.Services.Purges
	}
	set, err := resources.Collect(c.Result, resources.Options{
		Types: o.Types, Mapper: o.Mapper, Made: made.Resources, Ordered: o.Services != nil,
		Purges: purges,
		Path: func(path string) string {
			if rel, err := filepath.Rel(dir, path); err == nil {
				return filepath.ToSlash(rel)
			}
			return path
		},
	})
	if err != nil {
		return err
	}
	c.Warnings = append(c.Warnings, set.Warnings...)
	c.code = codeOf(set.Foreign, made)
	c.Resources.Dir, c.Resources.Files = dir, set.Files
	c.Followed, c.FollowedPurged = set.Followed, set.FollowedPurged
	for _, e := range set.Agents {
		c.Resources.Agents = append(c.Resources.Agents, entry(e))
	}
	for _, e := range set.Resources {
		c.Resources.Resources = append(c.Resources.Resources, entry(e))
	}
	return nil
}

func entry(e resources.Entry) source.Entry {
	return source.Entry{Name: e.Name, Members: e.Members, At: e.At, Places: e.Places}
}

// HasHandlers reports whether the resources include handlers in Python.
func (c *Compiled) HasHandlers() bool { return c.code != nil }

// Deployable returns the model to deploy. It uses Types, Agent and Check of the options. Resources
// that Python classes have made include the code of their handlers.
func (c *Compiled) Deployable(ctx context.Context, o source.Options) (*model.Model, error) {
	if c.code == nil {
		return source.LoadBuilt(ctx, c.Resources, o)
	}
	o.Types = o.Types.With(c.code.types...)
	if check := o.Check; check != nil {
		o.Check = func(m *model.Model) diag.Problems {
			c.code.add(m)
			return check(m)
		}
	}
	m, err := source.LoadBuilt(ctx, c.Resources, o)
	if err == nil {
		c.code.add(m)
	}
	return m, err
}
