package eval

import (
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// direct evaluates the condition of a typedef for a value, immediately and without variables.
type direct struct {
	program  *program
	unit     *textUnit
	at       *diag.Pos
	patterns map[*syntax.Pattern]*regex
	bound    map[*syntax.Call]*callNode
	depth    int
}

// maxDirect is the largest nesting depth of conditions that depend on conditions of other types.
const maxDirect = 200

// local is a name with a value.
type local struct {
	name  string
	value types.Value
	next  *local
}

// mentions reports whether a condition uses the tested value: by self, or by the name of the type.
func mentions(x syntax.Expression, name string) bool {
	found := false
	walk(x, func(y syntax.Expression) bool {
		switch y := y.(type) {
		case *syntax.Ref:
			found = found || y.Name.Text == "self" || y.Name.Text == name
		case *syntax.Pattern:
			found = true
		case *syntax.Defined:
			if _, ref := y.Value.(*syntax.Ref); ref {
				return false
			}
		case *syntax.Format:
			found = found || partsMention(y.Parts, name)
		case *syntax.FText:
			found = found || partsMention(y.Parts, name)
		}
		return true
	})
	return found
}

func partsMention(parts []syntax.Part, name string) bool {
	return slices.ContainsFunc(parts, func(p syntax.Part) bool {
		return len(p.Path) > 0 && (p.Path[0] == "self" || p.Path[0] == name) ||
			partsMention(p.Spec, name)
	})
}

// check reports problems of a condition that do not depend on the value: plugins that do not exist,
// and invalid regular expressions.
func (d *direct) check(x syntax.Expression) {
	walk(x, func(y syntax.Expression) bool {
		switch y := y.(type) {
		case *syntax.Call:
			if _, f := d.callee(y); f != nil {
				d.program.problem(f)
			}
		case *syntax.Pattern:
			if _, f := d.regex(y); f != nil {
				d.program.problem(f)
			}
		}
		return true
	})
}

// holds evaluates a condition.
func (d *direct) holds(x syntax.Expression, v types.Value) (bool, error) {
	if d.depth++; d.depth > maxDirect {
		d.depth = 0
		return false, failed(
			CodeTypedef,
			d.at,
			"the condition of this type asks for itself without end",
		)
	}
	defer func() { d.depth = max(d.depth-1, 0) }()
	out, f := d.eval(x, &local{name: "self", value: v})
	if f != nil {
		return false, f
	}
	return types.Truth(out), nil
}

func (d *direct) eval(x syntax.Expression, vars *local) (types.Value, *fail) {
	if v, ok := folded(x); ok {
		return v, nil
	}
	at := d.unit.pos(x)
	switch x := x.(type) {
	case *syntax.Group:
		return d.eval(x.Value, vars)
	case *syntax.Ref:
		for l := vars; l != nil; l = l.next {
			if l.name == x.Name.Text {
				return l.value, nil
			}
		}
		return nil, failed(CodeUnknownName, at,
			"there is no %s here: the condition of a type knows only self", x.Name.Text).heavy(20)
	case *syntax.Attr:
		return nil, failed(CodeUnknownName, at, "the value of a type has no attributes").heavy(20)
	case *syntax.Pattern:
		return d.match(x, vars)
	case *syntax.Not:
		v, f := d.eval(x.Value, vars)
		if f != nil {
			return nil, f
		}
		b, ok := v.(bool)
		if !ok {
			return nil, failed(CodeType, at, "`not` needs a bool, and this is %s", types.Kind(v))
		}
		return !b, nil
	case *syntax.Operation:
		return d.operation(x, vars)
	case *syntax.Condition:
		return d.choice(x, vars)
	case *syntax.List:
		return d.list(x.Items, vars)
	case *syntax.Dict:
		return d.dict(x, vars)
	case *syntax.Comprehension:
		return d.comprehension(x, 0, vars)
	case *syntax.Call:
		return d.call(x, vars)
	}
	return nil, failed(CodeTypedef, at, "this cannot be part of the condition of a type").heavy(11)
}

func (d *direct) match(x *syntax.Pattern, vars *local) (types.Value, *fail) {
	re, f := d.regex(x)
	if f != nil {
		return nil, f
	}
	for l := vars; l != nil; l = l.next {
		if l.name == "self" {
			ok, err := re.matches(l.value)
			if err != nil {
				return nil, failed(CodeRegex, d.unit.pos(x), "%v", err).heavy(10)
			}
			return ok, nil
		}
	}
	return false, nil
}

func (d *direct) regex(x *syntax.Pattern) (*regex, *fail) {
	if re := d.patterns[x]; re != nil {
		return re, nil
	}
	re, err := pattern(x.Text)
	if err != nil {
		return nil, failed(
			CodeRegex,
			d.unit.pos(x),
			"the regular expression /%s/ is not valid: %v",
			x.Text,
			err,
		)
	}
	if d.patterns == nil {
		d.patterns = map[*syntax.Pattern]*regex{}
	}
	d.patterns[x] = re
	return re, nil
}

func (d *direct) operation(x *syntax.Operation, vars *local) (types.Value, *fail) {
	at := d.unit.token(x.At)
	a, f := d.eval(x.Left, vars)
	if f != nil {
		return nil, f
	}
	if x.Op == "and" || x.Op == "or" {
		return d.lazy(x, a, at, vars)
	}
	b, f := d.eval(x.Right, vars)
	if f != nil {
		return nil, f
	}
	if x.Op == "in" || x.Op == "not in" {
		v, ok := contains(a, b)
		if !ok {
			return nil, notIn(b, at)
		}
		if found, known := v.(bool); known && x.Op == "not in" {
			return !found, nil
		}
		return v, nil
	}
	if f := fitsBoth(&d.program.engine.scheduler, x.Op, a, b, at); f != nil {
		return nil, f
	}
	v, err := operate(x.Op, a, b)
	if err != nil {
		return nil, operatorFail(err, at)
	}
	if text, ok := v.(string); ok {
		return v, d.program.engine.spend(len(text), at)
	}
	return v, nil
}

func (d *direct) lazy(
	x *syntax.Operation,
	left types.Value,
	at *diag.Pos,
	vars *local,
) (types.Value, *fail) {
	b, ok := left.(bool)
	if !ok {
		return nil, failed(
			CodeType,
			at,
			"the left side of `%s` has to be a bool, and this is %s",
			x.Op,
			types.Kind(left),
		)
	}
	if b == (x.Op == "or") {
		return b, nil
	}
	right, f := d.eval(x.Right, vars)
	if f != nil {
		return nil, f
	}
	if _, ok := right.(bool); !ok {
		return nil, failed(
			CodeType,
			at,
			"the right side of `%s` has to be a bool, and this is %s",
			x.Op,
			types.Kind(right),
		)
	}
	return right, nil
}

func (d *direct) choice(x *syntax.Condition, vars *local) (types.Value, *fail) {
	v, f := d.eval(x.If, vars)
	if f != nil {
		return nil, f
	}
	b, ok := v.(bool)
	switch {
	case !ok:
		return nil, failed(
			CodeCondition,
			d.unit.pos(x),
			"the condition before ? has to be a bool, and this is %s",
			types.Kind(v),
		)
	case b:
		return d.eval(x.Then, vars)
	}
	return d.eval(x.Else, vars)
}

func (d *direct) list(items []syntax.Expression, vars *local) (types.Value, *fail) {
	values := make([]types.Value, 0, len(items))
	for _, item := range items {
		v, f := d.eval(item, vars)
		if f != nil {
			return nil, f
		}
		values = append(values, v)
	}
	if f := fitsAll(&d.program.engine.scheduler, slices.Values(values), d.at); f != nil {
		return nil, f
	}
	return types.Spread(values), nil
}

func (d *direct) dict(x *syntax.Dict, vars *local) (types.Value, *fail) {
	out := types.NewDict(len(x.Pairs))
	for _, p := range x.Pairs {
		v, f := d.eval(p.Value, vars)
		if f != nil {
			return nil, f
		}
		out.Set(p.Key.Value, v)
	}
	return out, nil
}

func (d *direct) comprehension(x *syntax.Comprehension, i int, vars *local) (types.Value, *fail) {
	at := d.unit.pos(x)
	l := &x.Loops[i]
	in, f := d.eval(l.In, vars)
	if f != nil {
		return nil, f
	}
	items, ok := steps(in, l.Second != nil)
	if !ok {
		return nil, notOver(in, "a list comprehension", l.Second != nil, at)
	}
	out := &types.List{}
	for _, v := range items {
		inner := &local{name: l.Variable.Text, value: v, next: vars}
		if pair, ok := v.(item); ok {
			inner.value = pair.key
			inner = &local{name: l.Second.Text, value: pair.value, next: inner}
		}
		v, f := d.element(x, i, inner)
		if f != nil {
			return nil, f
		}
		if v != nil {
			out.Items = append(out.Items, v)
		}
	}
	return out, nil
}

// element computes the value for one element; nil if a condition excludes the element.
func (d *direct) element(x *syntax.Comprehension, i int, vars *local) (types.Value, *fail) {
	if i+1 < len(x.Loops) {
		return d.comprehension(x, i+1, vars)
	}
	for _, c := range x.If {
		v, f := d.eval(c, vars)
		if f != nil {
			return nil, f
		}
		b, ok := v.(bool)
		if !ok {
			return nil, failed(
				CodeCondition,
				d.unit.pos(x),
				"the condition of a list comprehension has to be a bool, and this is %s",
				types.Kind(v),
			).heavy(10)
		}
		if !b {
			return nil, nil
		}
	}
	return d.eval(x.Value, vars)
}

// callee resolves the plugin or type of a call.
func (d *direct) callee(x *syntax.Call) (*callNode, *fail) {
	if n := d.bound[x]; n != nil {
		return n, nil
	}
	at := d.unit.pos(x)
	t, f := d.unit.ns.typeOf(x.Plugin.Text, at)
	if f != nil {
		return nil, f
	}
	n := &callNode{shape: shape{at: at}, name: x.Plugin.Text}
	switch t := t.(type) {
	case *types.Primitive:
		n.cast = t
	case *Plugin:
		n.plugin = d.program.plugins[t]
	default:
		return nil,
			failed(CodeCall, at, "%s cannot be called: only plugins and primitive types can",
				x.Plugin.Text)
	}
	if d.bound == nil {
		d.bound = map[*syntax.Call]*callNode{}
	}
	d.bound[x] = n
	return n, nil
}

func (d *direct) call(x *syntax.Call, vars *local) (types.Value, *fail) {
	n, f := d.callee(x)
	if f != nil {
		return nil, f
	}
	g, f := d.given(x, n, vars)
	if f != nil {
		return nil, f
	}
	if n.cast != nil {
		return castCall(d.program.engine, n.cast, g, n.at)
	}
	if n.plugin.InContext {
		return nil, failed(
			CodeTypedef,
			n.at,
			"%s needs the place of its call in a model, so it cannot be part of the condition "+
				"of a type",
			n.name,
		)
	}
	args, unknown, f := n.plugin.arrange(g, n.at)
	if f != nil {
		return nil, f
	}
	if unknown && !n.plugin.AllowUnknown {
		return nil, failed(CodeTypedef, n.at, "%s gets an unknown value", n.name)
	}
	return n.plugin.call(
		&Context{
			engine:    d.program.engine,
			Env:       d.program.input.Env,
			Namespace: d.unit.ns.name,
			At:        *n.at,
		},
		args,
		n.at,
	)
}

// given computes the arguments of a call.
func (d *direct) given(x *syntax.Call, n *callNode, vars *local) (*given, *fail) {
	g := &given{}
	for i := range x.Args {
		a := &x.Args[i]
		if a.Spread {
			return nil, failed(
				CodeTypedef,
				d.unit.pos(a),
				"** cannot be part of the condition of a type",
			).heavy(11)
		}
		v, f := d.eval(a.Value, vars)
		if f != nil {
			return nil, f
		}
		arg := &argument{}
		_, arg.literal = folded(a.Value)
		if a.Name != nil {
			arg.name = a.Name.Text
		}
		if f := g.add(arg, v, n.at); f != nil {
			return nil, f
		}
	}
	return g, nil
}
