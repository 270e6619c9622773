package pkg

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"southbound/handlers/internal/tool"
	"southbound/shared/provider"
)

// pip is Python's package manager, of a virtual environment or of the python3 in PATH.
type pip struct{}

func (pip) python(p place) string {
	if p.root != "" {
		return filepath.Join(p.root, "bin", "python")
	}
	return "python3"
}

// keepPaths is how long the paths of packages are cached: an installed interpreter keeps them.
func keepPaths() provider.Keep { return provider.Keep{Idle: 10 * time.Minute, For: time.Hour} }

// installed reads pip's metadata beside each package, which is a hundred times faster than running
// pip.
func (m pip) installed(ctx *provider.Context, p place) (map[string]string, error) {
	if p.root != "" && !exists(m.python(p)) {
		return nil, nil // the environment does not exist yet
	}
	paths, err := provider.Cached(ctx, provider.Key{Name: "python", Args: []any{m.python(p)}},
		keepPaths(), func(ctx *provider.Context) ([]string, error) {
			who, err := m.owner(p)
			if err != nil {
				return nil, err
			}
			out, err := tool.RunAs(ctx, who, nil, m.python(p), "-I", "-c",
				"import json, sys; print(json.dumps([p for p in sys.path if p]))")
			if err != nil {
				return nil, err
			}
			var paths []string
			return paths, json.Unmarshal([]byte(out), &paths)
		})
	if err != nil {
		return nil, err
	}
	have := map[string]string{}
	for _, dir := range paths {
		for _, kind := range []string{"*.dist-info/METADATA", "*.egg-info/PKG-INFO", "*.egg-info"} {
			for _, file := range within(dir, kind) {
				name, version := metadata(file)
				if name = m.canonical(name); name != "" && have[name] == "" {
					have[name] = version
				}
			}
		}
	}
	return have, nil
}

