package home

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// TestEmulator pins that what is for a function URL goes to the emulator with the name that was
// signed, and everything else where it was meant to.
func TestEmulator(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.Host+r.URL.Path)
		}))
	defer server.Close()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &emulator{address: address, next: http.DefaultTransport}}
	for ask, want := range map[string]string{
		// its name does not resolve
		"https://abc.lambda-url.eu-west-1.on.aws/v1": "abc.lambda-url.eu-west-1.on.aws/v1",
		// an upload
		server.URL + "/bucket/key": address.Host + "/bucket/key",
	} {
		res, err := client.Get(ask)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if string(got) != want {
			t.Errorf("%s: the server was asked for %s, want %s", ask, got, want)
		}
	}
}
