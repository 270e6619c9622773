package lsp

import (
	"fmt"

	"github.com/creachadair/jrpc2"
)

// failed returns the error of a request that cannot be done. The editor shows its message.
func failed(format string, args ...any) error {
	return &jrpc2.Error{Code: codeRequestFailed, Message: fmt.Sprintf(format, args...)}
}

func notOpen(uri string) error {
	return &jrpc2.Error{Code: codeInvalidParams, Message: uri + " is not open"}
}

// openPath returns the path of an open document; false if it is not open.
func (s *workspace) openPath(uri string) (string, bool) {
	path, ok := pathOf(uri)
	if !ok {
		return "", false
	}
	path = s.built.original(path)
	return path, s.docs[path] != nil
}
