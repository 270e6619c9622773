package metadata

import (
	"net/mail"
	"net/url"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/pattern"
)

// ProjectFile is the name of a project's file.
const ProjectFile = "project.yml"

// Values of install_mode: how the version of a module is chosen.
const (
	Release    = "release"    // the highest release that all constraints allow
	Prerelease = "prerelease" // also pre-releases and development releases
	Master     = "master"     // the branch, regardless of its version
)

// Operators returns the operators of freeze; the first one is the default.
func Operators() []string { return []string{"~=", "==", ">="} }

// Project is a project.yml.
//
// Large: there is a field for each key of the file.
type Project struct {
	File        string
	Name        string
	Description string
	Author      string
	AuthorEmail string
	License     string
	Copyright   string
	// ModulePath are folders with modules, as written; Paths makes them absolute.
	ModulePath   []string
	DownloadPath string // "" if it is not set
	Repos        []Repo
	Requires     []Requirement
	InstallMode  string
	Freeze       Freeze
	Policy       []Rule
	StrictDeps   bool
	AgentInstall bool // agent_install_dependency_modules
	Pip          Pip
	Settings     map[string]any // environment_settings
	SettingsAt   map[string]diag.Pos
}

// Freeze configures the freezing of versions.
type Freeze struct {
	Recursive bool
	Operator  string
}

// Repo is a source of modules.
type Repo struct {
	Type string // git or package
	URL  string // {} or {0} stands for the name of the module; without them the name is appended
	At   diag.Pos
}

// Address returns the address of a module.
func (r Repo) Address(module string) string {
	out := strings.NewReplacer("{}", module, "{0}", module).Replace(r.URL)
	if out == r.URL {
		return r.URL + module
	}
	return out
}

// Rule states that one relation is frozen before another one.
type Rule struct {
	FirstEntity, First, ThenEntity, Then string
	At                                   diag.Pos
}

// Pip is the section pip.
type Pip struct {
	Index     string   // index-url; "" if it is not set
	Extra     []string // extra-index-url
	Pre       *bool
	UseSystem bool // use-system-config
}

var rulePattern = pattern.Lazy(`^\s*([^\s.]+)\.([^\s.]+)\s+before\s+([^\s.]+)\.([^\s.]+)\s*$`)

// Paths returns the folders of modules as absolute paths; the default is libs.
func (p *Project) Paths() []string {
	dir, out := filepath.Dir(p.File), []string{}
	for _, path := range p.ModulePath {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		out = append(out, path)
	}
	if len(out) == 0 {
		return []string{filepath.Join(dir, "libs")}
	}
	return out
}

// Download returns the folder for modules from git: downloadpath, or the last folder of the
// modulepath.
func (p *Project) Download() string {
	if p.DownloadPath == "" {
		paths := p.Paths()
		return paths[len(paths)-1]
	}
	if filepath.IsAbs(p.DownloadPath) {
		return p.DownloadPath
	}
	return filepath.Join(filepath.Dir(p.File), p.DownloadPath)
}

// NoProject returns the settings for a folder without a project.yml.
func NoProject(dir string) *Project {
	return &Project{
		File: filepath.Join(dir, ProjectFile), InstallMode: Release, StrictDeps: true,
		Freeze: Freeze{Operator: Operators()[0]}, AgentInstall: true,
	}
}

var projectKeys = []string{
	"name", "description", "author", "author_email", "license", "copyright", "modulepath",
	"downloadpath", "repo", "requires", "install_mode", "freeze_recursive", "freeze_operator",
	"relation_precedence_policy", "strict_deps_check", "agent_install_dependency_modules", "pip",
	"environment_settings",
}

// ReadProject parses a project.yml. If it returns a project, there may still be warnings.
func ReadProject(file string, text []byte) (*Project, diag.Problems, error) {
	r := &reader{file: file, code: CodeProject}
	root, m := r.document(text)
	if m == nil {
		return nil, nil, r.problems.Err()
	}
	r.unknown(root, "", projectKeys)
	if m["name"] == nil {
		r.warnings.Add(r.problem(r.place(1, 1), "add a line such as `name: my-project`",
			"the project has no name"))
	}
	p := NoProject(filepath.Dir(file))
	p.File = file
	p.Name, p.Description = r.text(m, "name"), r.text(m, "description")
	p.Author, p.License, p.Copyright = r.text(m, "author"), r.text(
		m,
		"license",
	), r.text(m, "copyright")
	p.AuthorEmail = r.email(m)
	p.ModulePath = r.paths(m, "modulepath")
	for _, path := range r.paths(m, "downloadpath") {
		p.DownloadPath = path
	}
	p.Repos, p.Requires = r.repos(m), r.requires(m)
	p.InstallMode = r.choice(m, "install_mode", Release, Prerelease, Master)
	p.Freeze = r.freeze(m)
	p.Policy, p.Pip = r.policy(m), r.pip(m)
	p.Settings, p.SettingsAt = r.settings(m)
	if b := r.flag(m, "strict_deps_check"); b != nil {
		p.StrictDeps = *b
	}
	if b := r.flag(m, "agent_install_dependency_modules"); b != nil {
		p.AgentInstall = *b
	}
	if err := r.problems.Err(); err != nil {
		return nil, r.warnings, err
	}
	return p, r.warnings, nil
}

