package lsp

import (
	"fmt"
	"io/fs"
	"maps"
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

// readPython reads what the modules of a view declare in Python, as their texts say.
func (s *workspace) readPython(v *view) {
	v.python, v.classes = nil, map[string]dataclass{}
	for _, m := range v.loaded.Modules {
		for _, path := range pythonFiles(m) {
			content, ok := s.texts.text(path)
			if !ok {
				continue
			}
			t := s.texts.script(path, content)
			ns := pythonNamespace(m, path)
			for i := range t.Plugins {
				p := plugin(ns, &t.Plugins[i])
				p.At = placeIn(t, path, t.Plugins[i].At)
				v.python = append(v.python, p)
			}
			for i := range t.Classes {
				c := &t.Classes[i]
				v.classes[ns+"::"+c.Name] = dataclass{c, *placeIn(t, path, c.At)}
			}
		}
	}
}

// placeIn returns a place of a text in Python.
func placeIn(t *script, path string, offset int) *diag.Pos {
	at := t.Position(offset, text.UTF32)
	return &diag.Pos{File: path, Line: int(at.Line) + 1, Column: int(at.Character) + 1}
}

// pythonFiles returns the Python files of a module, in order.
func pythonFiles(m *module.Module) []string {
	var out []string
	_ = filepath.WalkDir(m.Code, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be read declares nothing
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
// returns decides which statements are executed.
func leftOpen(code string) bool {
	switch code {
	case eval.CodeIncomplete, eval.CodeStuck, eval.CodeArity, eval.CodeOptional,
		eval.CodeIndexMissing, eval.CodeNoMatch, eval.CodeNoImplement:
		return true
	}
	return false
}

// pluginPlace returns where a plugin is declared in Python; false for one of the program.
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

// dataclass is one that modules have in Python.
type dataclass struct {
	*pysource.Class
	at diag.Pos
}

// hasClass reports whether a class in Python stands for an entity.
func (v *view) hasClass(x *names.Symbol) bool {
	base := v.names.Entity("std::Dataclass")
	return base != nil && x.Kind == names.Entity && x != base && x.Is(base)
}

// frozen returns what stands for entities in Python.
func (v *view) frozen() []eval.Dataclass {
	var out []eval.Dataclass
	for full, c := range v.classes {
		if c.Frozen {
			out = append(out, eval.Dataclass{Entity: full})
		}
	}
	return out
}

// differing returns what differs between entities and the classes in Python that stand for them.
func differing(v *view) diag.Problems {
	var out diag.Problems
	for _, full := range slices.Sorted(maps.Keys(v.classes)) {
		c, x := v.classes[full], v.names.Entity(full)
		if x == nil || x.File == nil || !c.Sure || !v.hasClass(x) {
			continue
		}
		bad := func(at *names.Symbol, message, hint string) {
			out.Add(diag.Problem{
				Pos: place(at), Code: eval.CodeDataclass, Message: message, Hint: hint,
				Related: []diag.Related{{Pos: c.at, Message: "the class in Python"}},
			})
		}
		attributes := map[string]*names.Symbol{}
		for _, a := range x.Attributes() {
			if a.Kind == names.Attribute {
				attributes[a.Name] = a
			}
		}
		for _, f := range c.Fields {
			if attributes[f.Name] == nil {
				bad(x,
					fmt.Sprintf("the class %s in Python has the field %s, and the entity has no "+
						"such attribute", c.Name, f.Name),
					"add "+f.Type+" "+f.Name+" to the entity")
			}
			delete(attributes, f.Name)
		}
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			bad(attributes[name], fmt.Sprintf("the class %s in Python has no field %s", c.Name,
				name),
				"a dataclass has a field for each attribute of its entity")
		}
	}
	return out
}

// inPython returns what stands for an entity in Python, for people; "" if nothing does.
func (v *view) inPython(x *names.Symbol) (code, doc string) {
	c, ok := v.classes[x.FullName()]
	if !ok || !v.hasClass(x) {
		return "", ""
	}
	fields := make([]string, len(c.Fields))
	for i, f := range c.Fields {
		fields[i] = f.Name + ": " + f.Type
	}
	kind := "a dataclass"
	if c.Frozen {
		kind = "a frozen dataclass"
	}
	return "In Python " + kind + ": " + c.Name + "(" + strings.Join(fields, ", ") + ")", c.Doc
}
