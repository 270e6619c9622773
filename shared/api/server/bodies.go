// Package server serves operations over HTTP: it registers them with their OpenAPI description,
// reads their requests strictly, and makes answers conditional and compressed.
package server

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/semaphore"

	"southbound/shared/api/problem"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

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
	if op.RequestBody == nil || !slices.Contains(op.Tags, ServicesTag) {
		next(c)
		return
	}
	if n, err := strconv.ParseInt(c.Header("Content-Length"), 10, 64); err == nil && n >= op.MaxBodyBytes {
		problem.Send(c, tooLong(op))
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
func tooLong(op *huma.Operation) *problem.ErrorBody {
	return problem.WithStatus(http.StatusRequestEntityTooLarge, problem.Failure{Kind: fault.Invalid,
		Message: fmt.Sprintf("the body has %d bytes or more", op.MaxBodyBytes),
		Hint: "order several instances, or keep data elsewhere; a set of attributes has at most " +
			strconv.Itoa(inventory.MaxAttributes) + " bytes of JSON",
		Problems: []problem.Wrong{}})
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

// readBody reads bodies before the library does: the library reports a body that violates HTTP as a
// fault of the server. The library reports all other errors of a body.
func readBody(c huma.Context, next func(huma.Context)) {
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
	if Malformed(err) {
		problem.Send(c, problem.Of(NotRead(err)))
		return
	}
	if err == nil && slices.Contains(op.Tags, ServicesTag) && int64(text.Len()) >= op.MaxBodyBytes {
		problem.Send(c, tooLong(op))
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

// Malformed reports whether an error of reading a body is the client's.
func Malformed(err error) bool {
	var slow net.Error
	return err != nil && (!errors.As(err, &slow) || !slow.Timeout())
}

func NotRead(err error) error {
	return fault.Wrap(fault.Usage, "read the body of the request", err)
}

// failing is a reader that fails.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// ServicesTag marks operations about services.
const ServicesTag = "services"
