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

// Prefix is the prefix of the names of packages that are modules.
const Prefix = "inmanta-module-"

// Requirement is a requirement of a project or a module: another module, or a Python package.
type Requirement struct {
	pep508.Requirement          // by the name of the package
	Module             string   // the module of the package; "" for another package
	At                 diag.Pos // the place of the requirement
}

// ModuleOf returns the name of a package's module; "" if the package is not a module.
func ModuleOf(pkg string) string {
	if name, ok := strings.CutPrefix(pep508.Canonical(pkg), Prefix); ok {
		return strings.ReplaceAll(name, "-", "_")
	}
	return ""
}

// PackageOf returns the name of a module's package.
func PackageOf(module string) string { return Prefix + strings.ReplaceAll(module, "_", "-") }

// String returns the requirement in the notation of module files, with the name of the module.
func (r Requirement) String() string {
	if r.Module == "" {
		return r.Requirement.String()
	}
	text := r.Requirement
	text.Name = r.Module
	return text.String()
}

// Spec returns the requirement in the notation of project.yml: "net ~=0.2.4".
func (r Requirement) Spec() string {
	return strings.TrimSpace(r.Module + " " + r.Set.String())
}

var (
	moduleName = pattern.Lazy(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	// loose matches constraints without commas between them: std >1.0 <2.5
	loose = pattern.Lazy(`([^\s,(\[])[ \t]+(===|~=|==|!=|<=|>=|<|>)`)
)

// IsModuleName reports whether a name is valid for a module.
func IsModuleName(name string) bool { return moduleName().MatchString(name) && len(name) <= 100 }

// ParseModule parses a requirement of a module by its name, such as "std >1.0 <2.5". On an error it
// returns a message and a hint.
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

// commas inserts missing commas between constraints. The documentation of modules omits them.
func commas(text string) string {
	name := regexp.MustCompile(`^\s*[^\s<>=!~]+\s*`).FindString(text)
	rest := loose().ReplaceAllString(text[len(name):], "$1, $2")
	return name + rest
}

// ParsePackage parses a requirement of a package, in the form of PEP 508 or in the form of modules:
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

// forPip converts the form of modules to pip's form, in which a branch follows an @.
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

// Set returns the constraints of all requirements together.
func Set(all []Requirement) pep440.Set {
	var out pep440.Set
	for _, r := range all {
		out = append(out, r.Set...)
	}
	return out
}

// PipOption is a line of a requirements.txt that does not name a package: an option of pip, or the
// path or address of a package. Name is "" for a path or address.
type PipOption struct {
	Name  string // the long form, such as --editable
	Value string
	At    diag.Pos
}

// String returns the option in pip's notation.
func (o PipOption) String() string { return strings.TrimSpace(o.Name + " " + o.Value) }

// longOptions maps short options to long ones.
var longOptions = map[string]string{"-e": "--editable", "-c": "--constraint", "-i": "--index-url",
	"-f": "--find-links"}

// pipOption parses an option of pip; false if the text is none.
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
		end = 2 // the value of a short option may follow directly
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

// location matches the start of a package address.
var location = pattern.Lazy(`^(?:git|hg|svn|bzr)\+[a-z]|^[a-z]+://`)

// Requirements parses a requirements.txt. It returns lines that do not name a package as options.
// Lines that include another requirements file are errors.
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

// reason returns the message of an error without its operation.
func reason(err error) string {
	s := err.Error()
	for _, op := range []string{"read the requirement: ", "read the version: "} {
		s = strings.TrimPrefix(s, op)
	}
	return s
}
