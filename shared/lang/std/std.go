// Package std is the module std of models: its model files, and its plugins in Go. Names, types and
// results are those of Version of the module std. A plugin is a function and an entry in a table;
// the package comment of shared/lang/eval describes how to write one.
//
//	instances.go     instances, types, printing
//	strings.go       strings, JSON, formats
//	lists.go         lists, and deprecated plugins
//	network.go       addresses and networks
//	project.go       files, templates and passwords of the project
//	surroundings.go  environment variables, the environment, facts
//	references.go    values that are resolved during deployment
//	validate.go      std::validate_type
package std

import (
	"embed"
	"slices"

	"southbound/shared/lang/eval"
)

// Version is the version of the module std that this package corresponds to.
const Version = "8.7.5"

// Model holds the model files of the module: model/_init.cf and its other namespaces.
//
//go:embed model/*.cf
var Model embed.FS

// Plugins returns the plugins of the module.
func Plugins() []eval.Plugin {
	return slices.Concat(
		instancePlugins(), stringPlugins(), listPlugins(), networkPlugins(), projectPlugins(),
		surroundingPlugins(), referencePlugins(), deprecatedPlugins(),
	)
}
