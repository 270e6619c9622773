// Package names finds what the names in models mean, as far as the text tells: what is defined
// where, what a name at a place refers to, what may stand at a place. It is what editors ask.
//
//	syntax.File of each namespace ─► Project: what each namespace and entity has
//	                                    └► Uses of a file: every name with what it means
//
// Types of variables are told from what is assigned. What only a run knows stays unknown: an
// attribute of such a value is a Use without a Symbol.
package names
