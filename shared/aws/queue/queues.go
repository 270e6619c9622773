package queue

import (
	"context"
	"maps"
	"strings"
	"sync"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
)

// Maker is what finding and making queues needs of SQS; *sqs.Client has it.
type Maker interface {
	GetQueueUrl(ctx context.Context, in *sqs.GetQueueUrlInput, opts ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	CreateQueue(ctx context.Context, in *sqs.CreateQueueInput, opts ...func(*sqs.Options)) (*sqs.CreateQueueOutput, error)
}

// Queues finds the queue of an agent by its name, and makes it on first use. It may be used by any number of goroutines and processes: making
// a queue that is there, with the same attributes, is no error in SQS.
type Queues struct {
	API    Maker
	Prefix string
	// Base, when not empty, is what the URLs of the account's queues begin with: then a queue is not looked up before it is used.
	Base string
	// Attributes and Tags of queues that are made, beside those that make them what they are.
	Attributes map[string]string
	Tags       map[string]string
	// Made, when not nil, is called when a queue may have been made: also after a crash between the two. It must be idempotent.
	Made func(ctx context.Context, env, agent, url string) error

	mu   sync.Mutex
	urls map[string]string
	gone map[string]bool // queues that were said to be missing: looking them up is of no use
}

var _ Finder = (*Queues)(nil)

func cacheKey(env, agent string) string { return env + "\x00" + agent }

// URL implements Finder.
func (q *Queues) URL(ctx context.Context, env, agent string) (string, error) {
	key := cacheKey(env, agent)
	q.mu.Lock()
	url, gone := q.urls[key], q.gone[key]
	q.mu.Unlock()
	if url != "" {
		return url, nil
	}
	name := Name(q.Prefix, env, agent)
	switch {
	case gone:
	case q.Base != "":
		return q.Base + name, nil
	default:
		out, err := q.API.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
		if err == nil {
			return q.keep(key, aws.ToString(out.QueueUrl)), nil
		}
		if !awserr.NoQueue(err) {
			return "", awserr.Fault("find queue", err)
		}
	}
	url, err := q.make(ctx, name, env, agent)
	if err != nil {
		return "", err
	}
	return q.keep(key, url), nil
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

func (q *Queues) make(ctx context.Context, name, env, agent string) (string, error) {
	attributes := map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "false", "DeduplicationScope": "messageGroup",
		"FifoThroughputLimit": "perMessageGroupId"}
	maps.Copy(attributes, q.Attributes)
	tags := map[string]string{"southbound:environment": tagValue(env), "southbound:agent": tagValue(agent)}
	maps.Copy(tags, q.Tags)
	out, err := q.API.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes, Tags: tags})
	if awserr.Is(err, awserr.QueueNameExists) { // made by an earlier version, with other attributes: these stay
		have, e := q.API.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
		if e != nil {
			return "", awserr.Fault("find queue", e)
		}
		return aws.ToString(have.QueueUrl), q.made(ctx, env, agent, aws.ToString(have.QueueUrl))
	}
	if err != nil {
		return "", awserr.Fault("make queue "+name, err)
	}
	return aws.ToString(out.QueueUrl), q.made(ctx, env, agent, aws.ToString(out.QueueUrl))
}

func (q *Queues) made(ctx context.Context, env, agent, url string) error {
	if q.Made == nil {
		return nil
	}
	return fault.Wrap(fault.Unknown, "prepare queue", q.Made(ctx, env, agent, url))
}

// tagValue keeps the beginning of a name that is too long for a tag, and a dash for what a tag may not hold.
func tagValue(text string) string {
	const most = 256
	out := []rune(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" _.:/=+-@", r) {
			return r
		}
		return '-'
	}, text))
	return string(out[:min(most, len(out))])
}
