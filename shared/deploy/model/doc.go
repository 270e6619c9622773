// Package model is a desired state before it becomes a version: the rules that it has to meet, and
// the parts that its types add to it.
//
//	Model ── attributes, identities, things ──► problems, with their places
//	   └── Generate: resources that follow ── Relate: requirements that follow from types
//	          └── reach, cycles, missing requirements ──► a model that can be stored
//
// A Checker has the types and handlers of a program, and neither stores nor reads data. Its callers
// supply the values of references at an export, and the content of a previous version.
package model
