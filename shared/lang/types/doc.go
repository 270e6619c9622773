// Package types defines the values of models and their types. Values have the numbers and the text
// formats of Python. Types check values: primitive types, typedefs, and entities with their
// attributes, relations and indexes.
//
// The package depends neither on syntax nor on evaluation: shared/lang/eval builds the definitions,
// and sets the condition of a typedef.
package types
