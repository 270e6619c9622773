package module

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"southbound/shared/pattern"
)

// EnvDir is the folder of a project's virtual environment.
const EnvDir = ".env"

// PluginsPackage is the folder of modules in an environment.
const PluginsPackage = "inmanta_plugins"

// Pure returns the folder of packages without Python code, for an environment without Python.
func Pure(env string) string { return filepath.Join(env, "lib", "southbound", "site-packages") }

// Environment locates installed modules V2. The zero value has none.
type Environment struct {
	Dir string
	// the search path of Python, in order: site-packages, and the folders in .pth files
	folders []string
	links   []link // of editable installs
}

// link is the location of a package that is installed in editable form.
type link struct{ name, path string }

// OpenEnvironment locates the packages of an environment. A missing environment has none.
func OpenEnvironment(dir string) (*Environment, error) {
	e := &Environment{Dir: dir}
	if dir == "" {
		return e, nil
	}
	sites, err := SitePackages(dir)
	if err != nil {
		return nil, err
	}
	for _, site := range sites {
		e.folders = append(e.folders, site)
		if err := e.editable(site); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// SitePackages returns the folders of packages in an environment.
func SitePackages(dir string) ([]string, error) {
	var out []string
	for _, pattern := range []string{"lib/python*/site-packages", "lib64/python*/site-packages"} {
		found, err := filepath.Glob(filepath.Join(escaped(dir), pattern))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	out = append(out, filepath.Join(dir, "Lib", "site-packages"), Pure(dir))
	return there(out), nil
}

// escaped returns a glob pattern that matches exactly one path.
func escaped(path string) string {
	return regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(path, `\$0`)
}

// there returns the existing folders, each once.
func there(folders []string) []string {
	var out, resolved []string
	for _, f := range folders {
		at, err := filepath.EvalSymlinks(f)
		if err != nil || slices.Contains(resolved, at) {
			continue
		}
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			out, resolved = append(out, f), append(resolved, at)
		}
	}
	return out
}

var (
	// mapping matches a line of the finder that setuptools writes for an editable install.
	mapping = pattern.Lazy(`(?m)^(MAPPING|NAMESPACES)\b[^=\n]*=\s*(\{.*\})\s*$`)
	pair    = pattern.Lazy(`'([\w.]+)':\s*(?:\[\s*)?'((?:[^'\\]|\\.)*)'`)
)

// maxFinder limits the bytes of a finder.
const maxFinder = 1 << 20

// editable reads the locations of editable installs in a folder.
func (e *Environment) editable(site string) error {
	entries, err := os.ReadDir(site)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		finder := strings.HasPrefix(name, "__editable__") && strings.HasSuffix(name, ".py")
		if !finder && filepath.Ext(name) != ".pth" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(site, name))
		if err != nil || len(text) > maxFinder {
			continue // ignore the file, as Python does
		}
		if finder {
			e.finder(string(text))
			continue
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' || strings.HasPrefix(line, "import") {
				continue
			}
			if !filepath.IsAbs(line) {
				line = filepath.Join(site, line)
			}
			e.folders = there(append(e.folders, line))
		}
	}
	return nil
}

func (e *Environment) finder(text string) {
	for _, m := range mapping().FindAllStringSubmatch(text, -1) {
		for _, p := range pair().FindAllStringSubmatch(m[2], -1) {
			path := strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(p[2])
			e.links = append(e.links, link{p[1], path})
		}
	}
}

// find returns the folders of a module's package; the first one is used.
func (e *Environment) find(name string) []string {
	var out []string
	for _, f := range e.folders {
		out = append(out, filepath.Join(f, PluginsPackage, name))
	}
	for _, l := range e.links {
		switch l.name {
		case PluginsPackage + "." + name:
			out = append(out, l.path)
		case PluginsPackage:
			out = append(out, filepath.Join(l.path, name))
		}
	}
	return there(out)
}

// Names returns the modules of the environment.
func (e *Environment) Names() []string {
	var out []string
	for _, f := range e.folders {
		out = append(out, folders(filepath.Join(f, PluginsPackage))...)
	}
	for _, l := range e.links {
		if name, ok := strings.CutPrefix(l.name, PluginsPackage+"."); ok {
			out = append(out, name)
		} else if l.name == PluginsPackage {
			out = append(out, folders(l.path)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// folders returns the names of subfolders that can be modules.
func folders(dir string) []string {
	entries, _ := os.ReadDir(dir) // skip a folder that cannot be read
	var out []string
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") && !strings.HasPrefix(entry.Name(), "__") {
			out = append(out, entry.Name())
		}
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}
