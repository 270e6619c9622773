package eval

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// callNode calls a plugin, or casts to a primitive type.
type callNode struct {
	shape
	name   string
	plugin *boundPlugin
	cast   *types.Primitive
	args   []argument // in the frame of the call
	inner  struct{ from, size int }
	block  *block
	slot   int
}

// argument is an argument of a call: positional, named, or a dictionary of named arguments.
type argument struct {
	name   string
	spread bool
	of     node
	// literal marks a value that stands in the text of the call as a literal.
	literal bool
	// fallback marks the default of an attribute that the constructor does not set.
	fallback bool
}

// pos returns the position of the value; nil if that is not known.
func (a *argument) pos() *diag.Pos {
	if a.of == nil {
		return nil
	}
	return a.of.pos()
}

// dict returns the dictionary after **.
func (a *argument) dict(v types.Value) (*types.Dict, *fail) {
	d, ok := v.(*types.Dict)
	if !ok {
		const text = "** stands before a dict, and this is %s"
		return nil, failed(CodeArguments, a.of.pos(), text, types.Kind(v)).heavy(10)
	}
	return d, nil
}

// call binds a call. Its arguments share a frame of their own.
func (b *binder) call(x *syntax.Call) node {
	at := b.file.pos(x)
	out := &callNode{shape: shape{at: at}, name: x.Plugin.Text, block: b.block, slot: b.slot()}
	b.own(func() node {
		out.args = b.arguments(x.Args)
		out.inner.size = b.slots
		return nil
	})
	t, f := b.block.ns.typeOf(x.Plugin.Text, at)
	if f != nil {
		f.message = strings.Replace(f.message, "there is no ", "there is no plugin ", 1)
		return b.report(f)
	}
	switch t := t.(type) {
	case *types.Primitive:
		out.cast = t
	case *Plugin:
		out.plugin = b.program.plugins[t]
		b.deprecated(t, at)
	default:
		return b.report(failed(CodeCall, at,
			"%s cannot be called: only plugins and primitive types can", x.Plugin.Text))
	}
	return out
}

func (b *binder) deprecated(p *Plugin, at *diag.Pos) {
	if !p.Deprecated {
		return
	}
	hint := ""
	if p.ReplacedBy != "" {
		hint = "use " + p.ReplacedBy + " instead"
	}
	b.program.warn(CodeDeprecated, at, hint, "the plugin %s is deprecated", p.Name)
}

func (b *binder) arguments(args []syntax.Arg) []argument {
	out := make([]argument, 0, len(args))
	var positional, others []argument
	for i := range args {
		a := &args[i]
		arg := argument{spread: a.Spread, of: b.node(a.Value, nil)}
		_, arg.literal = arg.of.(*constant)
		if a.Name != nil {
			arg.name = a.Name.Text
		}
		if arg.name == "" && !arg.spread {
			positional = append(positional, arg)
			continue
		}
		others = append(others, arg)
	}
	return append(append(out, positional...), others...)
}

func (n *callNode) gradual(e *engine, s *scope, f frame, _ collector) (bool, *fail) {
	return false, n.emit(e, s, f)
}

func (n *callNode) value(_ *engine, _ *scope, f frame) (types.Value, *fail) {
	return f.get(n.slot), nil
}

func (n *callNode) emit(e *engine, s *scope, f frame) *fail {
	g := frame{}
	if n.inner.size > 0 {
		g.vars = make([]*variable, n.inner.size)
	}
	for i := range n.args {
		if x := n.args[i].of.emit(e, s, g); x != nil {
			return x.in(n.at, false)
		}
	}
	result := &variable{}
	e.start(&calling{node: n, scope: s, result: result}, g)
	f.set(n.slot, result)
	return nil
}

// calling is a call that waits for its arguments, or for values that the plugin reads.
type calling struct {
	node   *callNode
	scope  *scope
	result *variable
	args   *given
}

func (c *calling) pos() *diag.Pos { return c.node.at }

