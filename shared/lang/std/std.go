// Package std is the module std of models: its texts, which are those of inmanta-module-std 8.5
// (Apache License 2.0), and its plugins in Go. A plugin is a function and a line in a table; the
// package comment of shared/lang/eval says how to write one.
package std

import (
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// Model holds the texts of the module: model/_init.cf and those of its parts.
//
//go:embed model/*.cf
var Model embed.FS

// Plugins returns the plugins of the module.
func Plugins() []eval.Plugin { return slices.Concat(ofData(), aboutModel()) }

// ofData are the plugins that compute with data.
func ofData() []eval.Plugin {
	return []eval.Plugin{
		{
			Name: "std::print", Doc: "Prints a message.", Params: []eval.Param{{Name: "message", Type: "reference"}}, Result: "any",
			Call: func(c *eval.Context, a eval.Args) (types.Value, error) {
				c.Print(printed(a.Values[0]) + "\n")
				return types.Null{}, nil
			},
		},
		{
			Name: "std::replace", Doc: "Returns string with every old replaced by new.", Result: "string",
			Params: []eval.Param{
				{Name: "string", Type: "string"},
				{Name: "old", Type: "string"},
				{Name: "new", Type: "string"},
			},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				return strings.ReplaceAll(a.Text(0), a.Text(1), a.Text(2)), nil
			},
		},
		{
			Name: "std::count", Doc: "Returns the number of elements of item_list.", Params: []eval.Param{{Name: "item_list", Type: "list"}}, Result: "int",
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) { return int64(len(a.List(0).Items)), nil },
		},
		{
			Name: "std::sequence", Doc: "Returns i numbers from start.", Result: "list",
			Params: []eval.Param{
				{Name: "i", Type: "int"},
				{Name: "start", Type: "int", Default: int64(0)},
			}, Call: sequence,
		},
	}
}

// aboutModel are the plugins that ask about values of a model and what is around it.
func aboutModel() []eval.Plugin {
	return []eval.Plugin{
		{
			Name: "std::get_env", Doc: "Returns an environment variable; an unknown value, if there is none and no default_value.", Result: "string",
			Params: []eval.Param{
				{Name: "name", Type: "string"},
				{Name: "default_value", Type: "string?", Default: types.Null{}},
			}, Call: environment,
		},
		{
			Name: "std::is_unknown", Doc: "Reports whether value is unknown.", Params: []eval.Param{{Name: "value", Type: "reference"}}, Result: "bool",
			AllowUnknown: true,
			Call:         func(_ *eval.Context, a eval.Args) (types.Value, error) { return types.IsUnknown(a.Values[0]), nil },
		},
		{
			Name: "std::attr", Doc: "Returns the attribute attr of obj.", Result: "reference",
			Params: []eval.Param{
				{Name: "obj", Type: "any"},
				{Name: "attr", Type: "string"},
			}, Call: attribute,
		},
		{
			Name: "std::is_base64_encoded", Doc: "Reports whether s is base64.", Params: []eval.Param{{Name: "s", Type: "string"}}, Result: "bool",
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				_, err := base64.StdEncoding.DecodeString(a.Text(0))
				return err == nil, nil
			},
		},
		{
			Name: "std::validate_type", Doc: "Reports whether value is one of the type fq_type_name.", Result: "bool",
			Params: []eval.Param{
				{Name: "fq_type_name", Type: "string"}, {Name: "value", Type: "any"},
				{Name: "validation_parameters", Type: "dict?", Default: types.Null{}},
			},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				return nil, fmt.Errorf("the type %s is not known", a.Text(0))
			},
		},
		{
			Name: "std::template", Doc: "Renders a template.", Result: "string", InContext: true,
			Params: []eval.Param{
				{Name: "path", Type: "string"},
			}, Named: &eval.Param{Name: "kwargs", Type: "any"},
			Call: func(_ *eval.Context, _ eval.Args) (types.Value, error) {
				return nil, errors.New("templates cannot be rendered")
			},
		},
	}
}

// printed returns a value as the reference prints it: what Python code sees of lists, dicts and
// instances begins with @.
func printed(v types.Value) string {
	switch v.(type) {
	case types.Null:
		return "None"
	case *types.List, *types.Dict, types.Object:
		return "@" + types.Repr(v)
	}
	return types.Text(v)
}

// maxSequence is how long a sequence may be.
const maxSequence = 10_000_000

func sequence(_ *eval.Context, a eval.Args) (types.Value, error) {
	n := a.Int(0)
	if n > maxSequence {
		return nil, fmt.Errorf("a sequence has at most %d numbers", maxSequence)
	}
	out := &types.List{}
	for i := range n {
		out.Items = append(out.Items, a.Int(1)+i)
	}
	return out, nil
}

func environment(_ *eval.Context, a eval.Args) (types.Value, error) {
	name := a.Text(0)
	if v, ok := os.LookupEnv(name); ok {
		return v, nil
	}
	if a.Null(1) {
		return &types.Unknown{Why: "the environment variable " + name + " is not set"}, nil
	}
	return a.Values[1], nil
}

func attribute(c *eval.Context, a eval.Args) (types.Value, error) {
	o, ok := a.Values[0].(types.Object)
	if !ok {
		return nil, errors.New(types.Kind(a.Values[0]) + " has no attributes")
	}
	return c.Attribute(o, a.Text(1))
}
