// Package syntax parses the source text of models into tokens and a syntax tree.
//
//	text ─► Scan ─► tokens ─► Parse ─► File (definitions, statements, expressions, each with its tokens)
//	                  └───────────────► Formatted
//
// It checks neither types nor names; that is the task of later passes. Every node records its first
// and last token, so that a formatter or an editor finds all of the source, including comments. The
// grammar is the one of the reference compiler; docs/language/reference.md describes it for users.
package syntax