func (c *calling) run(u *unit) *fail {
	if c.args == nil {
		if x := u.take(); x != nil {
			return x
		}
		args, x := c.node.given(u.engine, c.scope, u.frame)
		if x != nil {
			return x.in(c.node.at, false)
		}
		c.args = args
	}
	v, x := c.node.call(u.engine, c.scope, c.args)
	if x == nil {
		x = c.result.set(v, c.node.at, true)
	}
	if x == nil || len(x.unset) > 0 {
		return x
	}
	return x.in(c.node.at, true)
}

// given are the arguments of a call before they are assigned to parameters.
type given struct {
	positional []types.Value
	from       []origin // for each of positional; missing entries are of unknown origin
	named      []named
}

func (n *callNode) given(e *engine, s *scope, f frame) (*given, *fail) {
	out := &given{}
	for i := range n.args {
		a := &n.args[i]
		v, x := a.of.value(e, s, f)
		if x != nil {
			return nil, x
		}
		if x := out.add(a, v, n.at); x != nil {
			return nil, x
		}
	}
	return out, nil
}

func (g *given) add(a *argument, v types.Value, at *diag.Pos) *fail {
	switch {
	case a.spread:
		d, f := a.dict(v)
		if f != nil {
			return f
		}
		for _, k := range d.Keys() {
			if slices.ContainsFunc(g.named, func(o named) bool { return o.name == k }) {
				return failed(CodeDuplicateArg, at, "the argument %s is there twice", k)
			}
			item, _ := d.Get(k)
			g.named = append(g.named, named{name: k, value: item})
		}
	case a.name != "":
		g.named = append(g.named, named{name: a.name, value: v, literal: a.literal, at: a.pos()})
	default:
		g.positional = append(g.positional, v)
		g.from = append(g.from, origin{a.literal, a.pos()})
	}
	return nil
}

func (n *callNode) call(e *engine, s *scope, g *given) (types.Value, *fail) {
	if n.cast != nil {
		return castCall(e, n.cast, g, n.at)
	}
	args, unknown, x := n.plugin.arrange(g, n.at)
	if x != nil {
		return nil, x
	}
	if unknown && !n.plugin.AllowUnknown {
		return &types.Unknown{}, nil
	}
	c := &Context{
		Ctx:       e.ctx,
		Namespace: n.block.ns.name,
		At:        *n.at,
		Env:       e.program.input.Env,
		engine:    e,
		scope:     s,
		block:     n.block,
	}
	return n.plugin.call(c, args, n.at)
}

// castCall converts a value to a primitive type. Before it formats a list or a dict, it checks the
// size of the text against the limits.
func castCall(e *engine, to *types.Primitive, g *given, at *diag.Pos) (types.Value, *fail) {
	if len(g.named) > 0 || len(g.positional) != 1 {
		return nil, failed(CodeArguments, at, "%s(...) takes one value", to)
	}
	of := g.positional[0]
	if to == types.String {
		switch of.(type) {
		case *types.List, *types.Dict:
			text, x := written(&e.scheduler, of, true, at)
			if x != nil {
				return nil, x
			}
			return text, e.made(text, at)
		}
	}
	v, err := types.Cast(to, of)
	if err != nil {
		return nil, failed(CodeCast, at, "%v", err)
	}
	return v, nil
}

// boundPlugin is a plugin with resolved types.
type boundPlugin struct {
	*Plugin
	params []types.Type
	rest   types.Type
	named  types.Type
	result types.Type
}

// call calls the plugin, and checks its result.
func (p *boundPlugin) call(c *Context, args Args, at *diag.Pos) (types.Value, *fail) {
	if c != nil && c.engine != nil {
		if x := c.engine.scan(args.size(), at); x != nil {
			return nil, x
		}
	}
	v, err := p.Call(c, args)
	if errors.Is(err, ErrUnset) && len(c.waits) > 0 {
		return nil, &fail{unset: c.waits}
	}
	if errors.Is(err, ErrUnknown) {
		return &types.Unknown{}, nil
	}
	if err != nil {
		if f := limited(err); f != nil {
			if f.at == nil {
				f.message = p.Name + ": " + f.message
			}
			f.at, f.by = at, at
			return nil, f
		}
		return nil, p.failed(err, at)
	}
	if v == nil {
		v = types.Null{}
	}
	if c != nil && c.engine != nil {
		if x := c.engine.made(v, at); x != nil {
			return nil, x
		}
	}
	if !types.IsUnknown(v) {
		if err := p.result.Check(v); err != nil {
			return nil, failed(CodePlugin, at, "%s should return %s: %v", p.Name, p.result, err)
		}
	}
	return v, nil
}

