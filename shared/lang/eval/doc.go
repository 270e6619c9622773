// Package eval executes models. It defines the types that a model declares, and runs the statements
// as a dataflow. A statement runs as soon as the values that it reads are known.
// docs/design/language.md describes the algorithm.
//
//	syntax.File of each namespace ─► define: types ─► bind: nodes with slots for variables
//	─► run: units that wait ─► Result
//
// # Built-in plugins
//
// A built-in plugin is a Plugin value in the table that is passed to Run as Program.Plugins. To add
// a plugin, write its function and add an entry to the table of its module, such as Plugins of
// shared/lang/std:
//
//	{
//		Name: "std::count", Doc: "...", Result: "int", Call: count,
//		Params: []eval.Param{{Name: "item_list", Type: "list"}},
//	},
//
//	func count(_ *eval.Context, a eval.Args) (types.Value, error) {
//		return int64(len(a.List(0).Items)), nil
//	}
//
// Run checks arguments against the types of the parameters before the call, and the result against
// Result after it. If an argument is invalid, Call returns an error: one sentence without the name
// of the plugin. The evaluator prefixes the name and adds the position of the call.
//
// Context.Attribute reads an attribute of an instance, and Context.Variable reads a variable of the
// caller. Both return an error if the value is not known yet. Call must return this error
// unchanged: the evaluator calls Call again when the value is known. Until its last read succeeds,
// Call must therefore have no visible side effect.
package eval
