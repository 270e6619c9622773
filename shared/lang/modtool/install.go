package modtool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
	"southbound/shared/lang/pep508"
	"southbound/shared/lang/project"
)

// InstallOptions configure Install.
type InstallOptions struct {
	Update   bool // also update present modules to the best version
	NoPython bool // install modules V2 without Python packages; their Python code cannot run then
	// StrictDeps overrides strict_deps_check of the project, unless it is nil.
	StrictDeps *bool
}

func oneProblem(p diag.Problem) error { return diag.Problems{p}.Err() }

// Install installs the requirements of the project: packages by pip or from wheels, modules by git.
func (t *Tool) Install(ctx context.Context, o InstallOptions) error {
	meta, err := t.folder().open()
	if err != nil {
		return err
	}
	if o.StrictDeps != nil {
		meta.StrictDeps = *o.StrictDeps
	}
	lock, err := lockFolder(ctx, t.Dir, t.Say)
	if err != nil {
		return err
	}
	defer lock.Close()
	i := &installer{
		pipTool: &pipTool{Tool: t, meta: meta, update: o.Update}, o: o,
		wanted: map[string]bool{}, looked: map[string]bool{}, moved: map[string]bool{},
		put: map[string]string{}, clones: clones{meta: meta, say: t.Say, warn: t.Warn},
	}
	if env := filepath.Join(t.Dir, module.EnvDir); fileThere(env) {
		if hasPython(env) && !o.NoPython {
			if err := environmentAt(env, nil, t).supported(ctx); err != nil {
				return err
			}
		}
		release, err := i.hold(ctx, env)
		if err != nil {
			return err
		}
		defer release()
		if err := mend(env); err != nil {
			return fault.Wrap(fault.Unavailable, "mend the environment", err)
		}
	}
	i.library = i.hasLibrary(ctx)
	if err = i.rounds(ctx); err == nil {
		return nil
	}
	if left := i.clones.undo(context.WithoutCancel(ctx)); left != nil {
		return errors.Join(err, left)
	}
	return err
}

// rounds installs missing modules and packages until none is missing.
func (i *installer) rounds(ctx context.Context) error {
	const most = 1000 // rounds; each one installs something
	for range most {
		s, err := i.folder().load(i.meta)
		if err != nil {
			return err
		}
		more, err := i.round(ctx, s)
		if err != nil {
			return err
		}
		if !more {
			return i.done(s)
		}
	}
	return fault.New(fault.Internal, "install the project", "modules go on asking for others")
}

// installer installs in rounds, since installed modules can have requirements of their own.
type installer struct {
	*pipTool
	o      InstallOptions
	wanted map[string]bool // imported modules that come as packages
	looked map[string]bool // modules V2 whose other versions were searched for
	moved  map[string]bool // modules V1 that were checked
	last   []string        // the lines that were installed in the last round
	ran    bool
	// library reports whether the library of modules was installed before this run.
	library bool
	clones  clones            // the modules V1 of the project
	put     map[string]string // the unpacked wheel, or the linked folder, by module
}

// round installs modules and packages that are missing now, and reports whether another round is
// needed.
func (i *installer) round(ctx context.Context, s *state) (bool, error) {
	if err := i.renew(ctx, s); err != nil {
		return false, err
	}
	did, err := i.packages(ctx, s)
	if err != nil || did {
		return did, err
	}
	if len(s.missing) > 0 {
		return i.obtain(ctx, s, s.missing[0])
	}
	return i.move1(ctx, s)
}

// obtain requests a missing module from an index, or else clones it from a repository.
func (i *installer) obtain(ctx context.Context, s *state, name string) (bool, error) {
	d := s.demands()
	if i.wanted[name] {
		return false, fault.New(fault.NotFound, "install the module "+name,
			"the package %s was installed and has no such module", metadata.PackageOf(name))
	}
	there, err := i.indexed(ctx, name)
	if err != nil {
		return false, err
	}
	if there {
		i.wanted[name] = true
		return true, nil
	}
	ok, err := i.clones.get(ctx, name, d)
	if err != nil && fault.KindOf(err) != fault.NotFound || ok {
		i.moved[name] = true
		return ok, err
	}
	return false, i.nowhere(s, name, d, err)
}

// renew requests modules V2 again: those in a version that the requirements forbid, or all of them
// on an update. It skips modules in editable form, and modules that no index has.
func (i *installer) renew(ctx context.Context, s *state) error {
	d := s.demands()
	for _, m := range s.modules {
		if m.Generation != 2 || m.Editable || i.BuiltIn(m.Name) || i.looked[m.Name] ||
			!i.o.Update && fits(m, d) {
			continue
		}
		i.looked[m.Name] = true
		there, err := i.indexed(ctx, m.Name)
		if err != nil {
			return err
		}
		if there {
			i.wanted[m.Name] = true
		}
	}
	return nil
}

