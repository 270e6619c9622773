//go:build servers

package queue_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/queue"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/resource"
)

func TestMain(m *testing.M) {
	server.Load("sqs")
	os.Exit(server.Tests(m.Run, server.LocalStack, server.MiniStack))
}

func client(kind server.Kind) *sqs.Client {
	return sqs.NewFromConfig(awstest.Config(server.URL(kind), nil))
}

// consumer reads all queues and keeps what it received by agent.
type consumer struct {
	t          *testing.T
	api        *sqs.Client
	queues     *queue.Queues
	deliveries map[[2]string][]queue.Message
}

// hidden is how long messages are hidden that were received.
const hidden = 2 * time.Second

// listen takes all messages that are in the queue of an agent, and waits for the first when there
// is none.
func (e *consumer) listen(ctx context.Context, env, agent string, wait time.Duration) {
	e.t.Helper()
	url, err := e.queues.URL(ctx, env, agent)
	if err != nil {
		e.t.Fatal(err)
	}
	l := &queue.Listener{API: e.api, URL: url, Hide: hidden}
	for {
		deliveries, err := l.Receive(ctx, wait)
		if err != nil {
			e.t.Fatal(err)
		}
		if len(deliveries) == 0 {
			return
		}
		wait = 0
		for _, h := range deliveries {
			key := [2]string{h.Env, h.Agent}
			e.deliveries[key] = append(e.deliveries[key],
				queue.Message{Env: h.Env, Agent: h.Agent, Done: h.Done})
		}
		if err := l.Done(ctx, deliveries...); err != nil {
			e.t.Fatal(err)
		}
	}
}

// answer is what NotifierHarness asks for.
func (e *consumer) answer(ctx context.Context, env, agent string) ([]resource.ID, bool) {
	e.t.Helper()
	e.listen(ctx, env, agent, 0)
	key := [2]string{env, agent}
	// An answer of the server may have been lost on the way: its messages are hidden for a moment,
	// and nobody has them.
	for began := time.Now(); len(e.deliveries[key]) == 0 &&
		time.Since(began) < hidden+time.Second; {
		e.listen(ctx, env, agent, time.Second)
	}
	got := queue.Merge(e.deliveries[key])
	delete(e.deliveries, key)
	if len(got) == 0 {
		return nil, false
	}
	return got[0].Done, true
}

// TestConformance runs the suite of the port on each server.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, kind := range server.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			deploytest.TestNotifier(t, func(t *testing.T) deploytest.NotifierHarness {
				t.Helper()
				api := client(kind)
				queues := &queue.Queues{API: api, Prefix: awstest.Unique(t)}
				e := &consumer{t: t, api: api, queues: queues,
					deliveries: map[[2]string][]queue.Message{}}
				return deploytest.NotifierHarness{Notifier: queue.NewNotifier(api, queues),
					Received: e.answer}
			})
		})
	}
}
