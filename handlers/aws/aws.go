// Package aws manages objects in S3, parameters of Systems Manager and items in DynamoDB, through
// agents with the transport aws.
//
// Only attributes that a resource sets are compared and changed; the rest of a thing is left
// unchanged. Each change is a single request that takes effect completely or not at all. The next
// run therefore repairs a crash between two requests.
package aws

import (
	"context"
	"fmt"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"golang.org/x/sync/errgroup"

	"southbound/shared/aws/awserr"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/redact"
	"southbound/shared/resource"
	conn "southbound/shared/transport/aws"
)

// connection returns the agent's connection to AWS.
func connection(ctx *provider.Context) (*conn.Conn, error) {
	c, ok := ctx.Transport().(*conn.Conn)
	if !ok {
		return nil, provider.Errorf(provider.NeedsChange,
			"the agent's transport does not reach AWS; describe it as {transport: aws, "+
				"region: ...}")
	}
	return c, nil
}

func s3Client(c *conn.Conn) *s3.Client {
	return conn.Client(c, func(cfg sdk.Config) *s3.Client {
		// Emulators do not resolve the names of buckets.
		return s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
	})
}

func ssmClient(ctx *provider.Context) (*ssm.Client, error) {
	c, err := connection(ctx)
	if err != nil {
		return nil, err
	}
	return conn.Client(c, func(cfg sdk.Config) *ssm.Client { return ssm.NewFromConfig(cfg) }), nil
}

// failure classifies an error of AWS. secrets must not be in its text: some services repeat the
// request in it.
func failure(doing string, err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	text := awserr.Text(err)
	var hidden redact.Set
	for _, s := range secrets {
		hidden.Add(s)
	}
	text = hidden.Clean(text, diff.Redacted)
	class, hint := provider.ClassOf(err), ""
	if class == provider.Retryable { // an explicit class is kept
		class, hint = classOf(err)
	}
	if hint != "" {
		text += "; " + hint
	}
	return provider.Errorf(class, "%s: %s", doing, text)
}

// classOf returns the class and the hint that follow from an error.
func classOf(err error) (class provider.Class, hint string) {
	if awserr.Is(err, "ExpiredToken", "ExpiredTokenException", "RequestTimeTooSkewed",
		"NoSuchUpload", "TooManyUpdates") {
		return provider.Retryable, ""
	}
	if awserr.Is(err, "PermanentRedirect", "AuthorizationHeaderMalformed", "MovedPermanently",
		"301", "BadRequest") {
		return provider.NeedsChange, "it may be in another region than the agent"
	}
	if awserr.Is(err, "InvalidObjectState") {
		return provider.NeedsChange,
			"the object is archived; restore it, or give the resource its content"
	}
	switch awserr.Kind(err) {
	case fault.Denied:
		return provider.Terminal,
			"check the policies of the agent's role, of the target and of its key"
	case fault.Full:
		return provider.Terminal, "a quota of the account is used up"
	case fault.Internal, fault.Invalid:
		return provider.NeedsChange, ""
	}
	return provider.Retryable, ""
}

// differences compares desired attributes with those that were found.
func differences(want, have map[string]any, names []string) map[string]diff.Diff {
	var out map[string]diff.Diff
	for _, name := range names {
		w, h := want[name], have[name]
		if w == nil || resource.Equal(w, h) {
			continue
		}
		if out == nil {
			out = map[string]diff.Diff{}
		}
		out[name] = diff.Diff{Current: h, Desired: w}
	}
	return out
}

// text returns the value of a text attribute, "" for any other value.
func text(r provider.Resource, name string) string {
	s, _ := r.Attributes[name].(string)
	return s
}

// texts returns the value of an attribute that is a map of texts; nil if it is not set.
func texts(r provider.Resource, name string) map[string]string {
	m, ok := r.Attributes[name].(map[string]any)
	if !ok {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = fmt.Sprint(v)
	}
	return out
}

// value converts a map of texts to the form of attributes.
func value(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// optional returns a text for a request: nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// atOnce is how many requests of one batch run concurrently.
const atOnce = 16

// each calls f for 0 to n-1, several at a time, and waits. If ctx is over, f is still called for
// the remaining numbers, and returns the error for each.
func each(n int, f func(i int)) {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error { f(i); return nil })
	}
	_ = g.Wait() // f records errors itself
}

// stopped is the error of an operation that was not begun because the caller has canceled it; nil
// if it has not.
func stopped(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return provider.Errorf(provider.Retryable, "not begun: %w", err)
	}
	return nil
}
