package queue

import (
	"context"
	"maps"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
)

// Maker is the part of SQS's API that finds and makes queues. *sqs.Client implements it.
type Maker interface {
	GetQueueUrl(
		ctx context.Context, in *sqs.GetQueueUrlInput, opts ...func(*sqs.Options),
	) (*sqs.GetQueueUrlOutput, error)
	CreateQueue(
		ctx context.Context, in *sqs.CreateQueueInput, opts ...func(*sqs.Options),
	) (*sqs.CreateQueueOutput, error)
	SetQueueAttributes(
		ctx context.Context, in *sqs.SetQueueAttributesInput, opts ...func(*sqs.Options),
	) (*sqs.SetQueueAttributesOutput, error)
}

// Queues finds the queue of an agent by its name, and makes it on first use. Any number of
// goroutines and processes may use it. In SQS it is not an error to make a queue that exists with
// the same attributes.
type Queues struct {
	API    Maker
	Prefix string
	// Base, if not empty, is the prefix of the URLs of the account's queues. Then a queue is not
	// looked up before its first use.
	Base string
	// Attributes and Tags are given to new queues, besides those that every queue of this package
	// has.
	Attributes map[string]string
	Tags       map[string]string
	// Fixed forbids making queues. A missing queue is a fault.NotFound, and a process that may make
	// it, such as the sweep, notifies again.
	Fixed bool
	// Made, if not nil, is called whenever a queue may have been made, also after a crash between
	// making a queue and calling Made. It must be idempotent.
	Made func(ctx context.Context, env, agent, url string) error
	// OnNotified, if not nil, is called after every notice to an agent.
	OnNotified func(ctx context.Context, env, agent string) error

	mu   sync.Mutex
	urls map[string]string
	gone map[string]bool // queues that were reported missing, so a lookup is pointless
}

var _ Finder = (*Queues)(nil)

func cacheKey(env, agent string) string { return env + "\x00" + agent }

// Notified implements Finder.
func (q *Queues) Notified(ctx context.Context, env, agent string) error {
	if q.OnNotified == nil {
		return nil
	}
	return q.OnNotified(ctx, env, agent)
}

// URL implements Finder.
func (q *Queues) URL(ctx context.Context, env, agent string) (string, error) {
	url, err := q.Lookup(ctx, env, agent)
	if err == nil || q.Fixed || !fault.Is(err, fault.NotFound) {
		return url, err
	}
	return q.Make(ctx, env, agent)
}

// Lookup returns the URL of an agent's queue, and never makes the queue. If the queue is known to
// be missing, Lookup returns a fault.NotFound. With Base it derives the URL without a request.
func (q *Queues) Lookup(ctx context.Context, env, agent string) (string, error) {
	key, name := cacheKey(env, agent), Name(q.Prefix, env, agent)
	q.mu.Lock()
	url, gone := q.urls[key], q.gone[key]
	if q.Fixed {
		delete(q.gone, key) // another process may make it: the next notice looks it up again
	}
	q.mu.Unlock()
	switch {
	case url != "":
		return url, nil
	case gone:
		return "", fault.New(fault.NotFound, "find queue", "there is no queue %s", name)
	case q.Base != "":
		return q.Base + name, nil
	}
	out, err := q.API.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", awserr.Fault("find queue "+name, err)
	}
	return q.keep(key, aws.ToString(out.QueueUrl)), nil
}

func (q *Queues) keep(key, url string) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.urls == nil {
		q.urls = map[string]string{}
	}
	q.urls[key] = url
	delete(q.gone, key)
	return url
}

// Missing implements Finder.
func (q *Queues) Missing(env, agent string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := cacheKey(env, agent)
	delete(q.urls, key)
	if q.gone == nil {
		q.gone = map[string]bool{}
	}
	q.gone[key] = true
}

// Make makes the queue of an agent if it does not exist, and sets its attributes. It calls Made in
// any case: a crash between the two leaves a queue without a mapping, which accepts every notice.
// The sweep finds the agent of such a queue, because its work is not served.
func (q *Queues) Make(ctx context.Context, env, agent string) (string, error) {
	name := Name(q.Prefix, env, agent)
	attributes := map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "false",
		"DeduplicationScope":  "messageGroup",
		"FifoThroughputLimit": "perMessageGroupId"}
	maps.Copy(attributes, q.Attributes)
	tags := AgentTags(env, agent)
	maps.Copy(tags, q.Tags)
	var url string
	out, err := q.API.CreateQueue(ctx,
		&sqs.CreateQueueInput{QueueName: &name, Attributes: attributes, Tags: tags})
	switch {
	case awserr.QueueExists(err): // made with other attributes before an update of the stack
		if url, err = q.adapt(ctx, name, attributes); err != nil {
			return "", err
		}
	case err != nil:
		return "", awserr.Fault("make queue "+name, err)
	default:
		url = aws.ToString(out.QueueUrl)
	}
	if q.Made != nil {
		if err := q.Made(ctx, env, agent, url); err != nil {
			return "", fault.Wrap(fault.Unknown, "prepare queue", err)
		}
	}
	return q.keep(cacheKey(env, agent), url), nil
}

// adapt sets the attributes of an existing queue, and returns its URL.
func (q *Queues) adapt(
	ctx context.Context, name string, attributes map[string]string,
) (string, error) {
	have, err := q.API.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return "", awserr.Fault("find queue "+name, err)
	}
	want := maps.Clone(attributes)
	delete(want, "FifoQueue") // never changes
	_, err = q.API.SetQueueAttributes(ctx,
		&sqs.SetQueueAttributesInput{QueueUrl: have.QueueUrl, Attributes: want})
	return aws.ToString(have.QueueUrl), awserr.Fault("change queue "+name, err)
}
