package metadata

import (
	"fmt"
	"regexp"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/pep440"
	"southbound/shared/lang/pep508"
	"southbound/shared/pattern"
)

// Prefix is how the names of packages begin that are modules.
const Prefix = "inmanta-module-"

// Requirement is what a project or a module asks for: another module, or a package of Python.
type Requirement struct {
	pep508.Requirement          // by the name of the package
	Module             string   // that the package is; "" if it is none
	At                 diag.Pos // where it is asked for
}

// ModuleOf returns the name of the module that a package is; "" if it is none.
func ModuleOf(pkg string) string {
	if name, ok := strings.CutPrefix(pep508.Canonical(pkg), Prefix); ok {
		return strings.ReplaceAll(name, "-", "_")
	}
	return ""
}

// PackageOf returns the name of the package that a module is.
func PackageOf(module string) string { return Prefix + strings.ReplaceAll(module, "_", "-") }

// String returns the requirement as a module's file has it: a module by its name.
func (r Requirement) String() string {
	if r.Module == "" {
		return r.Requirement.String()
	}
	text := r.Requirement
	text.Name = r.Module
	return text.String()
}

// Spec returns the requirement as it is written behind a name in project.yml: "net ~=0.2.4".
func (r Requirement) Spec() string {
	return strings.TrimSpace(r.Module + " " + r.Set.String())
}

var (
	moduleName = pattern.Lazy(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	// loose is a requirement whose constraints have no commas between them: std >1.0 <2.5
	loose = pattern.Lazy(`([^\s,(\[])[ \t]+(===|~=|==|!=|<=|>=|<|>)`)
)

// IsModuleName reports whether a module can have a name.
func IsModuleName(name string) bool { return moduleName().MatchString(name) && len(name) <= 100 }

// ParseModule reads a requirement of a module by its name, such as "std >1.0 <2.5". What is wrong
// with it is said by a text and a hint.
func ParseModule(text string) (r Requirement, wrong, hint string) {
	form := "write the name of a module and constraints, such as `std >= 1.0, < 2.5`"
	parsed, err := pep508.Parse(commas(text))
	if err != nil {
		return r, fmt.Sprintf("%q is not a requirement of a module", text), form
	}
	if m := ModuleOf(parsed.Name); m != "" {
		return r, parsed.Name + " is the name of a package, expected that of a module",
			"write " + m
	}
	if strings.Contains(parsed.Name, "-") {
		return r, parsed.Name + " is not the name of a module",
			"names of modules have _ where packages have -: write " +
				strings.ReplaceAll(parsed.Name, "-", "_")
	}
	if !IsModuleName(parsed.Name) || parsed.URL != "" || parsed.Marker != nil {
		return r, fmt.Sprintf("%q is not a requirement of a module", text), form
	}
	r.Module, r.Requirement = parsed.Name, parsed
	r.Name = PackageOf(parsed.Name)
	return r, "", ""
}

// commas puts commas between constraints that have none, as the documentation of modules has them.
func commas(text string) string {
	name := regexp.MustCompile(`^\s*[^\s<>=!~]+\s*`).FindString(text)
	rest := loose().ReplaceAllString(text[len(name):], "$1, $2")
	return name + rest
}

// ParsePackage reads a requirement of a package, in the form of PEP 508 or in that of modules:
// eggname@git+https://../repository#branch.
func ParsePackage(text string) (Requirement, error) {
	parsed, err := pep508.Parse(forPip(text))
	if err != nil {
		return Requirement{}, err
	}
	return Requirement{Requirement: parsed, Module: ModuleOf(parsed.Name)}, nil
}

var branch = pattern.Lazy(`^([A-Za-z0-9][-A-Za-z0-9._]*(?:\[[^\]]*\])?)\s*@\s*` +
	`((?:git|hg|svn|bzr)\+[^\s#]+)(?:#([^\s#=]+))?(\s+;.*)?$`)

// forPip rewrites the form of modules into that of pip, where a branch is behind an @.
func forPip(text string) string {
	m := branch().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return text
	}
	if m[3] != "" {
		m[3] = "@" + m[3]
	}
	return m[1] + " @ " + m[2] + m[3] + m[4]
}