// fits reports whether the version of a module meets all requirements.
func fits(m *module.Module, d *module.Demands) bool {
	for _, a := range d.Of(m.Name) {
		if len(a.Set) > 0 && (m.Version().IsZero() || !a.Set.Contains(m.Version())) {
			return false
		}
	}
	return true
}

// move1 moves modules V1 to versions that all requirements allow: modules in a forbidden version,
// or all of them on an update. It returns after the first change.
func (i *installer) move1(ctx context.Context, s *state) (bool, error) {
	d := s.demands()
	for _, m := range s.modules {
		if m.Generation != 1 || i.moved[m.Name] || !i.o.Update && fits(m, d) {
			continue
		}
		i.moved[m.Name] = true
		did, err := i.clones.move(ctx, m, d)
		if err != nil || did {
			return did, err
		}
	}
	return false, nil
}

// nowhere returns the error for a module that was not found in any place, with the errors that git
// reported for its repositories.
func (i *installer) nowhere(s *state, name string, d *module.Demands, said error) error {
	at := importedAt(filepath.Join(i.Dir, project.MainFile), s.modules, name)
	if at.File == "" {
		at.File = i.meta.File
	}
	p := diag.Problem{
		Pos: at, Code: metadata.CodeModule,
		Message: "there is no module " + name + " on the modulepath, in git or in an index",
		Hint: "set repo or pip in project.yml to the source of modules, or put " +
			metadata.PackageOf(name) + " into requirements.txt",
	}
	if said != nil {
		p.Message += "\n" + said.Error()
	}
	for _, a := range d.Of(name) {
		p.Related = append(p.Related, d.Chain(a.By)...)
		p.Related = append(
			p.Related,
			diag.Related{Pos: a.At, Message: a.By + " asks for " + a.Spec()},
		)
	}
	return oneProblem(p)
}

// indexed reports whether a module comes from an index. That requires an index of the project, or a
// project without git repositories. The index must have the package.
func (i *installer) indexed(ctx context.Context, name string) (bool, error) {
	index := i.index()
	git := slices.ContainsFunc(i.meta.Repos, func(r metadata.Repo) bool { return r.Type == "git" })
	if git && !index.named && !i.meta.Pip.UseSystem {
		return false, nil
	}
	if i.meta.Pip.UseSystem && !index.named {
		return !git, nil // pip has its own configuration of indexes
	}
	files, err := index.files(ctx, metadata.PackageOf(name))
	return len(files) > 0, err
}

// packages installs packages, if the requirements differ from those of the last round.
func (i *installer) packages(ctx context.Context, s *state) (bool, error) {
	needs, constraints := i.needs(s)
	options, err := i.pipOptions()
	if err != nil {
		return false, err
	}
	texts := make([]string, 0, len(needs))
	for _, r := range needs {
		texts = append(texts, r.Requirement.String())
	}
	slices.Sort(texts)
	var lines []string
	for _, o := range options {
		lines = append(lines, o.String())
	}
	lines = append(lines, slices.Compact(texts)...)
	if len(lines) == 0 || i.ran && slices.Equal(lines, i.last) {
		return false, nil
	}
	i.ran, i.last = true, lines
	env := filepath.Join(i.Dir, module.EnvDir)
	if i.o.NoPython || !hasPython(env) {
		own, pure, err := i.editables(options)
		if err != nil {
			return false, err
		}
		if pure && !i.o.Update && linked(s, own) && i.unpacked(s, own, needs, constraints) {
			return false, nil
		}
		if pure {
			pure, err = i.pure(ctx, env, own, needs, constraints)
		}
		if err != nil || pure {
			return true, err
		}
	}
	return true, i.pip(ctx, env, true, lines, needs, constraints)
}

// moduleNeeds returns the requirements of modules V2, without the Python library.
func moduleNeeds(modules ...*module.Module) []metadata.Requirement {
	var out []metadata.Requirement
	for _, m := range modules {
		for _, r := range m.Meta.Requires {
			if pepCore(r.Name) && r.Holds(module.MarkerEnvironment()) {
				out = append(out, r)
			}
		}
	}
	return out
}

