// Package lsm is the module lsm of models, which defines services that customers can order. Its
// model files and plugins are part of the program, and are available to models that import the
// module.
//
//	lsm.go         the model files, and the table of plugins
//	services.go    the instances that plugins read, and the values that models store
//	instances.go   plugins about instances and bindings
//	readonly.go    values that the model sets: read-only attributes, allocators, suggestions
//	specs.go       allocation specs, whose allocators are Python code of modules
//	ask.go         answers to the module lsm in Python
//	machine.go     lifecycles, from their instances
//	values.go      conversion of values from and to JSON
package lsm

import (
	"embed"
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// Namespace is the namespace of the module.
const Namespace = "lsm"

//go:embed model/*.cf
var model embed.FS

// Text returns the model file of a namespace of the module; false for any other namespace.
func Text(namespace string) (string, bool) {
	name, ok := "_init", namespace == Namespace
	if !ok {
		name, ok = strings.CutPrefix(namespace, Namespace+"::")
	}
	if !ok {
		return "", false
	}
	text, err := model.ReadFile("model/" + name + ".cf")
	return string(text), err == nil && (name != "_init" || namespace == Namespace)
}

// Namespaces returns the namespaces of the module.
func Namespaces() []string {
	return []string{Namespace, Namespace + "::allocators", Namespace + "::fsm"}
}

// Plugins returns the plugins of the module.
func Plugins() []eval.Plugin {
	return slices.Concat(instancePlugins(), readOnlyPlugins(), allocators(), textPlugins())
}

// textPlugins returns the plugins that produce text.
func textPlugins() []eval.Plugin {
	return []eval.Plugin{
		{
			Name: "lsm::format", Result: "string", InContext: true, Call: format,
			Doc: "Returns __string with its fields filled in, as std::format does; args are the " +
				"values of {} and {0}, kwargs those of {name}.",
			Params: []eval.Param{
				{Name: "__string", Type: "string"},
				{Name: "args", Type: "list", Default: &types.List{}},
				{Name: "kwargs", Type: "dict", Default: types.NewDict(0)},
			},
		},
		{
			Name: "lsm::render_dot", Result: "string", InContext: true, Call: renderDot,
			Doc: "Returns the lifecycle machine as a graph in the language of Graphviz.",
			Params: []eval.Param{
				{Name: "machine", Type: "lsm::LifecycleStateMachine"},
			},
		},
	}
}

func format(c *eval.Context, a eval.Args) (types.Value, error) {
	named := types.NewDict(0)
	for _, k := range a.Dict(2).Keys() {
		v, _ := a.Dict(2).Get(k)
		named.Set(k, v)
	}
	return c.ApplyNamed(
		"std::format", append([]types.Value{a.Values[0]}, a.List(1).Items...), named)
}

func renderDot(c *eval.Context, a eval.Args) (types.Value, error) {
	m, err := Machine(c.Attribute, a.Values[0].(types.Object))
	if err != nil {
		return nil, err
	}
	return m.Dot(), nil
}
