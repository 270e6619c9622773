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
	// callFor is the maximum duration of a call, from the connection to the response.
	callFor = 5 * time.Second
	// maxAnswer is the number of bytes of a response that are read. Its content is ignored.
	maxAnswer = 4 << 10
	// maxError is the maximum length of the text of a failure.
	maxError = 500
)

// Caller makes calls.
type Caller struct {
	client *http.Client
	limit  time.Duration
}

// NewCaller returns a caller. loopback allows calls to addresses of this machine. limit is the
// maximum duration of a call; 0: five seconds.
func NewCaller(loopback bool, limit time.Duration) *Caller {
	if limit == 0 {
		limit = callFor
	}
	d := &net.Dialer{Control: guard(loopback)}
	return &Caller{limit: limit, client: &http.Client{
		Transport: &http.Transport{
			// A proxy would resolve names itself, and so bypass the guard against refused
			// addresses.
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

// call sends a body with headers. It returns an error unless the status of the response is a
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
	// The key is the same for each attempt. With it, the client also retries immediately if the
	// server has just closed the connection.
	req.Header.Set("Idempotency-Key", event)
	resp, err := c.client.Do(req)
	if err != nil {
		return fault.Wrap(fault.Unavailable, "call", cut(err))
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // allows reuse of the connection
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		return nil
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return fault.New(fault.Unavailable, "call", "it answers %s", resp.Status).
			WithHint("redirects are not followed: register the address that it leads to")
	}
	return fault.New(fault.Unavailable, "call", "it answers %s", resp.Status)
}

// cut returns an error without the called address, truncated to maxError.
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
