// Package lsp is the language server of models: what editors ask while somebody writes. The
// protocol is that of https://microsoft.github.io/language-server-protocol (3.17), over standard
// input and output; docs/language/editor.md says what it can do, docs/design/lsp.md how.
//
//	frames.go     messages on a stream, with bounds
//	protocol.go   the shapes of messages
//	server.go     the life of a server: initialize, shutdown, exit
//	documents.go  what is open, and its edits
//	texts.go      texts and trees of files, read once
//	views.go      the model that a file belongs to: its names, its problems
//	diagnose.go   problems, published as one types
//	navigate.go, completion.go, change.go   what is asked
package lsp
