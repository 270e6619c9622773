// Package awstest supports tests of code that runs on AWS. It has clients of the servers in
// localstack/server, and injects faults into their requests.
package awstest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"southbound/shared/fault"
)

// apart sends each request with a copy of its body. The SDK closes the body of a request as soon as
// there is a response. A server on the same machine may respond before the connection has noticed
// that the body was sent. The connection breaks then, the response is lost, and the SDK repeats the
// request, which tests would count.
type apart struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a apart) RoundTrip(r *http.Request) (*http.Response, error) {
	next := a.next
	if next == nil {
		next = http.DefaultTransport
	}
	if r.Body == nil || r.Body == http.NoBody {
		return next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		return nil, err
	}
	own := r.WithContext(r.Context())              // shares the headers, which nothing changes
	own.Body = io.NopCloser(bytes.NewReader(body)) // has the announced length
	return next.RoundTrip(own)
}

// Config returns the configuration of clients of a local server. If via is not nil, requests go
// through it.
func Config(url string, via http.RoundTripper) aws.Config {
	return aws.Config{Region: "us-east-1", BaseEndpoint: &url,
		Credentials: credentials.NewStaticCredentialsProvider("test", "testtest", ""),
		HTTPClient:  &http.Client{Transport: apart{via}}, Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.MaxBackoff, o.MaxAttempts = 3*time.Millisecond, 5
			})
		}}
}

// Unique returns a unique name of letters, digits and dashes.
func Unique(t *testing.T) string {
	t.Helper()
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}, t.Name())
	if len(clean) > 30 {
		clean = clean[len(clean)-30:]
	}
	return fmt.Sprintf("t%x-%s", time.Now().UnixNano(), strings.Trim(strings.ToLower(clean), "-"))
}

// Fault is a fault that is injected into a request.
type Fault int

// The faults.
const (
	None Fault = iota
	// Throttle responds that the service is throttling. The request does not reach the service.
	Throttle
	// Break responds with status 500. The request does not reach the service.
	Break
	// Lose forwards the request and drops the response.
	Lose
	// Drop drops the request, and the connection breaks.
	Drop
)

// Faults is a RoundTripper that injects faults. Names of operations are those of the service, such
// as "PutItem", or "PUT" for S3.
type Faults struct {
	// Decide returns the fault of a request, given its operation and body; nil: no faults.
	Decide func(operation string, body []byte) Fault
	// Rewrite, if not nil, changes a response.
	Rewrite func(operation string, request []byte, answer *http.Response)
	// Next receives the requests that are forwarded; nil: the network.
	Next http.RoundTripper
	mu   sync.Mutex
	seen map[string]int
}

// NowAndThen returns a Decide that injects a fault into one in n requests, of each kind in turn. It
// injects Lose only into requests that write.
func NowAndThen(n int64) func(operation string, body []byte) Fault {
	var count atomic.Int64
	return func(operation string, _ []byte) Fault {
		c := count.Add(1)
		if c%n != 0 {
			return None
		}
		if what := Fault(c / n % 5); what != Lose || strings.Contains(operation, "Put") ||
			strings.Contains(operation, "Write") {
			return what
		}
		return None
	}
}

// Unprocessed is a Rewrite that simulates unprocessed keys: it removes the first half of the keys
// from a response to BatchGetItem.
func Unprocessed(operation string, request []byte, res *http.Response) {
	if operation != "BatchGetItem" || res.StatusCode != http.StatusOK {
		return
	}
	var asked struct {
		RequestItems map[string]struct {
			Keys           []json.RawMessage
			ConsistentRead bool
		}
	}
	var got struct {
		Responses        map[string][]json.RawMessage
		UnprocessedKeys  map[string]any
		ConsumedCapacity any `json:",omitempty"`
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err == nil && json.Unmarshal(request, &asked) == nil && json.Unmarshal(body, &got) == nil {
		for table, in := range asked.RequestItems {
			if len(in.Keys) < 2 {
				continue
			}
			// The first half of the keys stays unprocessed, so their items are removed.
			later := map[string]bool{}
			for _, k := range in.Keys[:len(in.Keys)/2] {
				later[keyText(k)] = true
			}
			got.Responses[table] = slices.DeleteFunc(got.Responses[table],
				func(i json.RawMessage) bool { return later[keyText(i)] })
			got.UnprocessedKeys = map[string]any{
				table: map[string]any{"Keys": in.Keys[:len(in.Keys)/2],
					"ConsistentRead": in.ConsistentRead}}
			if b, err := json.Marshal(got); err == nil {
				body = b
			}
		}
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res.Header.Del("X-Amz-Crc32")
	res.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// keyText returns the key of an item, or a key itself, as a text.
func keyText(raw json.RawMessage) string {
	var key struct {
		K struct{ S string } `json:"k"`
		S struct{ S string } `json:"s"`
	}
	_ = json.Unmarshal(raw, &key)
	return key.K.S + "\x00" + key.S.S
}

// Seen returns the number of requests of an operation, including lost requests.
func (f *Faults) Seen(operation string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[operation]
}

// RoundTrip implements http.RoundTripper.
func (f *Faults) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	operation := req.Method
	if target := req.Header.Get("X-Amz-Target"); target != "" {
		_, operation, _ = strings.Cut(target, ".")
	}
	f.mu.Lock()
	if f.seen == nil {
		f.seen = map[string]int{}
	}
	f.seen[operation]++
	decide := f.Decide
	f.mu.Unlock()
	what := None
	if decide != nil {
		what = decide(operation, body)
	}
	switch what {
	case Throttle:
		return answer(req, http.StatusBadRequest,
			`{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow down"}`), nil
	case Break:
		return answer(req, http.StatusInternalServerError,
				`{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"broken"}`),
			nil
	case Drop:
		return nil, io.ErrUnexpectedEOF
	}
	next := f.Next
	if next == nil {
		next = http.DefaultTransport
	}
	res, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if what == Lose {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	if f.Rewrite != nil {
		f.Rewrite(operation, body, res)
	}
	return res, nil
}

func answer(req *http.Request, status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// Objects stores objects in memory. Package logs uses them for its tests.
type Objects struct {
	mu   sync.Mutex
	data map[string][]byte
	// Puts and Gets are the numbers of calls.
	Puts, Gets int
}

// Put stores an object.
func (o *Objects) Put(_ context.Context, name string, data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.data == nil {
		o.data = map[string][]byte{}
	}
	o.Puts++
	o.data[name] = bytes.Clone(data)
	return nil
}

// Get returns an object.
func (o *Objects) Get(_ context.Context, name string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Gets++
	data, ok := o.data[name]
	if !ok {
		return nil, fault.New(fault.NotFound, "read object", "%s is not there", name)
	}
	return bytes.Clone(data), nil
}

// Delete removes objects.
func (o *Objects) Delete(_ context.Context, names ...string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range names {
		delete(o.data, n)
	}
	return nil
}

// List calls f for each object. All objects have the zero time.
func (o *Objects) List(_ context.Context, f func(name string, stored time.Time) error) error {
	o.mu.Lock()
	names := slices.Collect(maps.Keys(o.data))
	o.mu.Unlock()
	for _, n := range names {
		if err := f(n, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// Len returns the number of objects.
func (o *Objects) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.data)
}
