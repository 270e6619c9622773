package sigv4_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"southbound/shared/aws/sigv4"
	"southbound/shared/fault"
)

// TestRoundTrip signs requests as a server that knows the key makes the signature again.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 31, 12, 0, 0, 0, time.UTC)
	creds := credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "s3cr3t", "session")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sum := sha256.Sum256(body)
		hash := hex.EncodeToString(sum[:])
		again, err := http.NewRequestWithContext(r.Context(), r.Method,
			"http://"+r.Host+r.URL.RequestURI(), strings.NewReader(string(body)))
		if err != nil {
			t.Error(err)
			return
		}
		for _, name := range []string{"X-Amz-Content-Sha256", "Content-Type"} {
			if v := r.Header.Get(name); v != "" {
				again.Header.Set(name, v)
			}
		}
		c, _ := creds.Retrieve(r.Context())
		if err := v4.NewSigner().SignHTTP(r.Context(), c, again, hash, "lambda", "eu-west-1",
			at); err != nil {
			t.Error(err)
		}
		want, got := again.Header.Get("Authorization"), r.Header.Get("Authorization")
		if _, wantSig, _ := strings.Cut(want, "Signature="); wantSig == "" ||
			!strings.HasSuffix(got, wantSig) ||
			!strings.Contains(got, "/20260831/eu-west-1/lambda/aws4_request") {
			t.Errorf("%s %s: %s, want %s", r.Method, r.URL, got, want)
		}
		if r.Header.Get("X-Amz-Content-Sha256") != hash ||
			r.Header.Get("X-Amz-Security-Token") != "session" {
			t.Errorf("headers %v", r.Header)
		}
		_, _ = w.Write(body)
	}))
	defer server.Close()
	client := &http.Client{Transport: &sigv4.Transport{Region: "eu-west-1", Credentials: creds,
		Now: func() time.Time { return at }}}
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/", ""},
		{"GET", "/v1/environments/e/resources/fs%3A%3AFile%5Ba%2Cpath%3D%2Fx%20y%5D?b=1&a=2", ""},
		{"POST", "/v1/environments/e/deploy", `{"filter":["agent=a"]}`},
		{"PUT", "/v1/environments/e/parameters/a%2Fb?name=a%2Fb", `{"value":"ö"}`},
	} {
		req, err := http.NewRequestWithContext(context.Background(), c.method, server.URL+c.path,
			strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(b) != c.body {
			t.Errorf("%s: the body came as %q, %v", c.path, b, err)
		}
	}
}

// TestNoCredentials says what to do.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	none := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("nobody is logged in")
	})
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
		"http://127.0.0.1:1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&sigv4.Transport{Region: "eu-west-1", Credentials: none, Now: time.Now}).
		RoundTrip(req)
	if !fault.Is(err, fault.Denied) || fault.HintOf(err) == "" {
		t.Errorf("%v", err)
	}
}
