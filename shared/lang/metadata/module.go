package metadata

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/pep440"
)

// The files of modules.
const (
	FileV1           = "module.yml"
	FileV2           = "setup.cfg"
	RequirementsFile = "requirements.txt"
)

// Module is the metadata of a module.
type Module struct {
	File            string
	Name            string // of the module, not of its package
	Version         pep440.Version
	License         string
	Description     string
	Deprecated      bool
	CompilerVersion string        // V1 only
	Requires        []Requirement // modules, and packages of V2
	Freeze          Freeze
	FourDigits      bool // four_digit_version, V2 only
}

var moduleKeys = []string{
	"name", "version", "license", "description", "deprecated", "compiler_version", "requires",
	"freeze_recursive", "freeze_operator",
}

// ReadModuleV1 reads a module.yml.
func ReadModuleV1(file string, text []byte) (*Module, diag.Problems, error) {
	r := &reader{file: file, code: CodeModule}
	root, m := r.document(text)
	if m == nil {
		return nil, nil, r.problems.Err()
	}
	for _, example := range []string{"name: mymodule", "version: 0.1.0", "license: Apache 2.0"} {
		r.needed(root, m, example)
	}
	r.misspelt(root)
	out := &Module{File: file, Name: r.text(m, "name"), License: r.text(m, "license")}
	out.Description = r.text(m, "description")
	if n := m["name"]; n != nil && out.Name != "" && !IsModuleName(out.Name) {
		r.bad(n, "letters, digits and _, no digit first", "%s is not a name for a module", out.Name)
	}
	out.Version = r.version(m, "version")
	out.CompilerVersion = r.version(m, "compiler_version").String()
	if m["compiler_version"] == nil {
		out.CompilerVersion = ""
	}
	if b := r.flag(m, "deprecated"); b != nil {
		out.Deprecated = *b
	}
	out.Requires, out.Freeze = r.requires(m), r.freeze(m)
	if err := r.problems.Err(); err != nil {
		return nil, r.warnings, err
	}
	return out, r.warnings, nil
}

// misspelt warns of keys that resemble known ones. Other unknown keys, such as source and author,
// are for readers only.
func (r *reader) misspelt(root *yaml.Node) {
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := resolved(root.Content[i])
		known := strings.Contains(" "+strings.Join(moduleKeys, " ")+" ", " "+key.Value+" ")
		if hint := eval.DidYouMean(key.Value, moduleKeys); !known && hint != "" &&
			key.Value != "source" && key.Value != "author" {
			r.warn(key, hint, "%s has no meaning here and is ignored", key.Value)
		}
	}
}

func (r *reader) version(m members, name string) pep440.Version {
	text := r.text(m, name)
	if text == "" {
		return pep440.Version{}
	}
	v, err := pep440.Parse(text)
	if err != nil {
		r.bad(m[name], "write such as 1.2.3 or 0.1.0.dev0",
			"%s is %s, which is not a version (PEP 440)", name, text)
	}
	return v
}
