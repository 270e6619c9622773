package lsp

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsp/names"
	"southbound/shared/lang/lsp/text"
	"southbound/shared/lang/module"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// maxPython is the maximum number of Python files that are read of a module.
const maxPython = 1000

// readPython reads the plugins that the modules of a view declare in Python.
func (s *workspace) readPython(v *view) {
	v.python = nil
	for _, m := range v.loaded.Modules {
		for _, path := range pythonFiles(m) {
			if content, ok := s.texts.text(path); ok {
				v.python = append(v.python, declaredPlugins(pythonNamespace(m, path), path, content)...)
			}
		}
	}
}

// pythonFiles returns the Python files of a module, in order.
func pythonFiles(m *module.Module) []string {
	var out []string
	_ = filepath.WalkDir(m.Code, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // skip files that cannot be read
		case len(out) >= maxPython:
			return fs.SkipAll
		case d.IsDir() && path != m.Code && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && filepath.Ext(path) == ".py":
			out = append(out, path)
		}
		return nil
	})
	return out
}

// pythonNamespace returns the namespace of the plugins in a file: sub/x.py of a module is
// module::sub::x.
func pythonNamespace(m *module.Module, path string) string {
	rel, err := filepath.Rel(m.Code, path)
	if err != nil {
		return m.Name
	}
	parts := strings.Split(strings.TrimSuffix(filepath.ToSlash(rel), ".py"), "/")
	if parts[len(parts)-1] == "__init__" {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(append([]string{m.Name}, parts...), "::")
}

// silent returns Python plugins for an evaluation in an editor: their results are unknown. called
// is set when one of them is called.
func silent(plugins []eval.Plugin, called *atomic.Bool) []eval.Plugin {
	out := slices.Clone(plugins)
	for i := range out {
		p := &out[i]
		p.Result = ""
		p.Params = slices.Clone(p.Params)
		for n := range p.Params { // only Python can check the types
			p.Params[n].Type = ""
		}
		for _, rest := range []**eval.Param{&p.Rest, &p.Named} {
			if *rest != nil {
				*rest = &eval.Param{Name: (*rest).Name}
			}
		}
		p.Call = func(*eval.Context, eval.Args) (types.Value, error) {
			called.Store(true)
			return &types.Unknown{Why: "the editor does not run Python"}, nil
		}
	}
	return out
}

// leftOpen reports whether a problem may exist only because Python does not run in an editor: the
// results of plugins decide which statements are executed.
func leftOpen(code string) bool {
	switch code {
	case eval.CodeIncomplete, eval.CodeStuck, eval.CodeArity, eval.CodeOptional,
		eval.CodeIndexMissing, eval.CodeNoMatch, eval.CodeNoImplement:
		return true
	}
	return false
}

// pluginPlace returns the place of a plugin's declaration in Python; false for a built-in plugin.
func (s *workspace) pluginPlace(x *names.Symbol) (location, bool) {
	if x.Kind != names.Plugin || x.Plugin.At == nil {
		return location{}, false
	}
	content, ok := s.texts.text(x.Plugin.At.File)
	if !ok {
		return location{}, false
	}
	t := text.New(content)
	from := t.At(x.Plugin.At.Line, x.Plugin.At.Column)
	to := from + max(strings.IndexAny(content[from:], "( \t\\\r\n"), 0)
	return s.location(x.Plugin.At.File, t, t.Range(from, to, s.encoding))
}

// dataclasses returns the entities that extend std::Dataclass. An evaluation assumes that their
// Python classes are complete, since the editor does not read those.
func (v *view) dataclasses() []eval.Dataclass {
	base := v.names.Entity("std::Dataclass")
	var out []eval.Dataclass
	for _, src := range v.loaded.Sources {
		for _, st := range src.File.Body {
			e, ok := st.(*syntax.Entity)
			if !ok || base == nil {
				continue
			}
			full := src.Namespace + "::" + e.Name.Text
			if x := v.names.Entity(full); x != nil && x.Is(base) {
				out = append(out, eval.Dataclass{Entity: full})
			}
		}
	}
	return out
}
