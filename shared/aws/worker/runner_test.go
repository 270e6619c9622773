package worker_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/queue"
	"southbound/shared/aws/worker"
	"southbound/shared/deploy"
	"southbound/shared/fault"
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
		body: `{"v":1,"env":"prod","agent":"a","with":["b","c"]}`}
	f, ran := &far{}, make(chan string, 9)
	s := newServer(&engine{do: func(lane string, _ int, _ time.Time) (deploy.AgentRun, error) {
		ran <- lane
		return deploy.AgentRun{}, nil
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
	if diff := cmp.Diff([]string{"b", "c"}, notified); diff != "" || <-ran != "a" ||
		len(ran) > 0 {
		t.Errorf("others are not notified: %s", diff)
	}
}

// TestPartsBeforeTheQueue pins that a runner whose agent has no queue yet reads the parts of jobs
// that are offered: a plan of a new agent comes before the export that makes the queue. That there
// is no queue is logged once.
func TestPartsBeforeTheQueue(t *testing.T) {
	t.Parallel()
	s := newServer(&engine{}, &far{})
	var log bytes.Buffer
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	read, looks := make(chan string, 1), 0
	ctx, cancel := context.WithCancel(t.Context())
	r := &worker.Runner{Server: s, Env: "prod", Agent: "a",
		Queue: func(context.Context) (*queue.Listener, error) {
			looks++
			return nil, fault.New(fault.NotFound, "find queue", "request %d: there is none", looks)
		},
		Work: func(context.Context) ([]string, error) { return nil, nil },
		Offered: func(context.Context) ([]string, error) {
			if looks < 3 {
				return nil, nil
			}
			return []string{"job/a"}, nil
		},
		Part: func(_ context.Context, part string) error {
			select {
			case read <- part:
			default: // listed again before its reader took it
			}
			cancel()
			return nil
		}}
	if err := r.Serve(ctx); err != nil {
		t.Error(err)
	}
	if part := <-read; part != "job/a" {
		t.Errorf("read %q", part)
	}
	if n := strings.Count(log.String(), "no queue yet"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
}
