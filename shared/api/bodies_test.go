package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"southbound/shared/api"
)

// TestMalformedBodies wants a body that is not as HTTP has it to be an error of who sent it.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	host := w.Listener.Addr().String()
	for _, c := range []struct{ method, path, kind string }{
		{"POST", "/v1/environments/e/halt", "application/json"},
		{"POST", "/v1/environments/e/exports", "application/json"},
		{"PUT", "/v1/files/" + strings.Repeat("0", 64), "application/octet-stream"},
	} {
		for _, body := range []string{"zz\r\n{}\r\n0\r\n\r\n", "5\r\n{}\r\n0\r\n\r\n",
			"2\r\n{}XX0\r\n\r\n"} {
			conn, err := net.Dial("tcp", host)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
				"Content-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%s", c.method, c.path, host,
				token, c.kind, body)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			_ = conn.Close()
			if resp.StatusCode != http.StatusBadRequest ||
				!strings.Contains(string(text), `"kind":"usage"`) ||
				!strings.Contains(string(text), "read the body of the request: ") {
				t.Errorf("%s %s, %q: %d %s", c.method, c.path, body, resp.StatusCode, text)
			}
		}
	}
}

// deadlines is a connection that notes until when may be read from it.
type deadlines struct {
	*httptest.ResponseRecorder
	until time.Time
}

// SetReadDeadline is what http.ResponseController asks for.
func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.until = at
	return nil
}

// endless is a body that comes bit by bit, until it may not be waited for any longer.
type endless struct {
	conn  *deadlines
	pause time.Duration
}

// Read implements io.Reader.
func (e endless) Read(b []byte) (int, error) {
	began := time.Now()
	if e.conn.until.IsZero() {
		return 0, context.Canceled // nobody ends it
	}
	<-time.After(min(e.pause, e.conn.until.Sub(began)))
	if !time.Now().Before(e.conn.until) {
		return 0, slow{}
	}
	return copy(b, " "), nil
}

// slow is the error of a deadline.
type slow struct{}

func (slow) Error() string   { return "timeout" }
func (slow) Timeout() bool   { return true }
func (slow) Temporary() bool { return true }

// TestUnreadBodies wants the server not to wait without end for a body that nobody reads.
func TestUnreadBodies(t *testing.T) {
	t.Parallel()
	service := start(t, nil).service
	conn := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/nowhere",
		strings.NewReader("{}"))
	req.Host = "here"
	req.Header.Set("Authorization", "Bearer "+token)
	api.Guard{Token: token, Hosts: []string{"here"}}.Wrap(api.Handler(service)).ServeHTTP(conn, req)
	if conn.Code != http.StatusNotFound || conn.until.IsZero() {
		t.Errorf("%d, and what is left is waited for until %s", conn.Code, conn.until)
	}
}

// TestEndlessBodies wants a body that is silent, or never ends, to be waited for so long, and at most
// for one piece longer: a piece that comes in the moment of the limit is still read. The work after
// one that has ended is not cut off.
func TestEndlessBodies(t *testing.T) {
	t.Parallel()
	service := start(t, nil).service
	for _, c := range []struct {
		why    string
		pause  time.Duration
		limit  time.Duration
		status int
	}{
		{"silent", time.Hour, 30 * time.Second, http.StatusRequestTimeout},
		{"bit by bit", time.Second, 5 * time.Minute, http.StatusRequestTimeout},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost,
				"/v1/environments/e/halt", endless{conn, c.pause})
			req.Host = "here"
			req.Header.Set("Authorization", "Bearer "+token)
			req.Header.Set("Content-Type", "application/json")
			began := time.Now()
			api.Guard{Token: token, Hosts: []string{"here"}}.Wrap(api.Handler(service)).
				ServeHTTP(conn, req)
			if took := time.Since(began); took < c.limit || took > c.limit+time.Second ||
				conn.Code != c.status {
				t.Errorf("%s: %d after %s: %s", c.why, conn.Code, took, conn.Body)
			}
			if !conn.until.IsZero() {
				t.Errorf("%s: the deadline is left", c.why)
			}
		})
	}
}
