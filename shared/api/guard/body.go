// Package guard admits requests to a server on this machine: those that bear its token and name it
// as their host. It bounds the connections of a server, and how long a client may be silent.
package guard

import (
	"context"
	"io"
	"net/http"
	"time"

	"southbound/shared/patience"
)

// The times that a client has.
const (
	refusedTime = time.Second      // for the remaining body of a rejected request
	bodyTime    = 5 * time.Minute  // for a body of at most 8 MB that is not a file
	silentTime  = 30 * time.Second // between two pieces of any body
)

// timedBody is the body of a request: it limits the time between two pieces, and the total time to
// that of its context, see patience.Left.
type timedBody struct {
	io.ReadCloser
	rc  *http.ResponseController
	ctx context.Context
}

// Read implements io.Reader.
func (p timedBody) Read(b []byte) (int, error) {
	silent := silentTime
	if left, limited := patience.Left(p.ctx); limited {
		silent = min(silent, left)
	}
	late := time.Now().Add(silent)
	// if no deadline can be set, the server has limits of its own
	_ = p.rc.SetReadDeadline(late)
	n, err := p.ReadCloser.Read(b)
	if err != nil { // the server continues to read, to notice that the client disconnects
		_ = p.rc.SetReadDeadline(time.Time{})
	}
	return n, err // io.EOF must stay itself
}