// metadata reads the name and the version at the head of a file; empty if there are none.
func metadata(path string) (name, version string) {
	raw, err := about(path)
	if err != nil {
		return "", ""
	}
	s := bufio.NewScanner(bytes.NewReader(raw))
	for s.Scan() && s.Text() != "" && (name == "" || version == "") {
		if v, ok := strings.CutPrefix(s.Text(), "Name: "); ok {
			name = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(s.Text(), "Version: "); ok {
			version = strings.TrimSpace(v)
		}
	}
	return name, version
}

// owner is the user that runs Python.
func (pip) owner(p place) (*tool.User, error) {
	return p.owner("bin", "bin/python*", "pyvenv.cfg", "lib", "lib/python*",
		"lib/python*/site-packages", "lib/python*/site-packages/*.pth",
		"lib/python*/site-packages/pip")
}

// own returns the variables for one program alone: its settings, and the credentials of git, with
// which it fetches packages. A program of another user receives none, since that user has their own
// settings. The options of the resource set any others.
func own(who *tool.User, prefix string) []string {
	if who != nil {
		return nil
	}
	return append(tool.Settings(prefix), tool.Git()...)
}

func (m pip) run(ctx *provider.Context, p place, args ...string) (string, error) {
	who, err := m.owner(p)
	if err != nil {
		return "", err
	}
	argv := append([]string{m.python(p), "-m", "pip", "--disable-pip-version-check", "--no-input",
		"-q"}, args...)
	return tool.RunAs(ctx, who, append(own(who, "PIP_"), "PIP_ROOT_USER_ACTION=ignore"), argv...)
}

func (m pip) candidates(ctx *provider.Context, p place, names []string) (map[string]string, error) {
	args := append([]string{"install", "--dry-run", "--upgrade", "--no-deps", "--report", "-"},
		p.options...)
	out, err := m.run(ctx, p, append(append(args, "--"), names...)...)
	if err != nil {
		return nil, err
	}
	var report struct {
		Install []struct {
			Metadata struct{ Name, Version string }
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, i := range report.Install {
		found[m.canonical(i.Metadata.Name)] = i.Metadata.Version
	}
	return found, nil // packages not in it are the newest already
}

func (m pip) install(ctx *provider.Context, p place, items []item) error {
	args := append([]string{"install"}, p.options...)
	var specs []string
	for _, i := range items {
		switch {
		case i.source != "":
			specs = append(specs, i.source)
		case i.version == latest:
			args = append(args, "--upgrade")
			specs = append(specs, i.name)
		case i.version != "":
			specs = append(specs, i.name+"=="+i.version)
		default:
			specs = append(specs, i.name)
		}
	}
	_, err := m.run(ctx, p, append(append(args, "--"), specs...)...)
	return err
}

// breakSystem is the option that is required by Pythons under the control of another package
// manager.
const breakSystem = "--break-system-packages"

func (m pip) remove(ctx *provider.Context, p place, items []item) error {
	args := []string{"uninstall", "-y"}
	if slices.Contains(p.options, breakSystem) {
		// the system's Python also refuses removals
		args = append(args, breakSystem)
	}
	args = append(args, "--")
	for _, i := range items {
		args = append(args, i.name)
	}
	_, err := m.run(ctx, p, args...)
	return err
}

func (pip) names() string {
	return `\A[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?\z`
}

// canonical normalizes the names of Python's packages: lower case, one - for any run of separators,
// no extras.
func (pip) canonical(name string) string {
	name, _, _ = strings.Cut(name, "[")
	words := strings.FieldsFunc(strings.ToLower(name),
		func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	return strings.Join(words, "-")
}

func (pip) satisfies(version, asked string) bool { return pep440(version) == pep440(asked) }

// pep440 normalizes the common spellings of versions of Python's packages: 1.0 is 1, and 1.0-RC1 is
// 1rc1.
func pep440(version string) string {
	v := strings.TrimPrefix(strings.ToLower(version), "v")
	public, local, _ := strings.Cut(v, "+")
	end := strings.IndexFunc(public, func(r rune) bool {
		return r != '.' && r != '!' && (r < '0' || r > '9')
	})
	if end < 0 {
		end = len(public)
	}
	release := strings.TrimRight(public[:end], ".")
	for strings.HasSuffix(release, ".0") {
		release = strings.TrimSuffix(release, ".0")
	}
	rest := strings.NewReplacer("alpha", "a", "beta", "b", "preview", "rc", "pre", "rc", "-", "",
		"_", "", ".", "").Replace(public[end:])
	return release + rest + "+" + strings.NewReplacer("-", ".", "_", ".").Replace(local)
}

func (m pip) chosen(ctx *provider.Context, p place) ([]string, error) { return all(m, ctx, p) }

// all returns the names of all installed packages, for managers that do not record which were
// requested.
func all(m manager, ctx *provider.Context, p place) ([]string, error) {
	have, err := m.installed(ctx, p)
	out := make([]string, 0, len(have))
	for name := range have {
		out = append(out, name)
	}
	return out, err
}

// npm is the package manager of Node.js, for global packages or those in a prefix.
type npm struct{}

func (npm) prefix(ctx *provider.Context, p place) (string, error) {
	if p.root != "" {
		return p.root, nil
	}
	return provider.Cached(ctx, provider.Key{Name: "npm prefix"}, keepPaths(),
		func(ctx *provider.Context) (string, error) {
			out, err := tool.Run(ctx, tool.Settings("NPM_"), "npm", "prefix", "-g")
			return strings.TrimSpace(out), err
		})
}

func (m npm) installed(ctx *provider.Context, p place) (map[string]string, error) {
	prefix, err := m.prefix(ctx, p)
	if err != nil {
		return nil, err
	}
	have := map[string]string{}
	for _, pattern := range []string{"*/package.json", "@*/*/package.json"} {
		for _, file := range within(prefix, filepath.Join("lib", "node_modules", pattern)) {
			raw, err := about(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			var pack struct{ Name, Version string }
			if err == nil {
				err = json.Unmarshal(raw, &pack)
			}
			if err != nil {
				return nil, err
			}
			have[pack.Name] = pack.Version
		}
	}
	return have, nil
}

// owner is the user that runs npm. npm reads settings in its prefix, such as the shell for scripts,
// and follows links there.
func (npm) owner(p place) (*tool.User, error) {
	return p.owner("etc", "etc/npmrc", "lib", "lib/node_modules", "bin")
}

func (m npm) run(ctx *provider.Context, p place, verb string, args ...string) (string, error) {
	who, err := m.owner(p)
	if err != nil {
		return "", err
	}
	argv := []string{"npm", verb, "--global", "--no-audit", "--no-fund", "--no-update-notifier",
		"--loglevel=error"}
	if p.root != "" {
		argv = append(argv, "--prefix", p.root)
	}
	return tool.RunAs(ctx, who, own(who, "NPM_"), append(argv, args...)...)
}

func (m npm) candidates(ctx *provider.Context, p place, names []string) (map[string]string, error) {
	who, err := m.owner(p)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, name := range names {
		out, err := tool.RunAs(ctx, who, own(who, "NPM_"),
			append([]string{"npm", "view", "--no-update-notifier", name, "version"},
				p.options...)...)
		if err != nil {
			return nil, err
		}
		found[name] = strings.TrimSpace(out)
	}
	return found, nil
}

func (m npm) install(ctx *provider.Context, p place, items []item) error {
	args := append([]string{}, p.options...)
	for _, i := range items {
		switch {
		case i.source != "":
			args = append(args, i.source)
		case i.version != "":
			args = append(args, i.name+"@"+i.version)
		default:
			args = append(args, i.name)
		}
	}
	_, err := m.run(ctx, p, "install", args...)
	return err
}

func (m npm) remove(ctx *provider.Context, p place, items []item) error {
	var args []string
	for _, i := range items {
		args = append(args, i.name)
	}
	_, err := m.run(ctx, p, "uninstall", args...)
	return err
}

func (npm) names() string { return `\A(@[a-z0-9._-]+/)?[A-Za-z0-9._-]+\z` }

func (npm) canonical(name string) string { return name }

func (npm) satisfies(version, asked string) bool {
	return version == strings.TrimPrefix(asked, "v")
}

func (m npm) chosen(ctx *provider.Context, p place) ([]string, error) { return all(m, ctx, p) }
