// Package model is a desired state before it becomes a version: what may stand in it, and what its
// types add to it.
//
//	Model ── attributes, identities, things ──► problems, with their places
//	   └── Generate: resources that follow ── Relate: requirements that follow from types
//	          └── reach, cycles, what is not there ──► a model that can be stored
//
// A Checker knows the types and handlers of a program, and neither stores nor reads anything: what
// a reference means when it is exported, and what a version before has, is for others to bring.
package model
