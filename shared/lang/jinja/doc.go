// Package jinja renders templates of Jinja2, as version 3.1 does with undefined values refused.
//
// A template is read once (New), and rendered as often as wanted, by several at a time:
//
//	text ─ lex ─► tokens ─ parse ─► tree ─ Render(host) ─► text
//
// Values are those of models (package types) and a few that only templates have: tuples,
// dictionaries with keys of any kind, undefined values, markup, functions. What a template cannot
// make itself comes from its Host: variables, and the attributes of instances. Everything that
// a template computes follows Python: `7 // -2` is -4, 1 == true, "a" + 1 is an error.
//
// Not supported, and refused by name: the filters random and urlize and the function lipsum, since
// they are not deterministic or are for web pages alone, and extensions (do, break, trans).
package jinja
