package api

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
	stallTimeout = 2 * time.Minute
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

// going is a request without a time limit while its bytes are transferred.
type going struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	moved  atomic.Int64
	far    *reach
}

func newGoing(ctx context.Context) *going {
	far := &reach{}
	ctx, cancel := context.WithCancelCause(far.watch(ctx))
	g := &going{ctx: ctx, cancel: cancel, far: far}
	go func() {
		limit := func() time.Duration { return stallTimeout }
		<-patience.Silence(ctx, limit, g.moved.Load)
		cancel(context.DeadlineExceeded)
	}()
	return g
}

// on records that bytes were transferred.
func (g *going) on() { g.moved.Add(1) }

func (g *going) end() { g.cancel(nil) }

// why returns why the request failed: a stall appears to the caller as a canceled request.
func (g *going) why(err error) error {
	if cause := context.Cause(g.ctx); cause != nil {
		return cause
	}
	return err
}

// silent is the error that no answer came in time. The same request is not made again, since the
// caller has already waited for the full limit.
type silent struct{ error }

// Unwrap returns the error.
func (s silent) Unwrap() error { return s.error }

// garbled is the error of an answer that is not HTTP.
type garbled struct{ error }

// Unwrap returns the error.
func (g garbled) Unwrap() error { return g.error }

// noAnswer returns the error that a server did not answer within the limit.
func noAnswer(host string, limit time.Duration, far *reach) error {
	in := strings.TrimSuffix(limit.String(), "m0s")
	if in != limit.String() {
		in += "m"
	}
	e := fault.New(fault.Unavailable, "ask "+host, "no connection within %s", in).
		WithHint("check --api, and that the server runs and can be reached from here")
	switch {
	case far.answering.Load() || far.answered.Load():
		e.Message = "it began to answer, and did not finish within " + in
		e.Hint = "look at the server, and at what is between it and this machine"
	case far.connected.Load():
		e.Message = "it accepts connections, and did not answer within " + in
		e.Hint = "check --api: a Southbound server answers at once; if it is one, it hangs"
	}
	return silent{e}
}

// unreachable returns why a request with a limit has no answer.
func (c *connection) unreachable(
	ctx context.Context, to *url.URL, limit time.Duration, far *reach, err error,
) error {
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		return fault.Wrap(fault.KindOf(cause), "", cause)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return noAnswer(to.Host, limit, far)
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
	if far.answering.Load() && !far.answered.Load() {
		return garbled{e}
	}
	return e
}

// foreign returns the error that the server which answered the first request is not Southbound, if
// its answer shows that; otherwise foreign returns err.
func foreign(host string, err error) error {
	switch {
	case errors.As(err, new(remote)):
		return err
	case errors.As(err, new(garbled)), fault.Is(err, fault.Damaged), fault.Is(err, fault.NotFound),
		fault.Is(err, fault.Usage):
		return &fault.Error{Kind: fault.Foreign,
			Message: "what answers at " + host + " is not Southbound", Hint: "check --api",
			Err: err}
	}
	return err
}
