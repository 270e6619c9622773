package modtool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
)

// Convert converts the module V1 in a folder to a module V2, in place. It changes nothing if a file
// that it would write exists.
func (t *Tool) Convert(dir string) error {
	m, warnings, err := module.Open(dir)
	t.warn(warnings)
	if err != nil {
		return err
	}
	if m.Generation == 2 {
		return fault.New(fault.Invalid, "convert the module", "%s is a module V2 already", m.Name)
	}
	for _, name := range []string{"MANIFEST.in", module.PluginsPackage, "setup.py"} {
		if fileThere(filepath.Join(dir, name)) {
			return fault.New(fault.Conflict, "convert the module", "%s is there already",
				filepath.Join(dir, name)).
				WithHint("remove it, or give it another name")
		}
	}
	setup, err := setupOf(m)
	if err != nil {
		return err
	}
	if err := Replace(filepath.Join(dir, metadata.FileV2), setup); err != nil {
		return err
	}
	if err := writePyproject(dir); err != nil {
		return err
	}
	if err := writeNew(dir, "MANIFEST.in", manifest(m.Name)); err != nil {
		return err
	}
	code := filepath.Join(dir, module.PluginsPackage, m.Name)
	if fileThere(m.Code) {
		if err := os.MkdirAll(filepath.Dir(code), 0o755); err != nil {
			return fault.Wrap(fault.Unavailable, "convert the module", err)
		}
		err = os.Rename(m.Code, code)
	} else {
		err = writeNew(code, "__init__.py", "")
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, "convert the module", err)
	}
	if err := os.Remove(filepath.Join(dir, metadata.FileV1)); err != nil {
		return fault.Wrap(fault.Unavailable, "convert the module", err)
	}
	t.Say("%s is a module V2 now: %s is instead of %s, and its code is in %s/%s; nothing is "+
		"committed", m.Name, metadata.FileV2, metadata.FileV1, module.PluginsPackage, m.Name)
	return nil
}

// setupOf returns the setup.cfg for a module V1: the settings of its module.yml, its imports, and
// its requirements.txt.
func setupOf(m *module.Module) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(m.Dir, metadata.FileV2))
	if err != nil && !os.IsNotExist(err) {
		return nil, fault.Wrap(fault.Unavailable, "convert the module", err)
	}
	meta := m.Meta
	set := func(section, name, value string) { text = setOption(text, section, name, value) }
	set("metadata", "name", metadata.PackageOf(m.Name))
	set("metadata", "version", meta.Version.Base().String())
	set("metadata", "license", meta.License)
	if meta.Description != "" {
		set("metadata", "description", strings.Join(strings.Fields(meta.Description), " "))
	}
	set(
		"metadata",
		"freeze_recursive",
		map[bool]string{true: "True", false: "False"}[meta.Freeze.Recursive],
	)
	set("metadata", "freeze_operator", meta.Freeze.Operator)
	if meta.Deprecated {
		set("metadata", "deprecated", "True")
	}
	if tag := meta.Version.Tag(); tag != "" {
		set("egg_info", "tag_build", tag)
	}
	requires, err := requiresOf(m)
	if err != nil {
		return nil, err
	}
	if len(requires) > 0 {
		set("options", "install_requires", "\n    "+strings.Join(requires, "\n    "))
	}
	set("options", "zip_safe", "False")
	set("options", "include_package_data", "True")
	set("options", "packages", "find_namespace:")
	set("options.packages.find", "include", module.PluginsPackage+"*")
	return text, nil
}

// requiresOf returns the packages that a module V1 requires: modules first, sorted.
func requiresOf(m *module.Module) ([]string, error) {
	imports, err := moduleImports(m)
	if err != nil {
		return nil, err
	}
	var modules, packages []string
	for _, r := range m.Meta.Requires {
		if r.Module == "" {
			packages = append(packages, r.Requirement.String())
			continue
		}
		modules = append(modules, r.Requirement.String())
		imports = slices.DeleteFunc(imports, func(name string) bool { return name == r.Module })
	}
	for _, name := range imports {
		if name != m.Name {
			modules = append(modules, metadata.PackageOf(name))
		}
	}
	slices.Sort(modules)
	return slices.Concat(slices.Compact(modules), packages), nil
}

// pyprojectFile names the file with the build system of a module's package.
const pyprojectFile = "pyproject.toml"

// pyprojectOf returns the pyproject.toml of a folder, with a build-system section.
func pyprojectOf(dir string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, pyprojectFile))
	switch {
	case os.IsNotExist(err):
		return []byte(pyproject), nil
	case err != nil:
		return nil, fault.Wrap(fault.Unavailable, "read "+pyprojectFile, err)
	case strings.Contains(string(text), "[build-system]"):
		return text, nil
	}
	return []byte(strings.TrimRight(string(text), "\n") + "\n\n" + pyproject), nil
}

// writePyproject writes the pyproject.toml of a folder, or adds its build-system section.
func writePyproject(dir string) error {
	text, err := pyprojectOf(dir)
	if err != nil {
		return err
	}
	return Replace(filepath.Join(dir, pyprojectFile), text)
}
