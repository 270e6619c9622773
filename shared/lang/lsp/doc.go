// Package lsp is the language server of models: it answers requests of editors. The protocol is
// https://microsoft.github.io/language-server-protocol (3.17), over standard input and output.
// docs/language/editor.md lists its features, docs/design/lsp.md explains its design.
//
//	frames.go     messages on a stream, with size limits
//	protocol.go   the structure of messages
//	server.go     the life cycle of a server: initialize, shutdown, exit
//	documents.go  open documents and their edits
//	texts.go      cached texts and syntax trees of files
//	views.go      the model that a file belongs to: its names, its problems
//	diagnose.go, problems.go   problems, published while the user types
//	navigate.go, completion.go, change.go   answers to requests
//	plugins.go, python.go   plugins that Python code declares
package lsp
