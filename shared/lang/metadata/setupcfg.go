package metadata

import (
	"fmt"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/pep440"
	"southbound/shared/pattern"
)

// Option is a value in an INI file, with its place.
type Option struct {
	Value        string
	Line, Column int // the place of its text
}

// Sections is an INI file, as Python's configparser reads it: options by lower-case names.
type Sections map[string]map[string]Option

var (
	section = pattern.Lazy(`^\[(.+)\]`)
	option  = pattern.Lazy(`^(.*?)\s*[=:]\s*(.*)$`)
)

// ReadSections parses an INI file such as setup.cfg.
func ReadSections(file string, text []byte) (Sections, error) {
	r := &reader{file: file, code: CodeModule}
	s := r.sections(text)
	return s, r.problems.Err()
}

func (r *reader) sections(text []byte) Sections {
	out := Sections{}
	if len(text) > MaxText {
		r.problems.Add(r.problem(r.place(1, 1), "", "the file is larger than %d bytes", MaxText))
		return out
	}
	p := &cfg{reader: r, out: out}
	for i, line := range strings.Split(string(text), "\n") {
		p.line(i+1, strings.TrimRight(line, "\r"))
	}
	for _, options := range out {
		for name, o := range options {
			o.Value = strings.TrimRight(o.Value, "\n")
			options[name] = o
		}
	}
	return out
}

// cfg parses an INI file line by line.
type cfg struct {
	*reader
	out     Sections
	options map[string]Option // of the current section
	name    string            // of the current option
	indent  int               // of its line
}

func (p *cfg) line(n int, line string) {
	text := strings.TrimSpace(line)
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	switch {
	case text == "" || text[0] == '#' || text[0] == ';':
		if p.name != "" { // keep line numbers right if the line is within a value
			p.more("")
		}
		return
	case p.name != "" && indent > p.indent:
		p.more(text)
		return
	}
	p.name, p.indent = "", indent
	if m := section().FindStringSubmatch(text); m != nil {
		p.section(n, indent+1, m[1])
		return
	}
	m := option().FindStringSubmatch(text)
	at := p.place(n, indent+1)
	switch {
	case p.options == nil:
		p.problems.Add(p.problem(at, "write a line such as [metadata] above it",
			"this line is in no section"))
	case m == nil || m[1] == "":
		p.problems.Add(p.problem(at, "write `name = value`; lines that go on are indented",
			"this line is neither a section nor an option"))
	default:
		p.add(n, indent, text, m)
	}
}

// add starts an option.
func (p *cfg) add(n, indent int, text string, m []string) {
	name := strings.ToLower(m[1])
	if first, twice := p.options[name]; twice {
		p.problems.Add(p.problem(p.place(n, indent+1), "keep one of them",
			"%s is there twice, first in line %d", name, first.Line))
		return
	}
	p.options[name] = Option{Value: m[2], Line: n, Column: indent + len(text) - len(m[2]) + 1}
	p.name = name
}

func (p *cfg) section(n, column int, name string) {
	if p.out[name] != nil {
		p.problems.Add(
			p.problem(p.place(n, column), "keep one of them", "[%s] is there twice", name),
		)
	} else {
		p.out[name] = map[string]Option{}
	}
	p.options = p.out[name]
}

// more appends a line to the current option.
func (p *cfg) more(text string) {
	o := p.options[p.name]
	o.Value += "\n" + text
	p.options[p.name] = o
}

