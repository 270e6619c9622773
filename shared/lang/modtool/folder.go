package modtool

import (
	"os"
	"path/filepath"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
	"southbound/shared/lang/project"
)

// folder is the working folder of the commands. It loads the project or module in it, and its
// modules.
type folder struct {
	dir     string
	warn    func(diag.Problems)
	builtIn func(name string) bool
}

// state is a project with the modules that it imports.
type state struct {
	meta    *metadata.Project
	asked   []metadata.Requirement // requirements of the project
	finder  *module.Finder
	modules []*module.Module // found modules, in the order of imports
	missing []string         // names of modules that were not found
	direct  []string         // imports of main.cf, or of the module in the folder
}

// isProject reports whether the folder is a project.
func (f folder) isProject() bool {
	return fileThere(filepath.Join(f.dir, metadata.ProjectFile)) ||
		fileThere(filepath.Join(f.dir, project.MainFile))
}

// open reads the project in the folder.
func (f folder) open() (*metadata.Project, error) {
	if !f.isProject() {
		return nil, fault.New(fault.Invalid, "open the project", "%s has neither %s nor %s",
			f.dir, metadata.ProjectFile, project.MainFile).
			WithHint("go into the folder of a project, or make one with `southbound project init`")
	}
	p, warnings, err := project.ReadFile(f.dir)
	f.warn(warnings)
	return p, err
}

// here returns the project in the folder; if the folder is a module, it returns the module, too.
func (f folder) here() (*state, *module.Module, error) {
	isModule := fileThere(filepath.Join(f.dir, metadata.FileV1)) ||
		fileThere(filepath.Join(f.dir, metadata.FileV2))
	if isModule && !f.isProject() {
		return f.alone()
	}
	meta, err := f.open()
	if err != nil {
		return nil, nil, err
	}
	s, err := f.load(meta)
	return s, nil, err
}

// alone returns the module in the folder, and the modules that it requires. It searches them where
// `module test` does, and next to the module.
func (f folder) alone() (*state, *module.Module, error) {
	m, warnings, err := module.Open(f.dir)
	f.warn(warnings)
	if err != nil {
		return nil, nil, err
	}
	meta, active := metadata.NoProject(f.dir), os.Getenv("VIRTUAL_ENV")
	meta.ModulePath = []string{".."}
	around, err := project.Around(f.dir)
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
	if err := f.find(s, active); err != nil {
		return nil, nil, err
	}
	direct := s.direct
	for _, r := range m.Meta.Requires {
		if r.Module != "" && r.Holds(module.MarkerEnvironment()) {
			direct = append(direct, r.Module)
		}
	}
	return s, m, f.follow(s, direct)
}

// load reads the project and follows its imports to all available modules.
func (f folder) load(meta *metadata.Project) (*state, error) {
	s := &state{meta: meta}
	var err error
	if s.asked, err = module.ProjectRequirements(meta); err != nil {
		return nil, err
	}
	if err := f.find(s, os.Getenv("VIRTUAL_ENV")); err != nil {
		return nil, err
	}
	main := filepath.Join(f.dir, project.MainFile)
	if _, err := os.Stat(main); err == nil {
		if s.direct, err = importsOf(main); err != nil {
			return nil, err
		}
	}
	return s, f.follow(s, s.direct)
}

// find sets up the search for modules. active is the virtual environment for a folder that has
// none.
func (f folder) find(s *state, active string) error {
	env, err := module.OpenEnvironment(project.Environment(f.dir, active))
	if err != nil {
		return fault.Wrap(fault.Invalid, "read the environment", err)
	}
	s.finder = module.NewFinder(s.meta.Paths(), env)
	return nil
}

// follow finds the named modules, and the modules that these import.
func (f folder) follow(s *state, names []string) error {
	var wrong diag.Problems
	open, seen := slices.Clone(names), map[string]bool{}
	for _, m := range s.modules {
		seen[m.Name] = true
	}
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		if seen[name] || f.builtIn(name) && s.finder.Known(name) == nil && !f.onPath(s, name) {
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

// onPath reports whether a built-in module is also on the modulepath and is used from there. std
// never is.
func (f folder) onPath(s *state, name string) bool {
	return name != "std" && slices.ContainsFunc(s.finder.Paths, func(p string) bool {
		_, err := os.Stat(filepath.Join(p, name, "model"))
		return err == nil
	})
}

// demands returns the requirements of the project and of its modules.
func (s *state) demands() *module.Demands { return module.NewDemands(s.asked, s.modules) }