// unpacked reports whether all requirements, including those of modules in editable form, are
// modules that are installed in allowed versions. Then no index is queried.
func (i *installer) unpacked(
	s *state, own []*module.Module, needs, constraints []metadata.Requirement,
) bool {
	open := slices.Concat(needs, moduleNeeds(own...))
	limits, there := slices.Concat(open, constraints), map[string]*module.Module{}
	for len(open) > 0 {
		r := open[0]
		open = open[1:]
		switch {
		case r.Module == "" && r.URL == "" && i.o.NoPython:
			continue
		case r.Module == "" || r.URL != "":
			return false
		case i.BuiltIn(r.Module) || there[r.Module] != nil:
			continue
		}
		found, err := s.finder.Find(r.Module)
		if err != nil || found.Module == nil || found.Module.Generation != 2 ||
			found.Module.Meta == nil {
			return false
		}
		if !i.o.NoPython && found.Module.HasCode() {
			return false // it was unpacked without the packages that its code needs
		}
		there[r.Module] = found.Module
		more := moduleNeeds(found.Module)
		limits, open = append(limits, more...), append(open, more...)
	}
	for _, r := range limits {
		m := there[r.Module]
		if m != nil && len(r.Set) > 0 && (m.Version().IsZero() || !r.Set.Contains(m.Version())) {
			return false
		}
	}
	return true
}

// library is the package that Python code of modules requires.
const library = "inmanta-core"

// lacksLibrary reports whether the library has to be added: there are modules V1 with Python code,
// which do not require the library themselves, and no other requirement names it. Modules V2 do
// require it. If another environment than the project's own is active, its owner has to install the
// library.
func (i *installer) lacksLibrary(s *state, needs []metadata.Requirement) bool {
	own, active := filepath.Join(i.Dir, module.EnvDir), os.Getenv("VIRTUAL_ENV")
	if i.library || i.o.NoPython || active != "" && project.Environment(i.Dir, active) != own {
		return false
	}
	asks := func(r metadata.Requirement) bool { return pep508.Canonical(r.Name) == library }
	coded := func(m *module.Module) bool {
		return m.Generation == 1 && !i.BuiltIn(m.Name) && m.HasCode()
	}
	return !slices.ContainsFunc(needs, asks) && slices.ContainsFunc(s.modules, coded)
}

// hasLibrary reports whether the library is installed and usable: in a complete environment, for
// the current Python of that environment.
func (i *installer) hasLibrary(ctx context.Context) bool {
	env := filepath.Join(i.Dir, module.EnvDir)
	if i.o.Update || i.o.NoPython || !hasPython(env) || fileThere(filepath.Join(env, mark)) {
		return false
	}
	_, err := environmentAt(env, i.lock, i.Tool).run(ctx, python(env), "-c",
		"from importlib.metadata import distribution; distribution('"+library+"')")
	return err == nil
}

// needs returns the packages that the project, its modules V1 and its imports require, and the
// constraints on modules.
func (i *installer) needs(s *state) (needs, constraints []metadata.Requirement) {
	add := func(r metadata.Requirement, listed bool) {
		switch {
		case r.Module == "std" && !listed: // part of the program
		case r.Module == "" || listed && r.At.File != i.meta.File:
			needs = append(needs, r)
		default:
			constraints = append(constraints, r)
		}
	}
	for _, r := range s.asked {
		add(r, r.At.File != i.meta.File)
	}
	for _, m := range s.modules {
		if m.Generation == 1 && m.Meta != nil {
			for _, r := range m.Meta.Requires {
				add(r, r.At.File != m.Meta.File)
			}
		}
	}
	var names []string
	for name := range i.wanted {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		needs = append(needs, metadata.Requirement{
			Requirement: pep508.Requirement{Name: metadata.PackageOf(name)}, Module: name,
		})
	}
	if i.lacksLibrary(s, needs) {
		needs = append(needs, metadata.Requirement{Requirement: pep508.Requirement{Name: library}})
	}
	return needs, constraints
}

// done checks the installed modules, and reports their number.
func (i *installer) done(s *state) error {
	wrong, warnings := s.demands().Check(i.meta.StrictDeps)
	i.warn(warnings)
	if err := wrong.Err(); err != nil {
		return err
	}
	for _, m := range s.modules {
		if found, err := s.finder.Find(m.Name); err == nil {
			i.warn(found.Warnings)
		}
	}
	_, err := os.Stat(filepath.Join(i.Dir, module.EnvDir))
	where := ""
	if err == nil {
		where = ", packages in " + module.EnvDir
	}
	i.Say("%s there%s", counted(len(s.modules)), where)
	return nil
}

// counted returns the subject and verb of a sentence about n modules.
func counted(n int) string {
	if n == 1 {
		return "1 module is"
	}
	return strconv.Itoa(n) + " modules are"
}
