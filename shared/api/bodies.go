package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/semaphore"

	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/service/inventory"
)

// The times that a client has.
const (
	refusedTime = time.Second      // for the remaining body of a rejected request
	bodyTime    = 5 * time.Minute  // for a body of at most 8 MB that is not a file
	silentTime  = 30 * time.Second // between two pieces of any body
)

// patient is the body of a request: it limits the time between two pieces, and the total time to
// that of its context, see patience.Left.
type patient struct {
	io.ReadCloser
	rc  *http.ResponseController
	ctx context.Context
}

// Read implements io.Reader.
func (p patient) Read(b []byte) (int, error) {
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

// The bounds of the bodies of requests about services that are read and handled at the same time.
const (
	bodiesAtOnce = 64
	bytesAtOnce  = 8 << 20 // as they are sent
)

// bodies bounds the number and the bytes of bodies of requests about services in memory. Further
// requests wait for their turn, until their client disconnects.
type bodies struct {
	places chan struct{}
	bytes  *semaphore.Weighted
}

func newBodies() *bodies {
	return &bodies{make(chan struct{}, bodiesAtOnce), semaphore.NewWeighted(bytesAtOnce)}
}

// bounded rejects bodies whose header announces too many bytes, and makes the others wait.
func (b *bodies) bounded(c huma.Context, next func(huma.Context)) {
	op := c.Operation()
	if op.RequestBody == nil || !slices.Contains(op.Tags, servicesTag) {
		next(c)
		return
	}
	if n, err := strconv.ParseInt(c.Header("Content-Length"), 10, 64); err == nil && n >= op.MaxBodyBytes {
		send(c, tooLong(op))
		return
	}
	ctx := c.Context()
	select {
	case b.places <- struct{}{}:
		defer func() { <-b.places }()
	case <-ctx.Done():
		return // the client has gone
	}
	if b.bytes.Acquire(ctx, op.MaxBodyBytes) != nil {
		return
	}
	defer b.bytes.Release(op.MaxBodyBytes)
	next(c)
}

// tooLong is the error of a body about services that is longer than its operation permits.
func tooLong(op *huma.Operation) *ErrorBody {
	return problemWith(http.StatusRequestEntityTooLarge, Failure{Kind: fault.Invalid,
		Message: fmt.Sprintf("the body has %d bytes or more", op.MaxBodyBytes),
		Hint: "order several instances, or keep data elsewhere; a set of attributes has at most " +
			strconv.Itoa(inventory.MaxAttributes) + " bytes of JSON",
		Problems: []Wrong{}})
}

// gathered is a request whose body was already read.
type gathered struct {
	humaContext
	body io.Reader
}

// humaContext renames huma.Context, whose name equals that of a method.
type humaContext huma.Context

// BodyReader implements huma.Context.
func (g gathered) BodyReader() io.Reader { return g.body }

// readable reads bodies before the library does: the library reports a body that violates HTTP as a
// fault of the server. The library reports all other errors of a body.
func readable(c huma.Context, next func(huma.Context)) {
	op := c.Operation()
	if op.RequestBody == nil || c.BodyReader() == nil {
		next(c)
		return
	}
	var text bytes.Buffer
	from, err := unpacked(c.Header("Content-Encoding"), c.BodyReader())
	if err == nil {
		_, err = io.Copy(&text, io.LimitReader(from, op.MaxBodyBytes))
	}
	if malformed(err) {
		send(c, problemOf(notRead(err)))
		return
	}
	if err == nil && slices.Contains(op.Tags, servicesTag) && int64(text.Len()) >= op.MaxBodyBytes {
		send(c, tooLong(op))
		return
	}
	body := io.Reader(&text)
	if err != nil {
		body = io.MultiReader(body, failing{err})
	}
	next(gathered{c, body})
}

// unpacked returns a body decompressed.
func unpacked(encoding string, body io.Reader) (io.Reader, error) {
	switch strings.ToLower(encoding) {
	case "", "identity":
		return body, nil
	case "gzip":
		return gzip.NewReader(body)
	}
	return nil, fault.New(fault.Usage, "", "the Content-Encoding is not known").
		WithHint("send the body as it is, or compressed by gzip")
}

// malformed reports whether an error of reading a body is the client's.
func malformed(err error) bool {
	var slow net.Error
	return err != nil && (!errors.As(err, &slow) || !slow.Timeout())
}

func notRead(err error) error {
	return fault.Wrap(fault.Usage, "read the body of the request", err)
}

// failing is a reader that fails.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }
