package modtool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
	"southbound/shared/lang/pep440"
)

// Listed is a line of `module list`.
type Listed struct {
	Name      string `json:"name"`
	Type      string `json:"type"` // v1 or v2; "" if it is missing
	Editable  bool   `json:"editable"`
	Installed string `json:"installed_version"`
	Expected  string `json:"expected"`
	Matches   bool   `json:"matches"`
	Path      string `json:"path"`
}

// List returns the modules of the project, or the module in the folder with its requirements,
// sorted by name. Missing modules have neither a type nor a version.
func (t *Tool) List() ([]Listed, error) {
	s, _, err := t.folder().here()
	if err != nil {
		return nil, err
	}
	d := s.demands()
	var out []Listed
	for _, m := range s.modules {
		l := Listed{
			Name: m.Name, Type: "v1", Editable: m.Editable, Installed: m.Version().String(),
			Matches: fits(m, d),
			Path:    m.Dir,
		}
		if m.Generation == 2 {
			l.Type = "v2"
		}
		out = append(out, l)
	}
	for _, name := range s.missing {
		out = append(out, Listed{Name: name})
	}
	for i := range out {
		var set pep440.Set
		for _, a := range d.Of(out[i].Name) {
			set = append(set, a.Set...)
		}
		out[i].Expected = cmp.Or(set.String(), "*")
	}
	slices.SortFunc(out, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Verify checks that all modules are present which the project, or the module in the folder,
// requires, and that their versions meet all requirements.
func (t *Tool) Verify() error {
	s, own, err := t.folder().here()
	if err != nil {
		return err
	}
	d := s.demands()
	install := "southbound project install"
	if own != nil {
		install = "southbound module install -e ."
		d.Remedy = install
	}
	if len(s.missing) > 0 {
		hint := "run `" + install + "`"
		if own != nil && own.Generation == 1 {
			hint = "put it beside this module, or into a project with it"
		}
		return fault.New(fault.Invalid, "verify the modules", "there is no module %s",
			strings.Join(s.missing, ", ")).WithHint("%s", hint)
	}
	wrong, warnings := d.Check(s.meta.StrictDeps)
	t.warn(warnings)
	if err := wrong.Err(); err != nil {
		return err
	}
	t.Say("%s there, in versions that all allow", counted(len(s.modules)))
	return nil
}

// Freeze returns project.yml, or the module.yml of a named module, with requires set to the
// installed versions of imported modules. recursive and operator override the settings of the file.
func (t *Tool) Freeze(
	name string,
	recursive *bool,
	operator string,
) (file string, text []byte, err error) {
	s, options, file, direct, err := t.folder().frozen(name)
	if err != nil {
		return "", nil, err
	}
	if recursive != nil {
		options.Recursive = *recursive
	}
	if operator != "" {
		options.Operator = operator
	}
	var requires []string
	d := s.demands()
	open, seen := slices.Clone(direct), map[string]bool{name: true}
	for len(open) > 0 {
		next := open[0]
		open = open[1:]
		found, err := s.finder.Find(next)
		if err != nil {
			return "", nil, err
		}
		unused := next == "std" && found.Module != nil && found.Module.Generation == 1
		if seen[next] || found.Module == nil || unused {
			continue
		}
		seen[next] = true
		if err := unfit(found.Module, d, file); err != nil {
			return "", nil, err
		}
		if v := found.Module.Version(); !v.IsZero() {
			requires = append(requires, next+" "+options.Operator+" "+v.String())
		}
		if options.Recursive {
			more, err := moduleImports(found.Module)
			if err != nil {
				return "", nil, err
			}
			open = append(open, more...)
		}
	}
	slices.Sort(requires)
	before, err := os.ReadFile(file)
	if err != nil {
		return "", nil, fault.Wrap(fault.Invalid, "freeze versions", err)
	}
	text, err = setRequires(before, requires)
	return file, text, err
}

// unfit refuses to freeze a version that a requirement outside of the file forbids. No version
// could satisfy both requirements.
func unfit(m *module.Module, d *module.Demands, file string) error {
	for _, a := range d.Of(m.Name) {
		if a.At.File == file || len(a.Set) == 0 || a.Set.Contains(m.Version()) {
			continue
		}
		by := "the project"
		if a.By != "" {
			by = a.By
		}
		return oneProblem(diag.Problem{
			Pos: a.At, Code: metadata.CodeRequires,
			Message: by + " asks for " + a.Spec() + ", and " + m.Version().String() +
				" is installed, which cannot be frozen",
			Hint: "run `" + d.Remedy + "`, or change this constraint",
		})
	}
	return nil
}

// frozen returns the object to freeze: the project, the named module in it, or the module in the
// working directory if it is a module V1 or is in no project.
func (f folder) frozen(name string) (*state, metadata.Freeze, string, []string, error) {
	var s *state
	var m *module.Module
	var err error
	if name == "" && fileThere(filepath.Join(f.dir, metadata.FileV1)) {
		s, m, err = f.alone()
	} else {
		s, m, err = f.here()
	}
	if err == nil && m == nil && name == "" {
		return s, s.meta.Freeze, s.meta.File, s.direct, nil
	}
	if err == nil && name != "" && (m == nil || m.Name != name) {
		var found *module.Found
		if found, err = s.finder.Find(name); err == nil {
			m = found.Module
		}
	}
	switch {
	case err != nil:
		return nil, metadata.Freeze{}, "", nil, err
	case m == nil:
		err = fault.New(fault.NotFound, "freeze versions", "there is no module %s", name)
	case m.Generation == 2:
		err = fault.New(fault.Invalid, "freeze versions",
			"%s is a module V2: its versions are those of packages", m.Name).
			WithHint("use pip freeze")
	case m.Meta == nil:
		err = fault.New(fault.Invalid, "freeze versions", "%s has no %s", m.Name, metadata.FileV1)
	}
	if err != nil {
		return nil, metadata.Freeze{}, "", nil, err
	}
	direct, err := moduleImports(m)
	return s, m.Meta.Freeze, m.Meta.File, direct, err
}

// Add adds a requirement of a module to the project or module in the folder. With install, it then
// installs the modules of a project. If the installation fails, Add reverts its changes.
func (t *Tool) Add(ctx context.Context, requirement string, override, v1, install bool) error {
	was, err := readTexts(filepath.Join(t.Dir, metadata.RequirementsFile),
		filepath.Join(t.Dir, metadata.ProjectFile))
	if err != nil {
		return err
	}
	project, err := t.add(requirement, override, v1)
	if err == nil && project && install {
		err = t.Install(ctx, InstallOptions{})
	}
	if err == nil {
		return nil
	}
	if left := was.putBack(); left != nil {
		return errors.Join(err, left)
	}
	return err
}

// texts are the contents of files by path; nil for a missing file.
type texts map[string][]byte

func readTexts(paths ...string) (texts, error) {
	out := texts{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return nil, fault.Wrap(fault.Invalid, "add the module", err)
		}
		out[path] = text
	}
	return out, nil
}

// putBack restores the contents of files that have changed.
func (was texts) putBack() error {
	is, err := readTexts(slices.Collect(maps.Keys(was))...)
	for path, text := range was {
		switch {
		case bytes.Equal(text, is[path]) && (text == nil) == (is[path] == nil):
		case text == nil:
			err = errors.Join(err, os.Remove(path))
		default:
			err = errors.Join(err, Replace(path, text))
		}
	}
	return err
}

// add writes a requirement, and reports whether the folder is a project.
func (t *Tool) add(requirement string, override, v1 bool) (isProject bool, err error) {
	r, wrong, hint := metadata.ParseModule(requirement)
	if wrong != "" {
		return false, fault.New(fault.Usage, "add the module", "%s", wrong).WithHint("%s", hint)
	}
	isProject = fileThere(filepath.Join(t.Dir, metadata.ProjectFile))
	file, asked, err := t.folder().asking(isProject, v1)
	if err != nil {
		return false, err
	}
	there := func(a metadata.Requirement) bool { return a.Module == r.Module }
	if slices.ContainsFunc(asked, there) && !override {
		return false, fault.New(fault.Conflict, "add the module", "%s is required already",
			r.Module).
			WithHint("--override changes the constraint")
	}
	if filepath.Base(file) == metadata.FileV2 {
		return false, addToSetup(file, r)
	}
	if v1 {
		return isProject, addToYAML(file, asked, r)
	}
	if err := addToText(filepath.Join(t.Dir, metadata.RequirementsFile), r); err != nil {
		return false, err
	}
	if len(r.Set) > 0 && slices.ContainsFunc(asked, func(a metadata.Requirement) bool {
		return there(a) && a.At.File == file
	}) {
		return isProject, addToYAML(file, asked, r)
	}
	return isProject, nil
}

// asking returns the requirements of the project or module in the folder, and the file with them.
func (f folder) asking(
	isProject, v1 bool,
) (file string, asked []metadata.Requirement, err error) {
	if isProject {
		meta, err := f.open()
		if err != nil {
			return "", nil, err
		}
		asked, err = module.ProjectRequirements(meta)
		return meta.File, asked, err
	}
	m, _, err := module.Open(f.dir)
	if err != nil {
		return "", nil, err
	}
	if m.Generation == 2 && v1 {
		return "", nil, fault.New(fault.Usage, "add the module",
			"a module V2 cannot need one V1")
	}
	return m.Meta.File, m.Meta.Requires, nil
}

func addToSetup(file string, r metadata.Requirement) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fault.Wrap(fault.Invalid, "add the module", err)
	}
	sections, err := metadata.ReadSections(file, text)
	if err != nil {
		return err
	}
	var lines []string
	for _, line := range strings.Split(sections["options"]["install_requires"].Value, "\n") {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	value := "\n    " + strings.Join(setRequirement(lines, r), "\n    ")
	text = setOption(text, "options", "install_requires", value)
	return Replace(file, text)
}

