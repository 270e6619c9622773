// Package names resolves the names in models by static analysis: the definitions, the symbol of a
// name at a place, and the completions at a place. It is the base of the answers to editors.
//
//	syntax.File of each namespace ─► Project: the symbols of each namespace and entity
//	                                    └► Uses of a file: every name with its symbol
//
// Types of variables are inferred from assigned values. Types that depend on an evaluation stay
// unknown: an attribute of a value of unknown type is a Use without a Symbol.
package names
