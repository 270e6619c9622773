// Package std is the module std of models: its texts and its plugins in Go. Names, types and
// results are those of the module std 8.5 that models are written for. A plugin is a function and a
// line in a table; the package comment of shared/lang/eval says how to write one.
//
//	instances.go     instances, types, printing
//	strings.go       strings, JSON, formats
//	lists.go         lists, and what is deprecated
//	network.go       addresses and networks
//	project.go       files, templates and passwords of the project
//	surroundings.go  environment variables, the environment, facts
//	references.go    what is known when resources are deployed
//	validate.go      std::validate_type
package std

import (
	"embed"
	"slices"

	"southbound/shared/lang/eval"
)

// Model holds the texts of the module: model/_init.cf and those of its parts.
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
