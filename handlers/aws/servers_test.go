//go:build servers

package aws

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/aws"
)

func TestMain(m *testing.M) {
	server.Load("s3")
	os.Exit(server.Tests(m.Run, server.LocalStack, server.MiniStack))
}

func s3Of(kind server.Kind) *s3.Client {
	return s3.NewFromConfig(awstest.Config(server.URL(kind), nil),
		func(o *s3.Options) { o.UsePathStyle = true })
}

func ssmOf(kind server.Kind) *ssm.Client {
	return ssm.NewFromConfig(awstest.Config(server.URL(kind), nil))
}

// newBucket makes a bucket and returns its name.
func newBucket(t *testing.T, kind server.Kind) string {
	t.Helper()
	name := strings.ToLower(awstest.Unique(t))
	if _, err := s3Of(kind).CreateBucket(t.Context(),
		&s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return name
}

// cutter is a RoundTripper that stops before one request, and before all after it.
type cutter struct{ providertest.Stopper }

// RoundTrip implements http.RoundTripper.
func (c *cutter) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := c.Before(); err != nil {
		if req.Body != nil {
			_, _ = io.Copy(io.Discard, req.Body)
			_ = req.Body.Close()
		}
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(req)
}

// via returns a connection whose requests go through rt.
func via(kind server.Kind, rt http.RoundTripper) *conn.Conn {
	return conn.NewConn(awstest.Config(server.URL(kind), rt))
}

func str(s *string) string { return sdk.ToString(s) }
