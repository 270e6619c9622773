// Package resources integrates Southbound's types into models. It generates an entity for each type
// of the registry. It provides plugins for values that are resolved during deployment. It converts
// the instances of a model to agents and resources, as in documents of format 1.
//
//	entities.go  the model files of southbound, southbound::fs, ...
//	values.go    southbound::file, secret, parameter, fact
//	collect.go   conversion of instances to agents and resources
//	mapped.go    resources from mappings of the program
//	foreign.go   resources from Python classes of modules
package resources
