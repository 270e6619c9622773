package home

import (
	"net/http"
	"net/url"
	"os"
	"strings"

	"southbound/shared/fault"
)

// emulator is a transport to an emulator of AWS. The names of function URLs do not resolve there.
// Requests to them go to the address of the emulator, with the name in the Host header, which is
// signed.
type emulator struct {
	address *url.URL
	next    http.RoundTripper
}

// Emulated returns the transport to the emulator that SOUTHBOUND_ENDPOINT names; nil if the
// variable is not set.
func Emulated() (http.RoundTripper, error) {
	text := os.Getenv("SOUTHBOUND_ENDPOINT")
	if text == "" {
		return nil, nil
	}
	address, err := url.Parse(text)
	if err != nil || address.Host == "" {
		return nil, fault.New(fault.Usage, "", "SOUTHBOUND_ENDPOINT is %q, which is not a URL",
			text).WithHint("write it such as http://127.0.0.1:4566, or leave it out for AWS")
	}
	return &emulator{address: address, next: http.DefaultTransport}, nil
}

// RoundTrip implements http.RoundTripper. The request is not changed.
func (e *emulator) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Hostname(), ".on.aws") {
		return e.next.RoundTrip(r) // the client wraps it
	}
	out := r.Clone(r.Context())
	out.Host = r.URL.Host
	out.URL.Scheme, out.URL.Host = e.address.Scheme, e.address.Host
	return e.next.RoundTrip(out) // the client wraps it
}
