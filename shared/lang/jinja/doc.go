// Package jinja renders templates of Jinja2, compatible with version 3.1 with StrictUndefined.
//
// A template is parsed once (New). It can be rendered any number of times, also concurrently:
//
//	text ─ lex ─► tokens ─ parse ─► tree ─ Render(host) ─► text
//
// Values are the values of models (package types) and some that only templates have: tuples,
// dictionaries with keys of any kind, undefined values, markup, functions. A template's Host
// provides variables and the attributes of instances. Computations follow Python: `7 // -2` is -4,
// 1 == true, "a" + 1 is an error.
//
// Not supported, and rejected by name: the filters random and urlize, the function lipsum, and
// extensions (do, break, trans). random and lipsum are not deterministic; urlize is for web pages
// only.
package jinja