// Set returns the constraints of all of several requirements.
func Set(all []Requirement) pep440.Set {
	var out pep440.Set
	for _, r := range all {
		out = append(out, r.Set...)
	}
	return out
}

// PipOption is a line of a requirements.txt that does not name a package: an option of pip, or a
// path or address of a package, which has no name here.
type PipOption struct {
	Name  string // in its long form, such as --editable
	Value string
	At    diag.Pos
}

// String returns the option as pip reads it.
func (o PipOption) String() string { return strings.TrimSpace(o.Name + " " + o.Value) }

// longOptions are the names of options that have short ones.
var longOptions = map[string]string{"-e": "--editable", "-c": "--constraint", "-i": "--index-url",
	"-f": "--find-links"}

// pipOption reads an option of pip; false if it is none.
func pipOption(text string) (PipOption, bool) {
	located := strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") ||
		location().MatchString(text)
	if located {
		return PipOption{Value: text}, true
	}
	if !strings.HasPrefix(text, "-") {
		return PipOption{}, false
	}
	end := strings.IndexAny(text, " \t=")
	if !strings.HasPrefix(text, "--") {
		end = 2 // the value of a short option may be right behind it
	}
	if end < 0 || end > len(text) {
		return PipOption{Name: text}, true
	}
	o := PipOption{Name: text[:end], Value: strings.Trim(text[end:], " \t=")}
	if long := longOptions[o.Name]; long != "" {
		o.Name = long
	}
	return o, true
}

// location is how addresses of packages begin.
var location = pattern.Lazy(`^(?:git|hg|svn|bzr)\+[a-z]|^[a-z]+://`)

// Requirements reads a requirements.txt. Lines that do not name a package are returned as options;
// those that name another such file are errors.
func Requirements(file string, text []byte) (out []Requirement, options []PipOption, err error) {
	r := &reader{file: file, code: CodeModule}
	line, start := "", 0
	for i, part := range strings.Split(string(text), "\n") {
		if line == "" {
			start = i + 1
		}
		part = strings.TrimRight(part, "\r")
		if rest, more := strings.CutSuffix(part, `\`); more {
			line += rest
			continue
		}
		r.requirement(line+part, start, &out, &options)
		line = ""
	}
	r.requirement(line, start, &out, &options)
	return out, options, r.problems.Err()
}

var comment = pattern.Lazy(`(^|\s)#.*$`)

func (r *reader) requirement(line string, at int, out *[]Requirement, options *[]PipOption) {
	text := strings.TrimSpace(comment().ReplaceAllString(line, ""))
	column := len(line) - len(strings.TrimLeft(line, " \t")) + 1
	option, isOption := pipOption(text)
	switch {
	case text == "":
	case strings.HasPrefix(text, "-r") || strings.HasPrefix(text, "--requirement"):
		r.problems.Add(r.problem(r.place(at, column), "write the requirements of that file here",
			"requirements of another file are not read"))
	case isOption:
		option.At = r.place(at, column)
		*options = append(*options, option)
	default:
		req, err := ParsePackage(text)
		if err != nil {
			r.problems.Add(r.problem(r.place(at, column), "write it as pip reads it, such as "+
				"`requests>=2.31` or `name@git+https://host/repository#branch`", "%s", reason(err)))
			return
		}
		req.At = r.place(at, column)
		*out = append(*out, req)
	}
}

// reason returns what an error says, without what was being done.
func reason(err error) string {
	s := err.Error()
	for _, op := range []string{"read the requirement: ", "read the version: "} {
		s = strings.TrimPrefix(s, op)
	}
	return s
}
