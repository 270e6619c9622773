package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
)

func newServer(h http.Handler) *httptest.Server { return httptest.NewServer(h) }

// bearer is a transport that shows a token.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// dropElsewhere lets a server say that all goes through here, and nobody is to prove who he is.
func dropElsewhere(r *http.Response) error {
	if r.Request.URL.Path != "/" || r.StatusCode != http.StatusOK {
		return nil
	}
	var d map[string]any
	if err := json.NewDecoder(r.Body).Decode(&d); err != nil {
		return err
	}
	delete(d, "export_url")
	d["auth"] = "none"
	b, err := json.Marshal(d)
	r.Body = io.NopCloser(bytes.NewReader(b))
	r.ContentLength = int64(len(b))
	r.Header.Set("Content-Length", strconv.Itoa(len(b)))
	return err
}