// failed returns the problem of a failed call, with the positions from the plugin.
func (p *boundPlugin) failed(err error, at *diag.Pos) *fail {
	f := failed(CodePlugin, at, "%s: %v", p.Name, err).heavy(60)
	var own *PluginError
	if errors.As(err, &own) {
		f.hint, f.code = own.Hint, cmp.Or(own.Code, f.code)
		for i := range own.Places {
			f.with(&own.Places[i].Pos, own.Places[i].Message)
		}
	}
	return f
}

// arrange assigns arguments to parameters, and checks them. It also reports whether an argument is
// unknown.
func (p *boundPlugin) arrange(g *given, at *diag.Pos) (Args, bool, *fail) {
	out := Args{
		Values: make([]types.Value, len(p.Params)), from: make([]origin, len(p.Params)),
	}
	wrong := func(format string, args ...any) (Args, bool, *fail) {
		return out, false, failed(
			CodeArguments,
			at,
			p.Name+format,
			args...).advise("it is called as %s", p.Signature())
	}
	positional := 0
	for i := range p.Params {
		if !p.Params[i].ByName {
			positional++
		}
	}
	if len(g.positional) > positional && p.Rest == nil {
		values := "values"
		if positional == 1 {
			values = "value"
		}
		return wrong(" takes %d %s, and gets %d", positional, values, len(g.positional))
	}
	copy(out.Values, g.positional[:min(len(g.positional), positional)])
	copy(out.from[:positional], g.from)
	if len(g.positional) > positional {
		out.Rest = g.positional[positional:]
	}
	if p.Named != nil {
		out.Named = types.NewDict(0)
	}
	for _, a := range g.named {
		i := slices.IndexFunc(p.Params, func(q Param) bool { return q.Name == a.name })
		switch {
		case i >= 0 && out.Values[i] != nil:
			return wrong(" gets %s twice", a.name)
		case i >= 0:
			out.Values[i], out.from[i] = a.value, origin{a.literal, a.at}
		case p.Named != nil:
			out.Named.Set(a.name, a.value)
		default:
			return wrong(" has no parameter %s", a.name)
		}
	}
	for i := range p.Params {
		if out.Values[i] == nil && p.Params[i].Default == nil {
			return wrong(" needs %s", p.Params[i].Name)
		}
	}
	return p.checked(out, g.from[min(len(g.from), positional):], at)
}

// checked checks arguments against their types, and sets missing arguments to their defaults. rest
// are the origins of Args.Rest.
func (p *boundPlugin) checked(out Args, rest []origin, at *diag.Pos) (Args, bool, *fail) {
	unknown := false
	check := func(v types.Value, t types.Type, name string, from *diag.Pos) *fail {
		if types.IsUnknown(v) {
			unknown = true
			return nil
		}
		if err := t.Check(v); err != nil {
			f := typeFail(err)
			f.message = "the argument " + name + " of " + p.Name + ": " + f.message
			if f.code == CodeType {
				f.code = CodeArguments
			}
			f.at, f.by = at, at
			return f.marking(from)
		}
		return nil
	}
	for i := range p.Params {
		if out.Values[i] == nil {
			out.Values[i] = p.Params[i].Default
			continue
		}
		if f := check(out.Values[i], p.params[i], p.Params[i].Name, out.from[i].at); f != nil {
			return out, false, f
		}
	}
	for i, v := range out.Rest {
		var from *diag.Pos
		if i < len(rest) {
			from = rest[i].at
		}
		if f := check(v, p.rest, p.Rest.Name, from); f != nil {
			return out, false, f
		}
	}
	if out.Named != nil {
		for _, k := range out.Named.Keys() {
			v, _ := out.Named.Get(k)
			if f := check(v, p.named, k, nil); f != nil {
				return out, false, f
			}
		}
	}
	return out, unknown, nil
}
