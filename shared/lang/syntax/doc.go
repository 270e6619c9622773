// Package syntax reads the text of models: tokens, and the tree that they make.
//
//	text ─► Scan ─► tokens ─► Parse ─► File (definitions, statements, expressions, each with its tokens)
//	                  └───────────────► Formatted
//
// It knows no types and no names: whether what is written means something is for later. Every node
// says from which token to which it stands, so that a formatter and an editor find everything that
// was written, comments included. The grammar is that of the reference compiler;
// docs/language/reference.md describes it for users.
package syntax
