// Package types holds what models are made of: values, with the numbers and the text of Python, and
// the types that check them:
// primitive types, typedefs, entities with their attributes, relations and indexes.
//
// It knows neither syntax nor evaluation: a definition is built by shared/lang/eval, which also
// gives a typedef its check.
package types
