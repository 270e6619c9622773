package python

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
)

// Codes of problems with the Python code of modules.
const (
	CodePython = "python" // it cannot be used
)

// Code is what modules have in Python.
type Code struct {
	Plugins []eval.Plugin
	// Dataclasses are what they have classes for.
	Dataclasses []eval.Dataclass
}

// Load imports the modules, and returns what they have. What is wrong with their code are
// diag.Problems.
func (h *Host) Load() (*Code, error) {
	b := appendText(append(appendText([]byte(`[`), "load"), ','), h.o.Dir)
	b = append(b, ",["...)
	var legacy []byte
	for i, m := range h.o.Modules {
		b = appendText(append(comma(b, i), '['), m.Name)
		b = append(appendText(append(b, ','), m.Dir), ']')
		if m.Legacy {
			legacy = appendText(comma(legacy, len(legacy)), filepath.Dir(m.Dir))
		}
	}
	b = append(append(append(b, "],["...), legacy...), "]]"...)
	kind, v, err := h.converse(b, loading, h.quiet)
	if err != nil {
		return nil, asFault(err)
	}
	if kind == "missing" && len(v) == 2 {
		return nil, h.missing(text(v[0]), text(v[1]))
	}
	if kind != "ok" || len(v) != 3 {
		return nil, fault.Wrap(fault.Internal, "load modules", errFrame)
	}
	var problems diag.Problems
	for _, f := range items(v[0]) {
		problems.Add(h.importProblem(items(f)))
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	out := &Code{}
	for i, s := range items(v[1]) {
		out.Plugins = append(out.Plugins, h.plugin(i, items(s)))
	}
	for _, c := range items(v[2]) {
		f := items(c)
		class := eval.Dataclass{Entity: text(f[0]), Fields: []string{}}
		for _, name := range f[1:] {
			class.Fields = append(class.Fields, text(name))
		}
		out.Dataclasses = append(out.Dataclasses, class)
	}
	return out, nil
}

// quiet answers nothing but what is printed.
func (h *Host) quiet(kind string, v []types.Value, _ []byte) ([]byte, bool, error) {
	if kind == "print" && h.o.Print != nil {
		h.o.Print(text(v[0]))
	}
	return nil, kind == "print", nil
}

func asFault(err error) error {
	var ended *Ended
	if errors.As(err, &ended) {
		return fault.Wrap(fault.Invalid, "run Python", err)
	}
	return err
}

// missing says which package the virtual environment lacks.
func (h *Host) missing(name, said string) error {
	if name == "" {
		return fault.New(fault.Invalid, "run Python",
			"the library of modules cannot be used by %s: %s",
			h.o.Python, said).
			WithHint("remove the virtual environment and make it anew, with Python 3.13 or " +
				"later, such as with `southbound project install`")
	}
	return fault.New(fault.Invalid, "run Python",
		"the virtual environment of %s has no package %s, which modules with Python code need: "+
			"install inmanta-core there, such as with `southbound project install`", h.o.Python,
		name)
}

func (h *Host) importProblem(f []types.Value) diag.Problem {
	p := diag.Problem{
		Code: CodePython, Pos: diag.Pos{File: h.shown(h.dirOf(text(f[0])))},
		Message: "the Python code of the module " + text(f[0]) + " cannot be used: " + text(f[1]),
	}
	places := h.places(f[2])
	if len(places) > 0 {
		p.Pos, p.Related = places[0].Pos, places[1:]
	}
	if len(f) > 3 {
		p.Hint = h.lackHint(text(f[0]), text(f[3]))
	}
	return p
}

// lackHint says where to name what a module imports and there is not: a module of Python, or of
// models. It returns "" if nothing is lacking.
func (h *Host) lackHint(module, lacks string) string {
	top, _, _ := strings.Cut(lacks, ".")
	switch of, ok := strings.CutPrefix(lacks, pluginsPrefix); {
	case top == "":
		return ""
	case ok:
		of, _, _ = strings.Cut(of, ".")
		return "`southbound module add " + of + "` adds the module that has it, if there is one"
	}
	file := "install_requires in its setup.cfg"
	for _, m := range h.o.Modules {
		if m.Name == module && m.Legacy {
			file = "its requirements.txt"
		}
	}
	return "name the package that has " + top + " in " + file + ", or in requirements.txt of the " +
		"project, and run `southbound project install`"
}

// pluginsPrefix is what the names of all that modules bring to Python begin with.
const pluginsPrefix = "inmanta_plugins."

// shown returns how a path is written in messages: as that of the model, below its folder.
func (h *Host) shown(path string) string {
	rel, err := filepath.Rel(h.o.Dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join(h.o.Shown, rel)
}

func (h *Host) dirOf(module string) string {
	for _, m := range h.o.Modules {
		if m.Name == module {
			return m.Dir
		}
	}
	return ""
}

// places returns the places of a traceback, the innermost first.
func (h *Host) places(v types.Value) []diag.Related {
	var out []diag.Related
	for _, f := range items(v) {
		frame := items(f)
		if len(frame) != 4 {
			continue
		}
		line, _ := frame[1].(int64)
		r := diag.Related{Pos: diag.Pos{File: h.shown(text(frame[0])), Line: int(line)}}
		if name := text(frame[2]); name != "" {
			r.Message = "in " + name + ": "
		}
		r.Message += text(frame[3])
		out = append(out, r)
	}
	return out
}

// plugin returns a plugin of a module as one of the program.
func (h *Host) plugin(number int, s []types.Value) eval.Plugin {
	line, _ := s[10].(int64)
	p := eval.Plugin{
		Name: text(s[0]), Doc: text(s[1]), Result: text(s[5]), AllowUnknown: s[6] == true,
		Deprecated: s[7] == true, ReplacedBy: text(s[8]),
		At: &diag.Pos{File: h.shown(text(s[9])), Line: int(line), Column: 1},
	}
	for _, v := range items(s[2]) {
		q := items(v)
		param := eval.Param{Name: text(q[0]), Type: text(q[1]), ByName: q[4] == true}
		if q[2] == true {
			param.Default = q[3]
		}
		p.Params = append(p.Params, param)
	}
	p.Rest, p.Named = rest(s[3]), rest(s[4])
	params, at := p.Params, *p.At
	p.Call = func(c *eval.Context, a eval.Args) (types.Value, error) {
		v, err := h.call(c, number, params, a)
		return v, placed(err, at)
	}
	return p
}

// placed has an error of a plugin say where that is, if it has no place in the code: what is wrong
// is what it returned, or how it ended.
func placed(err error, at diag.Pos) error {
	var failed *eval.PluginError
	if errors.As(err, &failed) && len(failed.Places) == 0 {
		failed.Places = []diag.Related{{Pos: at, Message: "the plugin is defined here"}}
	}
	return err
}

func rest(v types.Value) *eval.Param {
	if q := items(v); len(q) == 2 {
		return &eval.Param{Name: text(q[0]), Type: text(q[1])}
	}
	return nil
}

func text(v types.Value) string { s, _ := v.(string); return s }

func items(v types.Value) []types.Value {
	if l, ok := v.(*types.List); ok {
		return l.Items
	}
	return nil
}

// call calls a plugin.
func (h *Host) call(
	c *eval.Context, number int, params []eval.Param, a eval.Args,
) (types.Value, error) {
	b := append(h.write[:0], `["call",`...)
	b = strconv.AppendInt(b, int64(number), 10)
	b, named := append(b, ",["...), []byte(nil)
	n := 0
	for i, v := range a.Values {
		if params[i].ByName {
			named = append(appendText(comma(named, len(named)), params[i].Name), ':')
			named = appendValue(named, v)
			continue
		}
		b = appendValue(comma(b, n), v)
		n++
	}
	for _, v := range a.Rest {
		b = appendValue(comma(b, n), v)
		n++
	}
	b = append(append(b, "],{"...), named...)
	if a.Named != nil {
		for _, k := range a.Named.Keys() {
			v, _ := a.Named.Get(k)
			b = append(appendText(comma(b, len(named)), k), ':')
			b = appendValue(b, v)
			named = append(named, 0)
		}
	}
	b = append(appendText(append(b, "},"...), c.Namespace), ',')
	b = append(appendText(b, c.At.File), ',')
	b = append(strconv.AppendInt(b, int64(c.At.Line), 10), ']')
	h.write = b
	h.remember(a)
	kind, v, err := h.converse(b, "the plugin", h.answers(c))
	if err != nil {
		return nil, h.ended(err)
	}
	return h.result(c, kind, v)
}

// ended makes of an ended process an error of the plugin that was called.
func (h *Host) ended(err error) error {
	var ended *Ended
	if !errors.As(err, &ended) {
		return err
	}
	hint := ""
	if ended.Said != "" {
		hint = "the last that it wrote to standard error:\n" + ended.Said
	}
	return &eval.PluginError{Message: ended.What, Hint: hint}
}

// result returns what a call has come to.
func (h *Host) result(c *eval.Context, kind string, v []types.Value) (types.Value, error) {
	switch {
	case kind == "ok" && len(v) == 1:
		return v[0], nil
	case kind == "unknown":
		return &types.Unknown{}, nil
	case kind == "unset" && len(v) == 1:
		var of []types.Object
		var names []string
		for _, w := range items(v[0]) {
			pair := items(w)
			n, _ := pair[0].(int64)
			of, names = append(of, h.objects[n]), append(names, text(pair[1]))
		}
		if err := c.Await(of, names); err != nil {
			return nil, err
		}
		return nil, errors.New("it says that a value is not known yet, which is known")
	case kind == "failed" && len(v) == 2:
		return nil, &eval.PluginError{Message: text(v[0]), Places: h.places(v[1])}
	}
	return nil, fmt.Errorf("%w: %s", errFrame, kind)
}

// remember keeps what Python code may ask about.
func (h *Host) remember(a eval.Args) {
	for _, v := range a.Values {
		h.seen(v)
	}
	for _, v := range a.Rest {
		h.seen(v)
	}
	if a.Named != nil {
		h.seen(a.Named)
	}
}

func (h *Host) seen(v types.Value) types.Value {
	switch v := v.(type) {
	case types.Object:
		h.objects[int64(v.Number())] = v
	case std.Reference:
		h.seen(v.Value)
		if v.On != nil {
			h.seen(v.On)
		}
	case *types.List:
		for _, item := range v.Items {
			h.seen(item)
		}
	case *types.Dict:
		for _, k := range v.Keys() {
			item, _ := v.Get(k)
			h.seen(item)
		}
	}
	return v
}

// Finish runs the finalizers of modules.
func (h *Host) Finish() error {
	kind, v, err := h.converse([]byte(`["finish"]`), "a finalizer", h.quiet)
	if err != nil {
		return asFault(err)
	}
	if kind == "failed" && len(v) == 2 {
		p := diag.Problem{Code: CodePython, Message: "a finalizer failed: " + text(v[0])}
		if places := h.places(v[1]); len(places) > 0 {
			p.Pos, p.Related = places[0].Pos, places[1:]
		}
		return diag.Problems{p}
	}
	return nil
}
