// Package lsm is the module lsm of models: what makes an entity a service that customers order. Its
// texts and its plugins are part of the program, and are there for models that import it.
//
//	lsm.go         the texts, and the table of plugins
//	services.go    what plugins know of instances, and what they have told
//	instances.go   plugins about instances and bindings
//	readonly.go    values that the model sets: read-only attributes, allocators, suggestions
//	specs.go       allocation specs, whose allocators are Python code of modules
//	ask.go         answers to the module lsm in Python
//	machine.go     lifecycles, from their instances
//	values.go      values of models from those of JSON, and back
package lsm

import (
	"embed"
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// Namespace is that of the module.
const Namespace = "lsm"

//go:embed model/*.cf
var model embed.FS

// Text returns the text of a namespace of the module; false for any other.
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

// textPlugins are those that make texts.
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
