// Package hometest makes the resources of a stack on a local server, for tests of code that runs in
// the AWS home.
package hometest

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/aws/home"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Stack holds the resources of a stack.
type Stack struct {
	Config home.Config
	// AWS is the configuration of clients of the server.
	AWS aws.Config
}

// New makes a table, a bucket, a log queue and a compile queue on the MiniStack of the package's
// tests; see server.Tests.
func New(t *testing.T, definitions []provider.Definition) *Stack {
	t.Helper()
	url := server.URL(server.MiniStack)
	s := &Stack{AWS: awstest.Config(url, nil)}
	name := awstest.Unique(t)
	// TableInUse means that a response was lost and the request was repeated, since the name is
	// unique.
	if _, err := dynamodb.NewFromConfig(s.AWS).CreateTable(t.Context(),
		dynamo.Table(name)); err != nil && !awserr.Is(err, awserr.TableInUse) {
		t.Fatal(err)
	}
	objects := s3.NewFromConfig(s.AWS, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.CreateBucket(t.Context(),
		&s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	made, err := sqs.NewFromConfig(s.AWS).CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String(name + "-log")})
	if err != nil {
		t.Fatal(err)
	}
	compiles, err := sqs.NewFromConfig(s.AWS).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName:  aws.String(name + "-compile.fifo"),
		Attributes: map[string]string{"FifoQueue": "true"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Config = home.Config{Table: name, Bucket: name, Prefix: name[:min(len(name), 16)],
		LogQueue: *made.QueueUrl, CompileQueue: *compiles.QueueUrl, Endpoint: url,
		Region: s.AWS.Region, AWS: &s.AWS,
		Definitions: definitions, Connector: Connect, Log: slog.New(slog.DiscardHandler)}
	return s
}

// Open opens a home that may make queues, but no mappings, because there is no function. If change
// is not nil, it modifies the configuration.
func (s *Stack) Open(t *testing.T, change func(c *home.Config)) *home.Home {
	t.Helper()
	c := s.Config
	if change != nil {
		change(&c)
	}
	h, err := home.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	h.Queues.Fixed = false
	return h
}

// Connect returns a connector that returns a nil connection for every agent.
func Connect(state.Secrets) state.Connector { return connector{} }

type connector struct{}

// Connect implements state.Connector. There is no machine to connect to.
func (connector) Connect(context.Context, resource.Agent) (any, error) { return nil, nil }

// Until waits until a condition holds. It fails the test after ten minutes, a limit for hangs.
func Until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(10 * time.Minute)
	defer late.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("not in time: %s", what)
		}
	}
}

// Lines collects log output.
type Lines struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

// String returns the output so far.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
