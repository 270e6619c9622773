package catalog

import (
	"maps"
	"slices"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// validation holds the constraints of a type in a form that can be checked without the model. The
// compile of the model checks all other constraints.
type validation struct {
	base       string
	kind       string // "" for none
	parameters map[string]any
}

// validation derives the validation of a type.
func (c *collector) validation(t types.Type) validation {
	d, ok := t.(*types.Typedef)
	if !ok {
		return validation{base: t.String()}
	}
	out := c.validation(d.Base)
	own, ok := c.condition(d, c.result.Conditions[d], out.base)
	switch {
	case !ok:
	case own.kind == out.kind && own.kind != "enum" && out.parameters["regex"] == nil:
		all := maps.Clone(out.parameters)
		maps.Copy(all, own.parameters)
		// if both types set a bound, the compile of the model also checks that of the inner type
		out.parameters = all
	default:
		own.base = out.base
		return own
	}
	return out
}

// condition parses a condition; false if it can be checked only with the model.
func (c *collector) condition(
	d *types.Typedef, x syntax.Expression, base string,
) (validation, bool) {
	switch x := x.(type) {
	case *syntax.Group:
		return c.condition(d, x.Value, base)
	case *syntax.Pattern:
		return validation{
			kind: "pydantic.constr", parameters: map[string]any{"regex": x.Text},
		}, true
	case *syntax.Call:
		return c.call(x)
	case *syntax.Operation:
		if x.Op == "==" {
			for _, pair := range [][2]syntax.Expression{{x.Left, x.Right}, {x.Right, x.Left}} {
				if v, ok := eval.Constant(pair[1]); ok && v == true && !value(d, pair[0]) {
					return c.condition(d, pair[0], base)
				}
			}
		}
		if all, ok := enum(d, x); ok {
			return enumeration(d, all)
		}
		return bounds(d, x, base)
	}
	return validation{}, false
}

// value reports whether an expression is the value of the type: self, or the name of the type.
func value(d *types.Typedef, x syntax.Expression) bool {
	if g, ok := x.(*syntax.Group); ok {
		return value(d, g.Value)
	}
	r, ok := x.(*syntax.Ref)
	if !ok {
		return false
	}
	name := d.Name
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == ':' {
			name = name[i+1:]
			break
		}
	}
	return r.Name.Text == "self" || r.Name.Text == name
}

// call parses std::validate_type(...).
func (c *collector) call(x *syntax.Call) (validation, bool) {
	if x.Plugin.Text != "std::validate_type" || len(x.Args) < 2 {
		return validation{}, false
	}
	given := map[string]types.Value{}
	for i, a := range x.Args {
		v, ok := eval.Constant(a.Value)
		names := []string{"fq_type_name", "value", "validation_parameters"}
		name := names[min(i, len(names)-1)]
		if a.Name != nil {
			name = a.Name.Text
		}
		if ok {
			given[name] = v
		}
	}
	kind, ok := given["fq_type_name"].(string)
	if !ok {
		return validation{}, false
	}
	out := validation{kind: kind, parameters: map[string]any{}}
	if p, ok := given["validation_parameters"].(*types.Dict); ok {
		plain, err := lsm.Plain(p)
		if err != nil {
			return validation{}, false
		}
		out.parameters, _ = plain.(map[string]any)
	}
	return out, true
}

// enum parses self in [...], and self == a or self == b.
func enum(d *types.Typedef, x syntax.Expression) ([]types.Value, bool) {
	switch x := x.(type) {
	case *syntax.Group:
		return enum(d, x.Value)
	case *syntax.Operation:
		switch {
		case x.Op == "in" && value(d, x.Left):
			v, ok := eval.Constant(x.Right)
			l, is := v.(*types.List)
			if !ok || !is {
				return nil, false
			}
			return l.Items, true
		case x.Op == "==" && value(d, x.Left):
			v, ok := eval.Constant(x.Right)
			return []types.Value{v}, ok
		case x.Op == "==" && value(d, x.Right):
			v, ok := eval.Constant(x.Left)
			return []types.Value{v}, ok
		case x.Op == "or":
			left, ok := enum(d, x.Left)
			right, also := enum(d, x.Right)
			return append(slices.Clone(left), right...), ok && also
		}
	}
	return nil, false
}

// enumeration describes a choice between values. Public clients read names; values keeps the order.
func enumeration(d *types.Typedef, all []types.Value) (validation, bool) {
	names, values := map[string]any{}, []any{}
	for _, v := range all {
		plain, err := lsm.Plain(v)
		if err != nil {
			return validation{}, false
		}
		names[types.Text(v)] = plain
		values = append(values, plain)
	}
	return validation{
		kind: "enum", parameters: map[string]any{"names": names, "value": d.Name, "values": values},
	}, true
}

// bounds parses comparisons of numbers that are joined by and.
func bounds(d *types.Typedef, x syntax.Expression, base string) (validation, bool) {
	kinds := map[string]string{
		"int": "pydantic.conint", "float": "pydantic.confloat", "number": "pydantic.confloat",
	}
	kind, ok := kinds[base]
	out := map[string]any{}
	if !ok || !compare(d, x, out) {
		return validation{}, false
	}
	return validation{kind: kind, parameters: out}, true
}

// compare adds the bounds of an expression; false if it contains something else, or repeats a
// bound.
func compare(d *types.Typedef, x syntax.Expression, into map[string]any) bool {
	if g, ok := x.(*syntax.Group); ok {
		return compare(d, g.Value, into)
	}
	o, ok := x.(*syntax.Operation)
	if !ok {
		return false
	}
	if o.Op == "and" {
		return compare(d, o.Left, into) && compare(d, o.Right, into)
	}
	names := map[string]string{"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
	turned := map[string]string{"<": "gt", "<=": "ge", ">": "lt", ">=": "le"}
	name, limit := names[o.Op], o.Right
	if value(d, o.Right) {
		name, limit = turned[o.Op], o.Left
	} else if !value(d, o.Left) {
		return false
	}
	v, ok := eval.Constant(limit)
	if _, twice := into[name]; name == "" || !ok || twice {
		return false
	}
	plain, err := lsm.Plain(v)
	into[name] = plain
	return err == nil
}
