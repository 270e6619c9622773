package modtool

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
)

const ignored = `__pycache__/
*.pyc
*.egg-info/
.env/
.southbound/
build/
dist/
`

const pyproject = `[build-system]
requires = ["setuptools", "wheel"]
build-backend = "setuptools.build_meta"
`

// empty creates a folder. The folder may exist if it is empty.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		return fault.New(fault.Conflict, "make "+dir, "it is there already and not empty").
			WithHint("choose another name, or remove it")
	}
	return fault.Wrap(fault.Unavailable, "make "+dir, os.MkdirAll(dir, 0o755))
}

// CreateProject creates a project in a new folder and returns the folder.
func (t *Tool) CreateProject(in, name string) (string, error) {
	if name == "" || !filepath.IsLocal(name) || strings.ContainsAny(name, "\n/\\") {
		return "", fault.New(
			fault.Usage,
			"make the project",
			"%q is not a name for a project",
			name,
		)
	}
	dir := filepath.Join(in, name)
	if err := empty(dir); err != nil {
		return "", err
	}
	files := [][2]string{
		{
			"project.yml",
			"name: " + quoted(name) + "\ndescription: \nmodulepath: libs\ndownloadpath: libs\n" +
				"repo: []\nrequires: []\npip: {}\n",
		},
		{
			"main.cf",
			"\"\"\"\nDesired state of this project. `southbound compile` prints its resources.\n\"\"\"\n",
		},
		{
			"requirements.txt",
			"# modules and packages of Python, such as inmanta-module-net >= 1.0\n",
		},
		{".gitignore", ignored + "libs/\n"},
	}
	for _, f := range files {
		if err := writeNew(dir, f[0], f[1]); err != nil {
			return "", err
		}
	}
	return dir, os.MkdirAll(filepath.Join(dir, "libs"), 0o755)
}

// quoted returns a string as YAML, quoted if necessary.
func quoted(text string) string {
	if metadata.IsModuleName(strings.ReplaceAll(text, "-", "_")) &&
		!strings.EqualFold(text, "null") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// CreateModule creates a module in a folder of its name and returns the folder. A module V1 goes
// into the last folder of the project's modulepath. template is the address of a git repository
// whose files are used instead of the default files; "" for none.
func (t *Tool) CreateModule(
	ctx context.Context,
	name string,
	v1 bool,
	template string,
) (string, error) {
	if !metadata.IsModuleName(name) {
		return "", fault.New(fault.Usage, "make the module", "%q is not a name for a module", name).
			WithHint("letters, digits and _, no digit first")
	}
	in := t.Dir
	if v1 {
		meta, err := t.folder().open()
		if err != nil {
			return "", err
		}
		paths := meta.Paths()
		in = paths[len(paths)-1]
	}
	dir := filepath.Join(in, name)
	if err := empty(dir); err != nil {
		return "", err
	}
	if template != "" {
		if err := fromTemplate(ctx, in, name, template); err != nil {
			_ = os.Remove(dir) // the error of the template is returned
			return "", err
		}
		return dir, begin(ctx, dir)
	}
	files := filesV2(name)
	if v1 {
		files = [][2]string{
			{"module.yml", "name: " + name + "\nlicense: Apache 2.0\nversion: 0.0.1.dev0\n"},
			{"model/_init.cf", ""}, {".gitignore", ignored},
		}
	}
	for _, f := range files {
		if err := writeNew(dir, f[0], f[1]); err != nil {
			return "", err
		}
	}
	return dir, begin(ctx, dir)
}

func filesV2(name string) [][2]string {
	return [][2]string{
		{"setup.cfg", "[metadata]\nname = " + metadata.PackageOf(name) + "\nversion = 0.0.1\n" +
			"license = Apache 2.0\ndescription = The module " + name +
			"\n\n[egg_info]\ntag_build = dev0\n\n" +
			"[options]\nzip_safe = False\ninclude_package_data = True\n" +
			"packages = find_namespace:\n" +
			"install_requires =\n    inmanta-module-std\n\n[options.packages.find]\n" +
			"include = inmanta_plugins*\n"},
		{pyprojectFile, pyproject},
		{"MANIFEST.in", manifest(name)},
		{"model/_init.cf", ""},
		{module.PluginsPackage + "/" + name + "/__init__.py", ""},
		{"README.md", "# " + name + "\n"},
		{changelogFile, "# Changelog\n\n## v0.0.1 - ?\n\n"},
		{".gitignore", ignored},
	}
}

func manifest(name string) string {
	in := module.PluginsPackage + "/" + name
	return "include " + in + "/setup.cfg\ninclude " + in + "/py.typed\nrecursive-include " + in +
		"/model *.cf\ngraft " + in + "/files\ngraft " + in + "/templates\n"
}

// begin creates a git repository in a folder, unless the folder is inside of one.
func begin(ctx context.Context, dir string) error {
	if _, err := git(ctx, dir, "rev-parse", "--is-inside-work-tree"); err == nil {
		return nil
	}
	if _, err := git(ctx, dir, "init", "-q"); err != nil {
		return err
	}
	_, err := git(ctx, dir, "add", "--", ".")
	return err
}

// fromTemplate copies the files of a git repository into the folder of a module, which is empty. It
// replaces {{ name }} in file names and texts by the name of the module. It copies all files or
// none.
func fromTemplate(ctx context.Context, in, name, template string) error {
	if err := tidy(in, "."+name+".create-*"); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(in, "."+name+".create-")
	if err != nil {
		return fault.Wrap(fault.Unavailable, "make the module", err)
	}
	defer os.RemoveAll(temporary)
	if _, err := git(ctx, "", "clone", "-q", "--depth", "1", "--", template,
		temporary); err != nil {
		return err
	}
	err = os.RemoveAll(filepath.Join(temporary, ".git"))
	if err == nil {
		err = fill(temporary, name)
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, "make the module", err)
	}
	if !fileThere(filepath.Join(temporary, metadata.FileV1)) &&
		!fileThere(filepath.Join(temporary, metadata.FileV2)) {
		return fault.New(fault.Invalid, "make the module", "the template %s has neither %s nor %s",
			hide(template), metadata.FileV2, metadata.FileV1).
			WithHint("name a git repository with the files of a module")
	}
	if _, _, err := module.Open(temporary); err != nil {
		return err
	}
	dir := filepath.Join(in, name)
	if err = os.Chmod(temporary, 0o755); err == nil { // readable by all, as folders of git are
		if err = os.Remove(dir); err == nil {
			err = os.Rename(temporary, dir)
		}
	}
	return fault.Wrap(fault.Unavailable, "make the module", err)
}

// fill replaces the placeholders of a template, such as {{ name }}.
func fill(dir, name string) error {
	names := strings.NewReplacer(
		"{{ name }}",
		name,
		"{{name}}",
		name,
		"{{ package }}",
		metadata.PackageOf(name),
		"{{package}}",
		metadata.PackageOf(name),
	)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, names.Replace(e.Name()))
		if before := filepath.Join(dir, e.Name()); path != before {
			if err := os.Rename(before, path); err != nil {
				return err
			}
		}
		switch {
		case e.IsDir():
			err = fill(path, name)
		case e.Type().IsRegular():
			var text []byte
			if text, err = os.ReadFile(path); err == nil {
				err = Replace(path, []byte(names.Replace(string(text))))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
