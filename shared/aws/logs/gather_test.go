package logs_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/shared/aws/logs"
	"southbound/shared/platform"
)

// counted counts requests and messages.
type counted struct {
	mu                 sync.Mutex
	requests, messages int
}

// SendMessageBatch implements logs.Sender.
func (c *counted) SendMessageBatch(
	_ context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options),
) (*sqs.SendMessageBatchOutput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	c.messages += len(in.Entries)
	return &sqs.SendMessageBatchOutput{}, nil
}

func (c *counted) is(t *testing.T, when string, requests, messages int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests != requests || c.messages != messages {
		t.Errorf("%s: %d messages in %d requests, want %d in %d", when, c.messages, c.requests,
			messages, requests)
	}
}

// TestGather wants the log to be notified once for agents that end about the same time, soon, and
// for none twice; and everything to be told when an invocation ends, also one that was cut short.
func TestGather(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{}
		g := &logs.Gatherer{Notifier: &logs.Notifier{API: c, URL: "u"}, Clock: platform.Clock{},
			Log: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		for _, agent := range []string{"a", "b", "c", "a"} {
			g.Add(ctx, "e", agent)
		}
		c.is(t, "at once", 0, 0)
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		c.is(t, "a second later", 1, 3)
		g.Add(ctx, "e", "a")
		g.Flush(ctx)
		c.is(t, "at the end", 2, 4)
		g.Flush(ctx)
		c.is(t, "with nothing left", 2, 4)
		g.Add(ctx, "e", "a")
		cancel()
		synctest.Wait()
		g.Flush(ctx)
		c.is(t, "when it was cut short", 3, 5)
	})
}
