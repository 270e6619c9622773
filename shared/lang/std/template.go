package std

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/jinja"
	"southbound/shared/lang/types"
)

func templatePlugin() eval.Plugin {
	return eval.Plugin{
		Name: "std::template", Result: "string | reference", InContext: true, Call: template,
		Doc: "Returns the output of the template at path: module/path is a file of the folder " +
			"templates of a module, ./path one of the module that calls, /path one of the " +
			"project. It sees the variables of the caller; if values with names are given, these " +
			"alone. Plugins are filters, with . instead of ::.",
		Params:       []eval.Param{{Name: "path", Type: "string"}},
		Named:        &eval.Param{Name: "kwargs", Type: "any | reference"},
		AllowUnknown: true,
	}
}

func template(c *eval.Context, a eval.Args) (types.Value, error) {
	if unusable(a) {
		return &types.Unknown{}, nil
	}
	e := of(c)
	name, err := e.own(c, a.Text(0))
	if err != nil {
		return nil, err
	}
	t, err := e.templates.Get(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no template %s: %s", a.Text(0), e.missing(name))
	}
	if err != nil {
		return nil, err
	}
	h := host{c: c, context: a.Named == nil || a.Named.Len() == 0, given: a.Named}
	out, err := t.RenderParts(h)
	if errors.Is(err, jinja.ErrUnknown) {
		return &types.Unknown{Why: "the template " + a.Text(0) + " uses an unknown value"}, nil
	}
	return out, err
}

// unusable reports whether an argument is unknown and cannot become a part of a text.
func unusable(a eval.Args) bool {
	if types.IsUnknown(a.Values[0]) {
		return true
	}
	if a.Named == nil {
		return false
	}
	return slices.ContainsFunc(a.Named.Keys(), func(k string) bool {
		v, _ := a.Named.Get(k)
		return types.IsUnknown(v) && !types.InText(v)
	})
}

// host gives templates access to the model.
type host struct {
	c       *eval.Context
	context bool // templates see the variables of the caller
	given   *types.Dict
}

// Passed implements jinja.Passed.
func (h host) Passed() bool { return !h.context }

// Lookup implements jinja.Host.
func (h host) Lookup(name string) (types.Value, bool, error) {
	if h.context {
		return found(h.c.Variable(name))
	}
	if h.given == nil {
		return nil, false, nil
	}
	v, ok := h.given.Get(name)
	return v, ok, nil
}

// found converts an ErrMissing to a false result. It rejects references that cannot be part of a
// text.
func found(v types.Value, err error) (types.Value, bool, error) {
	if errors.Is(err, eval.ErrMissing) {
		return nil, false, nil
	}
	if r, ok := v.(types.Reference); ok && !types.InText(v) {
		return nil, false, errors.New("the reference " + r.ReferenceName() +
			" cannot be used here: its value is known only when resources are deployed")
	}
	return v, err == nil, err
}

// Attr implements jinja.Host.
func (h host) Attr(of types.Value, name string) (types.Value, bool, error) {
	o, ok := of.(types.Object)
	if !ok {
		return nil, false, nil
	}
	v, err := h.c.Attribute(o, name)
	if errors.Is(err, eval.ErrMissing) && o.Type().Attribute(name) != nil {
		return jinja.Unset(name, "the relation "+name+" of "+o.String()+" is not set", !h.Passed()),
			true, nil
	}
	return found(v, err)
}

func plugin(filter string) string { return strings.ReplaceAll(filter, ".", "::") }

// Filter implements jinja.Host: the filters are plugins.
func (h host) Filter(name string, args []types.Value) (types.Value, bool, error) {
	v, err := h.c.Apply(plugin(name), args)
	return v, true, err
}

// Work implements jinja.Budget.
func (h host) Work(pieces int) error { return h.c.Work(pieces) }

// Room implements jinja.Room.
func (h host) Room() int64 { return h.c.Room() }

// HasFilter implements jinja.Host.
func (h host) HasFilter(name string) bool {
	return strings.Contains(name, ".") && h.c.HasPlugin(plugin(name))
}