func addToText(file string, r metadata.Requirement) error {
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return fault.Wrap(fault.Invalid, "add the module", err)
	}
	var lines []string
	if len(text) > 0 {
		lines = strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	}
	return Replace(file, []byte(strings.Join(setRequirement(lines, r), "\n")+"\n"))
}

func addToYAML(file string, asked []metadata.Requirement, r metadata.Requirement) error {
	var requires []string
	for _, a := range asked {
		if a.At.File == file && a.Module != r.Module && a.Module != "" {
			requires = append(requires, a.Spec())
		}
	}
	requires = append(requires, r.Spec())
	text, err := os.ReadFile(file)
	if err != nil {
		return fault.Wrap(fault.Invalid, "add the module", err)
	}
	if text, err = setRequires(text, requires); err != nil {
		return err
	}
	return Replace(file, text)
}

// EachClone calls do for each module of the project that is a git repository of its own; only for
// the named module if name is not empty. In the folder of a module outside of a project, it calls
// do for that module.
func (t *Tool) EachClone(
	ctx context.Context, name string, do func(ctx context.Context, m *module.Module) error,
) error {
	meta, err := t.folder().open()
	if err != nil {
		if m, _, wrong := module.Open(t.Dir); wrong == nil && (name == "" || name == m.Name) {
			return do(ctx, m)
		}
		return err
	}
	s, err := t.folder().load(meta)
	if err != nil {
		return err
	}
	found := false
	for _, m := range s.modules {
		if name != "" && m.Name != name {
			continue
		}
		found = true
		if _, err := os.Stat(filepath.Join(m.Dir, ".git")); err == nil {
			if err := do(ctx, m); err != nil {
				return err
			}
		}
	}
	if name != "" && !found {
		return fault.New(
			fault.NotFound,
			"find the module",
			"the project imports no module %s",
			name,
		)
	}
	return nil
}

// Status returns the uncommitted changes in a module, in git's format; "" if there are none.
func Status(ctx context.Context, m *module.Module) (string, error) {
	return changed(ctx, m.Dir)
}

// Push pushes the commits and tags of a module.
func (t *Tool) Push(ctx context.Context, m *module.Module) error {
	doing := "push the module " + m.Name + " in " + m.Dir
	if _, err := git(ctx, m.Dir, "symbolic-ref", "-q", "HEAD"); err != nil {
		own, err := ownCommits(ctx, m.Dir)
		switch {
		case err != nil:
			return gitError(doing, err)
		case own == "": // project install leaves a module in this state
			t.Say("%s: nothing to push, it is on no branch", m.Name)
			return nil
		}
		return fault.New(fault.Conflict, doing, "it has commits that are on no branch").
			WithHint("`git switch -c NAME` makes a branch of them")
	}
	if _, err := gitWith(ctx, m.Dir, passwordsAround(m.Dir), "push", "-q",
		"--follow-tags"); err != nil {
		return gitError(doing, err)
	}
	t.Say("%s: pushed", m.Name)
	return nil
}
