package project

import (
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
	"southbound/shared/lang/pep440"
	"southbound/shared/lang/std"
	"southbound/shared/lang/syntax"
)

// Std is the module std of a project.
type Std struct {
	Version string // "" if it is unknown
	Dir     string // "" for the built-in module
}

// builtInStd returns the built-in module std, for checks of requirements.
func builtInStd() *module.Module {
	v, _ := pep440.Parse(std.Version) // a constant
	return &module.Module{
		Name: "std", Generation: 2, BuiltIn: true, Meta: &metadata.Module{Version: v},
	}
}

// installedStd records the std of the virtual environment, whose model files replace the built-in
// ones.
func (l *loader) installedStd(m *module.Module) {
	l.std = m
	l.project.Std = Std{Dir: m.Dir}
	if v := m.Version(); !v.IsZero() {
		l.project.Std.Version = v.String()
	}
	l.project.Env.Modules["std"] = m.Dir
}

// needsStdCode reports whether the model needs the Python code of the installed std: it uses the
// resources of std::testing, or it calls a plugin of std that the program does not have or that
// Options.StdInPython selects.
func (l *loader) needsStdCode() bool {
	if l.std == nil || !l.std.HasCode() {
		return false
	}
	if l.done["std::testing"] {
		return true
	}
	own := map[string]bool{}
	for _, p := range std.Plugins() {
		python := l.options.StdInPython != nil && l.options.StdInPython(p.Name)
		own[strings.TrimPrefix(p.Name, "std::")] = !python
	}
	return slices.ContainsFunc(l.project.Sources, func(s eval.Source) bool {
		return callsOther(s.File, own)
	})
}

// callsOther reports whether a file calls a plugin of std that is not in own.
func callsOther(f *syntax.File, own map[string]bool) bool {
	names := map[string]bool{"std": true}
	for _, st := range f.Body {
		if i, ok := st.(*syntax.Import); ok && i.Module.Text == "std" && i.As != nil {
			names[i.As.Text] = true
		}
	}
	for i := 3; i < len(f.Tokens); i++ {
		t := f.Tokens[i-3 : i+1]
		if t[3].Text == "(" && t[2].Kind == syntax.Name && t[1].Text == "::" &&
			t[0].Kind == syntax.Name && names[t[0].Text] && !own[t[2].Text] {
			return true
		}
	}
	return false
}
