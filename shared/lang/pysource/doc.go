// Package pysource reads which plugins and dataclasses the Python files of a module declare,
// without running Python, for an editor:
//
//	.py file ─► scan: tokens, in logical lines ─┬► declared: decorators and what follows ─► Plugin
//	                                            └► classes: decorators, bases and fields ─► Class
//
// It goes by what the text says. What Python would only find out (plugins that are made in a loop,
// decorators of other names that wrap @plugin) is not seen, and types that are not known by their
// names count as any. What is wrong in a file is Python's to say: it is skipped here.
package pysource
