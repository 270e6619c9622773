package std

import (
	"errors"
	"fmt"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// instancePlugins returns the plugins for instances and types.
func instancePlugins() []eval.Plugin {
	return []eval.Plugin{
		{
			Name: "std::attr", Doc: "Returns the attribute attr of obj.", Result: "any | reference",
			Params: []eval.Param{{Name: "obj", Type: "any"}, {Name: "attr", Type: "string"}},
			Call:   attribute,
		},
		{
			Name: "std::getattr", Result: "any | reference", AllowUnknown: true, Call: getAttribute,
			Doc: "Returns the attribute attribute_name of entity. If there is no such attribute, " +
				"or it is unknown and no_unknown is true, it returns default_value.",
			Params: []eval.Param{
				{Name: "entity", Type: "std::Entity"},
				{Name: "attribute_name", Type: "string"},
				{Name: "default_value", Type: "any | reference", Default: types.Null{}},
				{Name: "no_unknown", Type: "bool", Default: true},
			},
		},
		{
			Name: "std::isset", Doc: "Reports whether value is not null.", Result: "bool",
			Params: []eval.Param{{Name: "value", Type: "any"}},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				return !a.Null(0), nil
			},
		},
		{
			Name: "std::is_unknown", Doc: "Reports whether value is unknown.", Result: "bool",
			Params: []eval.Param{{Name: "value", Type: "any | reference"}}, AllowUnknown: true,
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				return types.IsUnknown(a.Values[0]), nil
			},
		},
		{
			Name: "std::is_instance", Doc: "Reports whether the instance obj is of the type cls.",
			Result: "bool", InContext: true, Call: isInstance,
			Params: []eval.Param{{Name: "obj", Type: "any"}, {Name: "cls", Type: "string"}},
		},
		{
			Name: "std::familyof", Result: "bool", InContext: true, Call: familyOf,
			Doc: "Reports whether member, or an operating system of whose family it is, is " +
				"called family. A family that is of no other one does not count.",
			Params: []eval.Param{
				{Name: "member", Type: "std::OS"},
				{Name: "family", Type: "string"},
			},
		},
		{
			Name: "std::objid", Doc: "Returns a text that distinguishes instances.",
			Result: "string", Call: objID, Params: []eval.Param{{Name: "value", Type: "any"}},
		},
		{
			Name: "std::type", Doc: "Is not supported: types are not values.", Result: "any",
			Params: []eval.Param{{Name: "obj", Type: "any"}},
			Call: func(*eval.Context, eval.Args) (types.Value, error) {
				return nil, errors.New("types are not values; ask with std::is_instance")
			},
		},
		{
			Name: "std::assert", Doc: "Fails with message unless expression is true.",
			Result: "any", Call: assert,
			Params: []eval.Param{
				{Name: "expression", Type: "bool"},
				{Name: "message", Type: "string", Default: ""},
			},
		},
		{
			Name: "std::print", Doc: "Prints message.", Result: "any",
			Params: []eval.Param{{Name: "message", Type: "any | reference"}},
			Call: func(c *eval.Context, a eval.Args) (types.Value, error) {
				c.Print(printed(a.Values[0]) + "\n")
				return types.Null{}, nil
			},
		},
		{
			Name: "std::validate_type", Result: "bool", Call: validateType,
			Doc: "Reports whether value is of a type that has no name in models: " +
				"pydantic.constr (with min_length, max_length, regex), pydantic.conint and " +
				"pydantic.confloat (with gt, ge, lt, le, multiple_of), datetime.date, " +
				"ipaddress.IPv4Network, uuid.UUID, pydantic.HttpUrl and others. Their parameters " +
				"are validation_parameters.",
			Params: []eval.Param{
				{Name: "fq_type_name", Type: "string"},
				{Name: "value", Type: "any"},
				{Name: "validation_parameters", Type: "dict?", Default: types.Null{}},
			},
		},
	}
}

// printed formats a value for output. Lists, dicts and instances start with @, like the proxies
// that the reference compiler passes to Python.
func printed(v types.Value) string {
	switch v.(type) {
	case types.Null:
		return "None"
	case *types.List, *types.Dict, types.Object:
		return "@" + types.Repr(v)
	}
	return types.Text(v)
}

func attribute(c *eval.Context, a eval.Args) (types.Value, error) {
	o, ok := a.Values[0].(types.Object)
	if !ok {
		return nil, errors.New(types.Kind(a.Values[0]) + " has no attributes")
	}
	return c.Attribute(o, a.Text(1))
}

func getAttribute(c *eval.Context, a eval.Args) (types.Value, error) {
	o, ok := a.Values[0].(types.Object)
	if !ok {
		return a.Values[0], nil // unknown
	}
	if o.Type().Place(a.Text(1)) < 0 {
		return a.Values[2], nil
	}
	v, err := c.Attribute(o, a.Text(1))
	if types.IsUnknown(v) && a.Bool(3) {
		return a.Values[2], nil
	}
	return v, err
}

func isInstance(c *eval.Context, a eval.Args) (types.Value, error) {
	t := c.Type(a.Text(1))
	if t == nil {
		return nil, fmt.Errorf("there is no type %s", a.Text(1))
	}
	if _, ok := a.Values[0].(types.Object); !ok {
		const text = "only an instance can be asked for, and obj is %s"
		return nil, fmt.Errorf(text, types.Kind(a.Values[0]))
	}
	return t.Check(a.Values[0]) == nil, nil
}

func familyOf(c *eval.Context, a eval.Args) (types.Value, error) {
	seen := map[types.Object]bool{}
	member, _ := a.Values[0].(types.Object)
	for first := true; member != nil && !seen[member]; first = false {
		seen[member] = true
		name, err := c.Attribute(member, "name")
		if err != nil || name == a.Values[1] && first {
			return err == nil, err
		}
		up, err := c.Attribute(member, "family")
		switch {
		case errors.Is(err, eval.ErrMissing):
			return false, nil // the outermost family does not count, as in the reference compiler
		case err != nil:
			return nil, err
		case name == a.Values[1]:
			return true, nil
		}
		member, _ = up.(types.Object)
	}
	return false, nil
}

func objID(_ *eval.Context, a eval.Args) (types.Value, error) {
	o, ok := a.Values[0].(types.Object)
	if !ok {
		return nil, errors.New(types.Kind(a.Values[0]) + " is not an instance")
	}
	return fmt.Sprintf("('%s', %d)", o.Type().FullName(), o.Number()), nil
}

func assert(_ *eval.Context, a eval.Args) (types.Value, error) {
	if a.Bool(0) {
		return types.Null{}, nil
	}
	if message := a.Text(1); message != "" {
		return nil, errors.New("assertion failed: " + message)
	}
	return nil, errors.New("assertion failed")
}
