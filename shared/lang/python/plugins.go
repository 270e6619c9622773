package python

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// Codes of problems with the Python code of modules.
const (
	CodePython = "python" // the Python code of a module cannot be used
)

// Code is the Python side of modules: plugins and dataclasses.
type Code struct {
	Plugins []eval.Plugin
	// Dataclasses are the entities that have a Python dataclass.
	Dataclasses []eval.Dataclass
}

// Load imports the modules, and returns their plugins and dataclasses. It returns errors in their
// code as diag.Problems.
func (h *Host) Load() (*Code, error) {
	b := appendText(append(appendText([]byte(`[`), "load"), ','), h.sources.dir)
	b = appendModules(append(b, ','), h.sources.modules)
	var legacy []byte
	for _, m := range h.sources.modules {
		if m.Legacy {
			legacy = appendText(comma(legacy, len(legacy)), filepath.Dir(m.Dir))
		}
	}
	b = append(append(append(b, ",["...), legacy...), "],"...)
	b = append(appendModules(b, h.sources.others), ']')
	kind, v, err := h.converse(b, loading, h.quiet)
	if err != nil {
		return nil, asFault(err)
	}
	if kind == "missing" && len(v) == 2 {
		return nil, h.sources.missing(text(v[0]), text(v[1]))
	}
	if kind != "ok" || len(v) != 3 {
		return nil, fault.Wrap(fault.Internal, "load modules", errFrame)
	}
	var problems diag.Problems
	for _, f := range items(v[0]) {
		problems.Add(h.sources.importProblem(items(f)))
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

// appendModules appends the names and folders of modules.
func appendModules(b []byte, modules []Module) []byte {
	b = append(b, '[')
	for i, m := range modules {
		b = appendText(append(comma(b, i), '['), m.Name)
		b = append(appendText(append(b, ','), m.Dir), ']')
	}
	return append(b, ']')
}

// quiet passes on printed text, and answers no questions.
func (h *Host) quiet(kind string, v []types.Value, _ []byte) ([]byte, bool, error) {
	if kind == "print" && h.print != nil {
		h.print(text(v[0]))
	}
	return nil, kind == "print", nil
}

func asFault(err error) error {
	var ended *Ended
	switch {
	case !errors.As(err, &ended):
		return err
	case ended.Cause != nil:
		return fault.Wrap(fault.KindOf(ended.Cause), "run Python", err)
	}
	return fault.Wrap(fault.Invalid, "run Python", err)
}

// plugin returns the plugin of a module as a plugin of the program.
func (h *Host) plugin(number int, s []types.Value) eval.Plugin {
	line, _ := s[10].(int64)
	p := eval.Plugin{
		Name: text(s[0]), Doc: text(s[1]), Result: text(s[5]), AllowUnknown: s[6] == true,
		Deprecated: s[7] == true, ReplacedBy: text(s[8]),
		At: &diag.Pos{File: h.sources.shown(text(s[9])), Line: int(line), Column: 1},
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

// placed adds the definition of the plugin to an error that has no place in the code. Such an error
// is about the returned value, or about the end of the process.
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
	h.objects.remember(a)
	kind, v, err := h.converse(b, "the plugin", h.answers(c))
	if err != nil {
		return nil, callEnded(err)
	}
	return h.result(c, kind, v)
}

// callEnded converts the error of an ended process to an error of the called plugin.
func callEnded(err error) error {
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

// result returns the result of a call.
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
		return nil, errors.New("it reports a known value as unknown")
	case kind == "failed" && len(v) == 2:
		return nil, &eval.PluginError{Message: text(v[0]), Places: h.sources.places(v[1])}
	}
	return nil, fmt.Errorf("%w: %s", errFrame, kind)
}

// Finish runs the finalizers of modules.
func (h *Host) Finish() error {
	kind, v, err := h.converse([]byte(`["finish"]`), "a finalizer", h.quiet)
	if err != nil {
		return asFault(err)
	}
	if kind == "failed" && len(v) == 2 {
		p := diag.Problem{Code: CodePython, Message: "a finalizer failed: " + text(v[0])}
		if places := h.sources.places(v[1]); len(places) > 0 {
			p.Pos, p.Related = places[0].Pos, places[1:]
		}
		return diag.Problems{p}
	}
	return nil
}
