package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
)

const (
	// helloTimeout bounds the first request, for the description of the server, which needs no
	// work: a function that has to be started first answers it, too. readTimeout bounds every other
	// request, and writeTimeout those that change data: a function may work for a quarter of an
	// hour.
	helloTimeout = 20 * time.Second
	readTimeout  = 2 * time.Minute
	writeTimeout = 16 * time.Minute
	// stallTimeout is how long an upload may transfer no byte before it is canceled.
	StallTimeout = 2 * time.Minute
)

// limitOf is how long a request may take.
func limitOf(method, path string) time.Duration {
	switch {
	case method == http.MethodGet && path == "/":
		return helloTimeout
	case method == http.MethodGet:
		return readTimeout
	}
	return writeTimeout
}

// reach is how far a request came. It is safe for concurrent use with the request.
type reach struct {
	connected, answering, answered atomic.Bool
}

// watch returns a context that records in r how far its request gets.
func (r *reach) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { r.connected.Store(true) },
		GotFirstResponseByte: func() { r.answering.Store(true) },
	})
}

// Transfer is a request without a time limit while its bytes are transferred.
type Transfer struct {
	Context context.Context
	cancel  context.CancelCauseFunc
	moved   atomic.Int64
	Reach   *reach
}

func NewTransfer(ctx context.Context) *Transfer {
	reached := &reach{}
	ctx, cancel := context.WithCancelCause(reached.watch(ctx))
	g := &Transfer{Context: ctx, cancel: cancel, Reach: reached}
	go func() {
		limit := func() time.Duration { return StallTimeout }
		<-patience.Silence(ctx, limit, g.moved.Load)
		cancel(context.DeadlineExceeded)
	}()
	return g
}

// Moved records that bytes were transferred.
func (g *Transfer) Moved() { g.moved.Add(1) }

func (g *Transfer) End() { g.cancel(nil) }

// Cause returns why the request failed: a stall appears to the caller as a canceled request.
func (g *Transfer) Cause(err error) error {
	if cause := context.Cause(g.Context); cause != nil {
		return cause
	}
	return err
}

// noAnswerError is the error that no answer came in time. The same request is not made again, since the
// caller has already waited for the full limit.
type noAnswerError struct{ error }

// Unwrap returns the error.
func (s noAnswerError) Unwrap() error { return s.error }

// notHTTPError is the error of an answer that is not HTTP.
type notHTTPError struct{ error }

// Unwrap returns the error.
func (g notHTTPError) Unwrap() error { return g.error }

// noAnswerWithin returns the error that a server did not answer within the limit.
func noAnswerWithin(host string, limit time.Duration, reached *reach) error {
	in := strings.TrimSuffix(limit.String(), "m0s")
	if in != limit.String() {
		in += "m"
	}
	e := fault.New(fault.Unavailable, "ask "+host, "no connection within %s", in).
		WithHint("check --api, and that the server runs and can be reached from here")
	switch {
	case reached.answering.Load() || reached.answered.Load():
		e.Message = "the answer was not complete within " + in
		e.Hint = "check the server, and the network between it and this machine"
	case reached.connected.Load():
		e.Message = "the server accepted the connection, and did not answer within " + in
		e.Hint = "check --api: a running Southbound server answers immediately"
	}
	return noAnswerError{e}
}

// Unreachable returns why a request with a limit has no answer.
func (c *Conn) Unreachable(
	ctx context.Context, to *url.URL, limit time.Duration, reached *reach, err error,
) error {
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		return fault.Wrap(fault.KindOf(cause), "", cause)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return noAnswerWithin(to.Host, limit, reached)
	}
	var own *fault.Error
	if errors.As(err, &own) {
		return own
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	e := &fault.Error{Kind: fault.Unavailable, Op: "ask " + to.Host, Err: err,
		Hint: "check --api, and that the server runs"}
	if reached.answering.Load() && !reached.answered.Load() {
		return notHTTPError{e}
	}
	return e
}

// notSouthbound returns the error that the server which answered the first request is not Southbound, if
// its answer shows that; otherwise foreign returns err.
func notSouthbound(host string, err error) error {
	switch {
	case errors.As(err, new(ServerError)):
		return err
	case errors.As(err, new(notHTTPError)), fault.Is(err, fault.Damaged), fault.Is(err, fault.NotFound),
		fault.Is(err, fault.Usage):
		return &fault.Error{Kind: fault.Foreign,
			Message: "the server at " + host + " is not Southbound", Hint: "check --api",
			Err: err}
	}
	return err
}
