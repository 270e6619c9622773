package guard

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// bounds is a server of which everything asks for a token, with few connections.
func bounds(t *testing.T, limit int) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	bound(s.Config, limit)
	s.Config.Handler = Guard{Token: "right", Hosts: []string{s.Listener.Addr().String()}}.Wrap(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, "fine")
		}))
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// TestSlowBodiesWithoutToken ends a request that bears no token without its body, and its
// connection.
func TestSlowBodiesWithoutToken(t *testing.T) {
	t.Parallel()
	s := bounds(t, 100)
	var open []net.Conn
	for range 20 {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = fmt.Fprintf(c,
			"POST /v1/environments/e/exports HTTP/1.1\r\nHost: %s\r\n"+
				"Content-Length: 100000\r\n\r\n{", s.Listener.Addr())
		open = append(open, c)
	}
	for _, c := range open {
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != http.StatusUnauthorized {
			t.Fatal(resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if _, err := r.ReadByte(); err == nil { // it ends, or the test does not
			t.Error("there is more")
		}
	}
}

// TestManyConnections lets who has a token in while others hold more connections than the server
// has.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	s := bounds(t, 8)
	for i := range 40 {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			_, _ = io.WriteString(c, "GET / HT")
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer right")
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "fine" || err != nil {
		t.Errorf("%s, %v", b, err)
	}
}