func (r *reader) email(m members) string {
	text := r.text(m, "author_email")
	if text == "" {
		return ""
	}
	if _, err := mail.ParseAddress(text); err != nil {
		r.bad(m["author_email"], "write such as `ann@example.org` or `Ann <ann@example.org>`",
			"author_email is %s, which is not an address", text)
	}
	return text
}

func (r *reader) freeze(m members) Freeze {
	f := Freeze{Operator: r.choice(m, "freeze_operator", Operators()...)}
	if b := r.flag(m, "freeze_recursive"); b != nil {
		f.Recursive = *b
	}
	return f
}

// requires parses a list of modules with constraints. The old form maps names to such entries.
func (r *reader) requires(m members) []Requirement {
	var out []Requirement
	nodes := r.items(m, "requires")
	if n := m["requires"]; n != nil && resolved(n).Kind == yaml.MappingNode {
		nodes = nil
		for i, c := range resolved(n).Content {
			if i%2 == 1 {
				nodes = append(nodes, c)
			}
		}
	}
	for _, n := range nodes {
		text, ok := r.scalar(n, "an entry of requires")
		if !ok {
			continue
		}
		req, wrong, hint := ParseModule(text)
		if wrong != "" {
			r.bad(n, hint, "%s", wrong)
			continue
		}
		req.At = r.place(n.Line, n.Column)
		out = append(out, req)
	}
	return out
}

func (r *reader) repos(m members) []Repo {
	var out []Repo
	for _, n := range r.items(m, "repo") {
		repo := Repo{Type: "git", At: r.place(n.Line, n.Column)}
		if resolved(n).Kind != yaml.MappingNode {
			text, ok := r.scalar(n, "an entry of repo")
			if repo.URL = text; ok {
				out = append(out, repo)
			}
			continue
		}
		entry, _ := r.mapping(n, "an entry of repo")
		r.unknown(n, "in an entry of repo: ", []string{"type", "url"})
		repo.Type, repo.URL = r.choice(entry, "type", "git", "package"), r.text(entry, "url")
		if repo.URL == "" {
			r.bad(n, "add `url: https://host/{}.git`", "an entry of repo has no url")
			continue
		}
		if repo.Type == "package" {
			r.warn(n, "write `pip: {index-url: ...}` instead",
				"an index in repo is the old form; it is used where pip has no index-url")
			r.address(entry["url"], "url")
		}
		out = append(out, repo)
	}
	return out
}

// address checks that a node is the URL of an index. No message contains the URL, since it may hold
// a password.
func (r *reader) address(n *yaml.Node, what string) {
	u, err := url.Parse(resolved(n).Value)
	local := err == nil && (u.Scheme == "file" || u.Scheme == "" && filepath.IsAbs(u.Path))
	if err != nil || !local && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		r.bad(n, "write such as https://host/simple", "%s is not the address of an index", what)
	}
}

func (r *reader) policy(m members) []Rule {
	var out []Rule
	for _, n := range r.items(m, "relation_precedence_policy") {
		text, ok := r.scalar(n, "a rule of relation_precedence_policy")
		if !ok {
			continue
		}
		f := rulePattern().FindStringSubmatch(text)
		if f == nil {
			p := r.problem(r.place(n.Line, n.Column),
				"write it such as `ns::Host.files before ns::Service.hosts`",
				"%s is not a valid rule of relation_precedence_policy", text)
			p.Code = eval.CodePolicy
			r.problems.Add(p)
			continue
		}
		out = append(out, Rule{f[1], f[2], f[3], f[4], r.place(n.Line, n.Column)})
	}
	return out
}

func (r *reader) pip(m members) Pip {
	n := m["pip"]
	if n == nil || isNull(n) {
		return Pip{}
	}
	section, ok := r.mapping(n, "pip")
	if !ok {
		return Pip{}
	}
	for name, node := range section { // accept names with _, as in Python code
		if dashed := strings.ReplaceAll(name, "_", "-"); dashed != name && section[dashed] == nil {
			section[dashed] = node
		}
	}
	r.unknown(n, "pip.", []string{
		"index-url", "extra-index-url", "pre", "use-system-config",
		"index_url", "extra_index_url", "use_system_config",
	})
	p := Pip{Index: r.text(section, "index-url"), Extra: r.texts(section, "extra-index-url")}
	p.Pre = r.flag(section, "pre")
	if b := r.flag(section, "use-system-config"); b != nil {
		p.UseSystem = *b
	}
	if p.Index != "" {
		r.address(section["index-url"], "pip.index-url")
	}
	for _, item := range r.items(section, "extra-index-url") {
		r.address(item, "pip.extra-index-url")
	}
	return p
}

// settings parses environment_settings: texts, numbers, booleans and mappings by name. It returns
// the settings and their places.
func (r *reader) settings(m members) (map[string]any, map[string]diag.Pos) {
	n := m["environment_settings"]
	if n == nil || isNull(n) {
		return nil, nil
	}
	section, ok := r.mapping(n, "environment_settings")
	if !ok {
		return nil, nil
	}
	out, at := map[string]any{}, map[string]diag.Pos{}
	for name, value := range section {
		v := resolved(value)
		var decoded any
		if v.Kind == yaml.SequenceNode || isNull(v) || v.Decode(&decoded) != nil {
			r.bad(value, "write a text, a number, true or false, or a mapping",
				"the setting %s is %s, which no setting is", name, describe(v))
			continue
		}
		out[name], at[name] = decoded, r.place(value.Line, value.Column)
	}
	return out, at
}
