// Package compile makes what is deployed from a model: it compiles it, collects its agents and
// resources, and reads these as documents are read, with the same checks.
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
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/module"
	"southbound/shared/lang/project"
	"southbound/shared/lang/python"
	"southbound/shared/lang/resources"
	"southbound/shared/lang/std"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/source"
)

// Options say what to compile.
type Options struct {
	Path        string // a directory with a main.cf, or a .cf file
	NoStd       bool   // import nothing by itself
	Environment string // the name of the one that the model is compiled for
	Types       *schema.Registry
	Print       func(string) // gets what the model prints, at once; may be nil
	// VirtualEnv is where installed modules are if the project has no environment of its own.
	VirtualEnv string
	// Beside are folders with modules, besides those that the project names.
	Beside []string
	// Modules are used as they stand, whatever else is installed under their names.
	Modules []*module.Module
	// Host runs the Python code of modules, and stays open; nil: one is started if it is needed.
	Host *python.Host
	// Mapper makes resources of entities; nil: only Southbound's own types and classes of modules
	// do.
	Mapper *entity.Mapper
	// Services are the instances of services that the model is compiled for; nil for none. What the
	// model says of them is there afterwards.
	Services *lsm.Services
	// Passwords keeps the passwords that the model has made; nil: a file of the project does.
	Passwords std.Passwords
	// Limits bound what the model may take; the zero value: the defaults.
	Limits eval.Limits
}

// Compiled is a model that was compiled.
type Compiled struct {
	*eval.Result
	Resources source.Built
	Warnings  diag.Problems
	Project   *project.Project // nil if it could not be read
	// Followed are the resources that instances of services follow besides their own, by the ids of
	// the instances, sorted.
	Followed map[string][]resource.ID
	// FollowedPurged are those of Followed that the model purges.
	FollowedPurged map[string][]resource.ID

	code *code // of resources that classes in Python have made; nil if there are none
}

// Model compiles a model. What is wrong with it are diag.Problems; the result is not nil then, and
// has what was printed.
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
	})
	defer early.drop()
	if err != nil {
		return out, err
	}
	out.Project = p
	p.Env.Environment, p.Env.Later = o.Environment, resources.Facts(o.Mapper)
	p.Env.Passwords = o.Passwords
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

// hasModule reports whether a project has a module of a name, which goes before one that is part of
// the program.
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

// collect fills in the agents and resources.
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

// HasHandlers reports whether what is deployed comes with handlers in Python.
func (c *Compiled) HasHandlers() bool { return c.code != nil }

// Deployable returns what is deployed. It takes Types, Agent and Check of the options. Resources
// that classes in Python have made come with the code of their handlers.
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
