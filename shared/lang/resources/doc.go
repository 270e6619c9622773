// Package resources makes Southbound's types part of models: an entity for each of them, in a text
// that is made from the registry; plugins for values that are known when resources are deployed;
// and the agents and resources that a model has come to, as documents of format 1 describe them.
//
//	entities.go  the texts of southbound, southbound::fs, ...
//	values.go    southbound::file, secret, parameter, fact
//	collect.go   from instances to agents and resources
//	mapped.go    those that mappings of the program make
//	foreign.go   those that classes of modules have made
package resources
