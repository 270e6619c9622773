package callback

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
)

const (
	// callFor is how long a call may take: to connect, to send, and to be answered.
	callFor = 5 * time.Second
	// maxAnswer is how much of an answer is read. Nothing in it matters.
	maxAnswer = 4 << 10
	// maxError is how long the text of a failure may be.
	maxError = 500
)

// Caller makes calls.
type Caller struct {
	client *http.Client
	limit  time.Duration
}

// NewCaller returns a caller. Loopback says whether addresses of this machine may be called; for
// is how long a call may take, 0: five seconds.
func NewCaller(loopback bool, limit time.Duration) *Caller {
	if limit == 0 {
		limit = callFor
	}
	d := &net.Dialer{Control: guard(loopback)}
	return &Caller{limit: limit, client: &http.Client{
		Transport: &http.Transport{
			// Without a proxy: it would be who resolves names, and what is refused here could be
			// reached through it.
			DialContext: d.DialContext, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
			DisableCompression:     true,
			MaxResponseHeaderBytes: maxAnswer,
		},
		CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// call sends a body with headers, and returns an error unless it is answered with a status of
// success.
func (c *Caller) call(
	ctx context.Context, address, event string, signed http.Header, body []byte,
) error {
	ctx, cancel := patience.WithTimeout(ctx, c.limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fault.Wrap(fault.Invalid, "call", err)
	}
	maps.Copy(req.Header, signed)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "southbound")
	// It is the same each time that the event is told, and has a connection which the other side
	// has just closed replaced at once.
	req.Header.Set("Idempotency-Key", event)
	resp, err := c.client.Do(req)
	if err != nil {
		return fault.Wrap(fault.Unavailable, "call", cut(err))
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // so that the connection can be used again
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return nil
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return fault.New(fault.Unavailable, "call", "it answers %s", resp.Status).
			WithHint("redirects are not followed: register the address that it leads to")
	}
	return fault.New(fault.Unavailable, "call", "it answers %s", resp.Status)
}

// cut returns what is wrong without the address that was called, as short as it is kept.
func cut(err error) error {
	var refused *fault.Error
	var slow net.Error
	var outer *url.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &slow) && slow.Timeout():
		return errors.New("it did not answer in time")
	case errors.As(err, &outer):
		err = outer.Err
	}
	if text := []rune(err.Error()); len(text) > maxError {
		return fmt.Errorf("%s…", string(text[:maxError]))
	}
	return err
}
