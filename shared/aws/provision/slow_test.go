package provision_test

import (
	"context"
	"fmt"
	"maps"
	"path"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"southbound/shared/aws/provision"
)

// account is what two services know, which take their time. It is for tests in which time is
// virtual.
type account struct {
	provision.SQS
	provision.Lambda
	slow time.Duration // making a queue, and making a mapping

	mu       sync.Mutex
	queues   map[string]map[string]string // their tags, by name
	mappings map[string]string            // by name of the queue
	messages map[string][]string          // their groups, by name of the queue
	asked    []time.Time                  // when Lambda was
}

func newAccount(slow time.Duration) *account {
	return &account{slow: slow, queues: map[string]map[string]string{},
		mappings: map[string]string{}, messages: map[string][]string{}}
}

func missing() error { return &sqstypes.QueueDoesNotExist{} }

func (a *account) CreateQueue(
	_ context.Context, in *sqs.CreateQueueInput, _ ...func(*sqs.Options),
) (*sqs.CreateQueueOutput, error) {
	time.Sleep(a.slow)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.queues[*in.QueueName] == nil {
		a.queues[*in.QueueName] = maps.Clone(in.Tags)
	}
	return &sqs.CreateQueueOutput{QueueUrl: aws.String("https://sqs/" + *in.QueueName)}, nil
}

func (a *account) GetQueueUrl(
	_ context.Context, in *sqs.GetQueueUrlInput, _ ...func(*sqs.Options),
) (*sqs.GetQueueUrlOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.queues[*in.QueueName] == nil {
		return nil, missing()
	}
	return &sqs.GetQueueUrlOutput{QueueUrl: aws.String("https://sqs/" + *in.QueueName)}, nil
}

func (a *account) ListQueueTags(
	_ context.Context, in *sqs.ListQueueTagsInput, _ ...func(*sqs.Options),
) (*sqs.ListQueueTagsOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	tags := a.queues[path.Base(*in.QueueUrl)]
	if tags == nil {
		return nil, missing()
	}
	return &sqs.ListQueueTagsOutput{Tags: maps.Clone(tags)}, nil
}

func (a *account) TagQueue(
	_ context.Context, in *sqs.TagQueueInput, _ ...func(*sqs.Options),
) (*sqs.TagQueueOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.Copy(a.queues[path.Base(*in.QueueUrl)], in.Tags)
	return &sqs.TagQueueOutput{}, nil
}

func (a *account) SendMessageBatch(
	_ context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options),
) (*sqs.SendMessageBatchOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := path.Base(*in.QueueUrl)
	if a.queues[name] == nil {
		return nil, missing()
	}
	for i := range in.Entries {
		a.messages[name] = append(a.messages[name], *in.Entries[i].MessageGroupId)
	}
	return &sqs.SendMessageBatchOutput{}, nil
}

func (a *account) CreateEventSourceMapping(
	_ context.Context, in *lambda.CreateEventSourceMappingInput, _ ...func(*lambda.Options),
) (*lambda.CreateEventSourceMappingOutput, error) {
	a.mu.Lock()
	a.asked = append(a.asked, time.Now())
	a.mu.Unlock()
	time.Sleep(a.slow)
	a.mu.Lock()
	defer a.mu.Unlock()
	name := *in.EventSourceArn
	if uuid := a.mappings[name]; uuid != "" {
		return nil, &types.ResourceConflictException{
			Message: aws.String("there is one with UUID " + uuid)}
	}
	a.mappings[name] = fmt.Sprintf("00000000-0000-0000-0000-%012d", len(a.mappings))
	return &lambda.CreateEventSourceMappingOutput{UUID: aws.String(a.mappings[name])}, nil
}

func (a *account) GetEventSourceMapping(
	_ context.Context, in *lambda.GetEventSourceMappingInput, _ ...func(*lambda.Options),
) (*lambda.GetEventSourceMappingOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, time.Now())
	return &lambda.GetEventSourceMappingOutput{UUID: in.UUID, State: aws.String("Enabled"),
		FunctionArn: aws.String("arn:aws:lambda:r:1:function:handler")}, nil
}

// busiest returns how many requests Lambda got in the second in which it got the most.
func (a *account) busiest() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	limit := 0
	for i, at := range a.asked {
		n := 0
		for _, other := range a.asked[i:] {
			if other.Sub(at) < time.Second {
				n++
			}
		}
		limit = max(limit, n)
	}
	return limit
}
