package worker_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/queue"
	"southbound/shared/aws/worker"
	"southbound/shared/deploy"
)

// mailbox is a queue with one message. Who asks again waits until it is emptied.
type mailbox struct {
	shelf
	body    string
	given   bool
	emptied chan struct{}
}

// ReceiveMessage implements queue.Puller.
func (m *mailbox) ReceiveMessage(
	context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options),
) (*sqs.ReceiveMessageOutput, error) {
	if m.given {
		<-m.emptied
		return &sqs.ReceiveMessageOutput{}, nil
	}
	m.given = true
	return &sqs.ReceiveMessageOutput{Messages: []types.Message{
		{Body: &m.body, ReceiptHandle: aws.String("r")}}}, nil
}

// DeleteMessageBatch implements queue.Puller.
func (m *mailbox) DeleteMessageBatch(
	context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options),
) (*sqs.DeleteMessageBatchOutput, error) {
	close(m.emptied)
	return &sqs.DeleteMessageBatchOutput{}, nil
}

// TestRunnerPassesOn pins what a runner does with a message that is for lanes of other agents, too,
// as functions get it: it serves its own, and notifies the others.
func TestRunnerPassesOn(t *testing.T) {
	t.Parallel()
	box := &mailbox{emptied: make(chan struct{}),
		body: `{"v":1,"env":"prod","lane":"a/0","with":["b/0","c/0"]}`}
	f, ran := &far{}, make(chan string, 9)
	s := newServer(&engine{do: func(lane string, _ int, _ time.Time) (deploy.LaneRun, error) {
		ran <- lane
		return deploy.LaneRun{}, nil
	}}, f)
	s.Log = slog.New(slog.DiscardHandler)
	r := &worker.Runner{Server: s, Env: "prod", Agent: "a",
		Queue: func(context.Context) (*queue.Listener, error) {
			return &queue.Listener{API: box, URL: "q"}, nil
		}, Work: func(context.Context) ([]string, error) { return nil, nil }}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx) }()
	<-box.emptied
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	notified := f.got()
	slices.Sort(notified)
	if diff := cmp.Diff([]string{"b/0", "c/0"}, notified); diff != "" || <-ran != "a/0" ||
		len(ran) > 0 {
		t.Errorf("others are not notified: %s", diff)
	}
}
