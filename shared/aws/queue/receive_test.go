package queue_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"southbound/shared/aws/queue"
)

// late is a queue whose answer comes after the caller has gone: to a repeated attempt it gives what it gave to the first.
type late struct {
	queue.Puller
	gone     context.CancelFunc
	attempts []sqs.ReceiveMessageInput
	back     []string
}

func (l *late) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	l.attempts = append(l.attempts, *in)
	if len(l.attempts) == 1 {
		l.gone()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &sqs.ReceiveMessageOutput{Messages: []types.Message{{ReceiptHandle: aws.String("r"), Body: aws.String("{}")}}}, ctx.Err()
}

func (l *late) ChangeMessageVisibilityBatch(_ context.Context, in *sqs.ChangeMessageVisibilityBatchInput, _ ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
	for _, e := range in.Entries {
		if e.VisibilityTimeout == 0 {
			l.back = append(l.back, *e.ReceiptHandle)
		}
	}
	return &sqs.ChangeMessageVisibilityBatchOutput{}, nil
}

// TestStoppingGivesBack pins that whoever stops to listen does so at once, and hides nothing from others.
func TestStoppingGivesBack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	api := &late{gone: cancel}
	l := &queue.Listener{API: api, URL: "u", Hide: time.Minute}
	if heard, err := l.Hear(ctx, 20*time.Second); err == nil || len(heard) > 0 {
		t.Errorf("heard %v, %v", heard, err)
	}
	if len(api.attempts) != 2 || *api.attempts[0].ReceiveRequestAttemptId != *api.attempts[1].ReceiveRequestAttemptId || api.attempts[1].WaitTimeSeconds != 0 {
		t.Fatalf("%d attempts, expected the second to be the first again, without waiting", len(api.attempts))
	}
	if len(api.back) != 1 || api.back[0] != "r" {
		t.Errorf("%v was given back", api.back)
	}
}
