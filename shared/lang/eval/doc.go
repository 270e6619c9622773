// Package eval gives models their meaning: it defines the types that they declare, and runs their
// statements as a dataflow, in the order in which values become known. docs/design/language.md
// describes it.
//
//	syntax.File of each namespace ─► define: types ─► bind: nodes with places for variables
//
// ─► run: units that wait ─► Result
//
// # Built-in plugins
//
// A plugin in Go is a value of Plugin in a table that is given to Run (Program.Plugins). To add
// one, write its function and a line in the table of the module, such as Plugins of
// shared/lang/std:
//
//	{Name: "std::count", Doc: "...", Params: []eval.Param{{Name: "item_list", Type: "list"}},
//
// Result: "int", Call: count}
//
//	func count(_ *eval.Context, a eval.Args) (types.Value, error) {
//		return int64(len(a.List(0).Items)), nil
//	}
//
// Arguments are checked against the types before the call, the result after it. Call returns an
// error for what is wrong with the arguments: one sentence without the name of the plugin, which is
// put before it with the place of the call. What an instance holds is asked for by
// Context.Attribute, and what the caller sees by Context.Variable. Both return an error where
// nothing is known yet, which Call returns as it is: it is called again when there is a value. So a
// Call that asks must not have done anything visible before.
package eval
