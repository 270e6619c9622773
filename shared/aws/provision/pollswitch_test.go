//go:build servers

package provision_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/provision"
)

// TestMappingFollowsTheWork pins when the log queue is polled, what minutes cost in which nothing
// changes, and that a mapping in the middle of a change is left for the next minute.
func TestMappingFollowsTheWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules.Unseen, w.rules.Slow = 0, 2
	made, err := w.plain.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String(w.name + "-log")})
	if err != nil {
		t.Fatal(err)
	}
	arn := w.attributes(*made.QueueUrl)["QueueArn"]
	var m meter.Meter
	c := awstest.Config(server.URL(server.MiniStack), w.rules)
	m.Install(&c)
	api := lambda.NewFromConfig(c)
	mapping, err := api.CreateEventSourceMapping(t.Context(),
		&lambda.CreateEventSourceMappingInput{EventSourceArn: &arn, FunctionName: &w.name})
	if err != nil {
		t.Fatal(err)
	}
	state := func() string {
		t.Helper()
		out, err := w.lambda.GetEventSourceMapping(t.Context(),
			&lambda.GetEventSourceMappingInput{UUID: mapping.UUID})
		if err != nil {
			t.Fatal(err)
		}
		return *out.State
	}
	polling := &provision.PollSwitch{Lambda: api, Mapping: *mapping.UUID, Clock: w.clock()}
	m.Take()
	for _, c := range []struct {
		reason string
		after  time.Duration
		needed bool
		want   string
		calls  int
	}{
		{"a process that knows nothing does nothing", 0, false, "Enabled", 0},
		{"it may soon be needed", 29 * time.Minute, false, "Enabled", 0},
		{"nothing happened for long, but it is being made", 2 * time.Minute, false, "Enabled", 2},
		{"the next minute", time.Minute, false, "Disabled", 2},
		{"and then", time.Minute, false, "Disabled", 0},
		{"work: it is still being disabled", time.Minute, true, "Disabled", 2},
		{"the next minute enables it", time.Minute, true, "Enabled", 2},
		{"more work", time.Minute, true, "Enabled", 0},
		{"a pause", 10 * time.Minute, false, "Enabled", 0},
	} {
		w.later(c.after)
		if err := polling.SetNeeded(t.Context(), c.needed); err != nil || state() != c.want {
			t.Errorf("%s: %v: %s, want %s", c.reason, err, state(), c.want)
		}
		if got := m.Take(); got.Sum().Calls != c.calls {
			t.Errorf("%s:\n%s", c.reason, got)
		}
	}
	// Another process, which has seen no work for long, disables it.
	other := &provision.PollSwitch{Lambda: api, Mapping: *mapping.UUID, Clock: w.clock()}
	for range 4 {
		if err := other.SetNeeded(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		w.later(15 * time.Minute)
	}
	for range 2 {
		if err := polling.SetNeeded(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		w.later(time.Minute)
	}
	if got := state(); got != "Enabled" {
		t.Errorf("what another process has disabled is %s while there is work", got)
	}
	m.Take()
	if err := (&provision.PollSwitch{Lambda: api, Clock: w.clock()}).
		SetNeeded(t.Context(), true); err != nil ||
		len(m.Take()) != 0 {
		t.Errorf("without a mapping: %v", err)
	}
}
