package python

import (
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/types"
)

// sources locate the modules of a project, and format their paths for messages.
type sources struct {
	python  string // the program that runs them
	dir     string // of the project, absolute
	shownAs string // how messages show dir
	modules []Module
	others  []Module // without code
}

// missing returns the error for a package that the virtual environment lacks.
func (s *sources) missing(name, said string) error {
	if name == "" {
		return fault.New(fault.Invalid, "run Python",
			"the library of modules cannot be used by %s: %s",
			s.python, said).
			WithHint("remove the virtual environment and create it again, with Python 3.13 or " +
				"later, such as with `southbound project install`")
	}
	return fault.New(fault.Invalid, "run Python",
		"the virtual environment of %s has no package %s, which modules with Python code need: "+
			"install inmanta-core there, such as with `southbound project install`", s.python,
		name)
}

func (s *sources) importProblem(f []types.Value) diag.Problem {
	p := diag.Problem{
		Code: CodePython, Pos: diag.Pos{File: s.shown(s.dirOf(text(f[0])))},
		Message: "the Python code of the module " + text(f[0]) + " cannot be used: " + text(f[1]),
	}
	places := s.places(f[2])
	if len(places) > 0 {
		p.Pos, p.Related = places[0].Pos, places[1:]
	}
	if len(f) > 3 {
		p.Hint = s.lackHint(text(f[0]), text(f[3]))
	}
	return p
}

// lackHint returns a hint on where to declare a missing import: a Python package, or a module of
// models. It returns "" if no import is missing.
func (s *sources) lackHint(module, lacks string) string {
	top, _, _ := strings.Cut(lacks, ".")
	switch of, ok := strings.CutPrefix(lacks, pluginsPrefix); {
	case top == "":
		return ""
	case ok:
		of, _, _ = strings.Cut(of, ".")
		return "`southbound module add " + of + "` adds the module that has it, if there is one"
	}
	file := "install_requires in its setup.cfg"
	for _, m := range s.modules {
		if m.Name == module && m.Legacy {
			file = "its requirements.txt"
		}
	}
	return "name the package that has " + top + " in " + file + ", or in requirements.txt of the " +
		"project, and run `southbound project install`"
}

// pluginsPrefix is the prefix of all Python names that modules of models bring.
const pluginsPrefix = "inmanta_plugins."

// inModule reports whether a file is Python code of a module: in the folder of the module, in a
// package of the environment, or in the code of a version.
func (s *sources) inModule(path string) bool {
	if path == "" {
		return false
	}
	inside := func(m Module) bool {
		rel, err := filepath.Rel(m.Dir, path)
		return err == nil && filepath.IsLocal(rel)
	}
	return slices.ContainsFunc(s.modules, inside) ||
		strings.Contains("/"+path, "/"+strings.TrimSuffix(pluginsPrefix, ".")+"/")
}

// shown returns a path for messages: relative to the folder of the model if the file is below it.
func (s *sources) shown(path string) string {
	rel, err := filepath.Rel(s.dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join(s.shownAs, rel)
}

func (s *sources) dirOf(module string) string {
	for _, m := range s.modules {
		if m.Name == module {
			return m.Dir
		}
	}
	return ""
}

// places returns the places of a traceback, the innermost first.
func (s *sources) places(v types.Value) []diag.Related {
	var out []diag.Related
	for _, f := range items(v) {
		frame := items(f)
		if len(frame) != 4 {
			continue
		}
		line, _ := frame[1].(int64)
		r := diag.Related{Pos: diag.Pos{File: s.shown(text(frame[0])), Line: int(line)}}
		if name := text(frame[2]); name != "" {
			r.Message = "in " + name + ": "
		}
		r.Message += text(frame[3])
		out = append(out, r)
	}
	return out
}
