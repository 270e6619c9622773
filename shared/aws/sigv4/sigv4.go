// Package sigv4 signs HTTP requests to function URLs with the credentials that AWS's own tools
// would use.
package sigv4

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"southbound/shared/fault"
)

// maxBody is the largest body that is signed. A function accepts at most 6 MB.
const maxBody = 64 << 20

// Transport signs requests. Its fields have to be set before its first use.
type Transport struct {
	Region      string
	Credentials aws.CredentialsProvider
	// Next sends the signed requests; nil: the default transport.
	Next http.RoundTripper
	// Now returns the time of signing.
	Now func() time.Time
}

// New returns a transport that signs requests for a region. If region is "", it uses the configured
// region. It uses the default chain of credentials: variables, profiles, SSO, web identity, the
// role of a machine. It returns a fault.Denied if it finds no configuration or no region.
func New(ctx context.Context, region string) (*Transport, error) {
	var opts []func(*config.LoadOptions) error
	if region != "" {
		opts = append(opts, config.WithRegion(region))
	}
	c, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return nil, fault.Wrap(fault.Denied, "read AWS configuration", err)
	}
	if c.Region == "" {
		return nil, fault.New(fault.Denied, "sign requests", "the region is not known").
			WithHint("set AWS_REGION")
	}
	return &Transport{Region: c.Region, Credentials: c.Credentials, Now: time.Now}, nil
}

// RoundTrip implements http.RoundTripper. It does not change r.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := read(r)
	if err != nil {
		return nil, err
	}
	creds, err := t.Credentials.Retrieve(r.Context())
	if err != nil {
		return nil, &fault.Error{Kind: fault.Denied, Op: "find AWS credentials", Err: err,
			Hint: "log in as for the AWS command line, or set AWS_ACCESS_KEY_ID and " +
				"AWS_SECRET_ACCESS_KEY"}
	}
	out := r.Clone(r.Context())
	out.ContentLength = int64(len(body))
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if len(body) == 0 {
		out.Body, out.GetBody = http.NoBody, nil
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	out.Header.Set("X-Amz-Content-Sha256", hash)
	if err := v4.NewSigner().SignHTTP(r.Context(), creds, out, hash, "lambda", t.Region,
		t.Now()); err != nil {
		return nil, fault.Wrap(fault.Denied, "sign request", err)
	}
	next := t.Next
	if next == nil {
		next = http.DefaultTransport
	}
	return next.RoundTrip(out) // the client wraps the error
}

// read reads the body, because the signature covers it.
func read(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fault.New(fault.Invalid, "sign request", "the body is larger than %d bytes", maxBody)
	}
	return body, err // err is of the caller's body
}
