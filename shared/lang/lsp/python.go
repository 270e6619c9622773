package lsp

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsp/names"
	"southbound/shared/lang/lsp/text"
	"southbound/shared/lang/module"
	"southbound/shared/lang/pysource"
	"southbound/shared/lang/types"
)

// maxPython is how many files with Python code of a module are read.
const maxPython = 1000

// declared returns the plugins that the modules of a view declare in Python, as their texts say.
func (s *server) declared(v *view) []eval.Plugin {
	var out []eval.Plugin
	for _, m := range v.loaded.Modules {
		for _, path := range pythonFiles(m) {
			content, ok := s.texts.text(path)
			if !ok {
				continue
			}
			t := s.texts.script(path, content)
			ns := pythonNamespace(m, path)
			for i := range t.plugins {
				p := plugin(ns, &t.plugins[i])
				at := t.Position(t.plugins[i].At, text.UTF32)
				p.At = &diag.Pos{File: path, Line: int(at.Line) + 1, Column: int(at.Character) + 1}
				out = append(out, p)
			}
		}
	}
	return out
}

// pythonFiles returns the Python files of a module, in order.
func pythonFiles(m *module.Module) []string {
	var out []string
	_ = filepath.WalkDir(m.Code, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read declares nothing
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

// plugin returns a plugin as it is shown. It is called by no one.
func plugin(namespace string, p *pysource.Plugin) eval.Plugin {
	out := eval.Plugin{
		Name: namespace + "::" + p.Name, Doc: p.Doc, Result: p.Result, AllowUnknown: true,
		Deprecated: p.Deprecated, ReplacedBy: p.ReplacedBy,
	}
	for i := range p.Params {
		out.Params = append(out.Params, declaredParam(&p.Params[i]))
	}
	for to, q := range map[**eval.Param]*pysource.Param{&out.Rest: p.Rest, &out.Named: p.Named} {
		if q != nil {
			one := declaredParam(q)
			*to = &one
		}
	}
	return out
}

func declaredParam(q *pysource.Param) eval.Param {
	out := eval.Param{Name: q.Name, Type: q.Type, ByName: q.ByName}
	if q.Optional {
		out.Default = value(q.Default)
	}
	return out
}

// value returns what a default is that Python writes so. What is not plain is unknown here.
func value(python string) types.Value {
	switch python {
	case "True", "False":
		return python == "True"
	case "None":
		return types.Null{}
	}
	if said, ok := strings.CutPrefix(python, `"`); ok {
		return strings.TrimSuffix(said, `"`)
	}
	if n, err := strconv.ParseInt(python, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(python, 64); err == nil {
		return f
	}
	return &types.Unknown{Why: "the editor does not run Python"}
}

// silent are plugins of Python as an evaluation for an editor calls them: what they would return is
// unknown. called says whether one of them was.
func silent(plugins []eval.Plugin, called *atomic.Bool) []eval.Plugin {
	out := slices.Clone(plugins)
	for i := range out {
		p := &out[i]
		p.Result = ""
		p.Params = slices.Clone(p.Params)
		for n := range p.Params { // that they are of a type is for Python to say
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

// leftOpen reports whether a problem may be one only because Python was not run: what a plugin
// returns decides which statements are executed, and classes in Python belong to entities.
func leftOpen(code string) bool {
	switch code {
	case eval.CodeIncomplete, eval.CodeStuck, eval.CodeArity, eval.CodeOptional,
		eval.CodeIndexMissing, eval.CodeNoMatch, eval.CodeNoImplement:
		return true
	}
	return false
}

// pluginPlace returns where a plugin is declared in Python; false for one of the program.
func (s *server) pluginPlace(x *names.Symbol) (location, bool) {
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