// ReadModuleV2 parses the setup.cfg of a module.
func ReadModuleV2(file string, text []byte) (*Module, diag.Problems, error) {
	r := &reader{file: file, code: CodeModule}
	s := r.sections(text)
	meta := s["metadata"]
	if meta == nil && r.problems == nil {
		r.problems.Add(
			r.problem(r.place(1, 1), "add a section [metadata] with name, version and license",
				"the section [metadata] is missing"),
		)
	}
	if len(r.problems) > 0 {
		return nil, nil, r.problems.Err()
	}
	out := &Module{
		File:        file,
		License:     meta["license"].Value,
		Description: meta["description"].Value,
	}
	for _, example := range []string{"name = inmanta-module-x", "version = 0.1.0",
		"license = Apache 2.0"} {
		if name, _, _ := strings.Cut(example, " "); strings.TrimSpace(meta[name].Value) == "" {
			r.problems.Add(
				r.problem(r.place(1, 1), "add a line such as `"+example+"` to [metadata]",
					"%s is missing", name),
			)
		}
	}
	r.names(meta["name"], out)
	r.versions(s, out)
	out.Deprecated = r.option(meta, "deprecated")
	out.FourDigits = r.option(meta, "four_digit_version")
	out.Freeze = Freeze{Recursive: r.option(meta, "freeze_recursive"), Operator: Operators()[0]}
	if o, ok := meta["freeze_operator"]; ok {
		out.Freeze.Operator = o.Value
		if o.Value != "~=" && o.Value != "==" && o.Value != ">=" {
			r.problems.Add(
				r.problem(
					r.at(o),
					"",
					"freeze_operator is %s, expected one of ~=, ==, >=",
					o.Value,
				),
			)
		}
	}
	out.Requires = r.installRequires(s["options"]["install_requires"])
	if err := r.problems.Err(); err != nil {
		return nil, r.warnings, err
	}
	return out, r.warnings, nil
}

func (r *reader) at(o Option) diag.Pos { return r.place(o.Line, o.Column) }

// names reads the name of a module's package.
func (r *reader) names(o Option, out *Module) {
	name := strings.TrimSpace(o.Value)
	module, ok := strings.CutPrefix(name, Prefix)
	switch {
	case name == "":
	case strings.Contains(name, "_"):
		r.problems.Add(r.problem(r.at(o), "write "+strings.ReplaceAll(name, "_", "-"),
			"%s is not the name of a module's package: it has a _", name))
	case !ok || !IsModuleName(strings.ReplaceAll(module, "-", "_")):
		r.problems.Add(r.problem(r.at(o), "write such as inmanta-module-net",
			"%s is not the name of a module's package, which begins with inmanta-module-", name))
	}
	out.Name = strings.ReplaceAll(module, "-", "_")
}

// versions reads the version and its tag.
func (r *reader) versions(s Sections, out *Module) {
	o := s["metadata"]["version"]
	text := strings.TrimSpace(o.Value)
	if text == "" {
		return
	}
	v, err := pep440.Parse(text)
	switch {
	case err != nil:
		r.problems.Add(r.problem(r.at(o), "write such as 1.2.3",
			"version is %s, which is not a version (PEP 440)", text))
		return
	case v.String() != v.Base().String():
		r.problems.Add(
			r.problem(r.at(o), fmt.Sprintf("write `version = %s`, and `tag_build = %s` in "+
				"the section [egg_info]", v.Base(), v.Tag()),
				"version is %s, expected one without a tag", text),
		)
		return
	}
	out.Version = v
	if tag := s["egg_info"]["tag_build"]; strings.TrimSpace(tag.Value) != "" {
		full, err := pep440.Parse(text + "." + strings.TrimLeft(strings.TrimSpace(tag.Value), "."))
		if err != nil {
			r.problems.Add(r.problem(r.at(tag), "write such as dev0",
				"tag_build is %s, which is not the tag of a version", tag.Value))
			return
		}
		out.Version = full
	}
}

// option reads a boolean; false if it is missing.
func (r *reader) option(of map[string]Option, name string) bool {
	o, ok := of[name]
	if !ok {
		return false
	}
	yes, ok := boolean(strings.TrimSpace(o.Value))
	if !ok {
		r.problems.Add(r.problem(r.at(o), "", "%s is %s, expected True or False", name, o.Value))
	}
	return yes
}

// installRequires parses the requirements of a package, one a line.
func (r *reader) installRequires(o Option) []Requirement {
	var out []Requirement
	for i, line := range strings.Split(o.Value, "\n") {
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		at := r.place(o.Line+i, 0)
		req, err := ParsePackage(text)
		if err != nil {
			r.problems.Add(
				r.problem(
					at,
					"write it such as `inmanta-module-std >=1.0,<2.5`",
					"%s",
					reason(err),
				),
			)
			continue
		}
		if rest, ok := strings.CutPrefix(req.Name, "inmanta-modules-"); ok {
			r.warnings.Add(r.problem(at, "did you mean "+Prefix+rest+"?",
				"%s is not the package of a module", req.Name))
		}
		req.At = at
		out = append(out, req)
	}
	return out
}
