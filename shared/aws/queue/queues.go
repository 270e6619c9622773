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

// Maker is what finding and making queues needs of SQS; *sqs.Client has it.
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

// Queues finds the queue of an agent by its name, and makes it on first use. It may be used by any
// number of goroutines and processes: making a queue that is there, with the same attributes, is
// not an error in SQS.
type Queues struct {
	API    Maker
	Prefix string
	// Base, when not empty, is what the URLs of the account's queues begin with: then a queue is
	// not looked up before it is used.
	Base string
	// Attributes and Tags of queues that are made, beside those that make them what they are.
	Attributes map[string]string
	Tags       map[string]string
	// Fixed: no queue is made here; one that is missing is NotFound, and somebody who may make it,
	// such as the sweep, notifies again.
	Fixed bool
	// Made, when not nil, is called when a queue may have been made: also after a crash between the
	// two. It must be idempotent.
	Made func(ctx context.Context, env, agent, url string) error
	// OnNotified, when not nil, is called after every notice to an agent.
	OnNotified func(ctx context.Context, env, agent string) error

	mu   sync.Mutex
	urls map[string]string
	gone map[string]bool // queues that were said to be missing: looking them up is of no use
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

// Lookup returns the queue of an agent and never makes one. NotFound: there is none. With Base it
// is not looked for, unless it was said to be missing.
func (q *Queues) Lookup(ctx context.Context, env, agent string) (string, error) {
	key, name := cacheKey(env, agent), Name(q.Prefix, env, agent)
	q.mu.Lock()
	url, gone := q.urls[key], q.gone[key]
	if q.Fixed {
		delete(q.gone, key) // somebody else may make it: the next notice asks again
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

// Make makes the queue of an agent when it is not there, gives it the attributes that it should
// have, and calls Made in any case: a crash between the two leaves a queue that nobody receives
// from, and takes every notice. The sweep finds its agent by the work that nobody does.
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
	case awserr.QueueExists(err): // made with other attributes, before the stack was updated
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

// adapt gives a queue that exists the attributes that it should have, and returns its URL.
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
