package lsp

import (
	"fmt"

	"github.com/creachadair/jrpc2"
)

// failed is the answer to a request that cannot be done, which the editor shows.
func failed(format string, args ...any) error {
	return &jrpc2.Error{Code: codeRequestFailed, Message: fmt.Sprintf(format, args...)}
}

func notOpen(uri string) error {
	return &jrpc2.Error{Code: codeInvalidParams, Message: uri + " is not open"}
}

// openPath returns the path of what an editor has open.
func (s *workspace) openPath(uri string) (string, bool) {
	path, ok := pathOf(uri)
	if !ok {
		return "", false
	}
	path = s.built.original(path)
	return path, s.docs[path] != nil
}
