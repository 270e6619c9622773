//go:build servers

package provision_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/awstest"
	"southbound/shared/aws/provision"
	"southbound/shared/resource"
)

// TestMadeOnFirstUse pins what is made with the first notice, that it is made once by whoever comes
// first, and that it works.
func TestMadeOnFirstUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(nil).export(1, "web1")
	var wg sync.WaitGroup
	for range 4 {
		p := w.start(nil)
		wg.Go(func() {
			if err := p.Wake(t.Context(), "prod", "web1"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	w.heard("web1")
	have := w.attributes(w.url("web1"))
	for name, want := range map[string]string{"VisibilityTimeout": "360", "FifoQueue": "true",
		"ContentBasedDeduplication": "false", "DeduplicationScope": "messageGroup",
		"FifoThroughputLimit": "perMessageGroupId", "MessageRetentionPeriod": "86400",
		"SqsManagedSseEnabled": "true"} {
		if have[name] != want {
			t.Errorf("%s is %q, want %q", name, have[name], want)
		}
	}
	if p := have["RedrivePolicy"]; !strings.Contains(p, w.deadLetters) {
		t.Errorf("dead letters go to %s", p)
	}
	all := w.mappings("web1")
	if len(all) != 1 || *all[0].State != "Enabled" || *all[0].BatchSize != 10 ||
		all[0].ScalingConfig != nil || len(all[0].FunctionResponseTypes) != 1 {
		t.Fatalf("mappings %+v", all)
	}
	url := w.url("web1")
	tags, err := w.plain.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: &url})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"southbound:environment": "prod", "southbound:agent": "web1",
		"southbound:prefix": w.name, "southbound:managed-by": "southbound",
		"southbound:mapping": *all[0].UUID}, tags.Tags); d != "" {
		t.Error(d)
	}
}

// TestTwoExportsAtOnce pins that processes that notify the same new agents at once, each from its
// own export, leave one queue and one mapping an agent.
func TestTwoExportsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var wg sync.WaitGroup
	agents := []string{"a1", "a2", "a3"}
	for i := range 3 {
		p := w.start(nil)
		wg.Go(func() { p.export(i, agents...) })
	}
	wg.Wait()
	p := w.start(nil)
	p.serve()
	for _, a := range agents {
		w.heard(a)
		if got := w.states(a); got != "Enabled" {
			t.Errorf("%s has the mappings %q", a, got)
		}
	}
}

// TestCrashAfterEachCall stops a process after each of its requests to SQS and Lambda, with the
// request made or not, and pins that the next sweep finishes what was begun.
func TestCrashAfterEachCall(t *testing.T) {
	t.Parallel()
	for _, how := range []awstest.Fault{awstest.Drop, awstest.Lose} {
		w := newWorld(t)
		w.start(nil).export(0, "first") // so that the environment is there
		for n, crashed := 1, true; crashed; n++ {
			agent := fmt.Sprintf("crash%d-%d", how, n)
			calls := 0
			var mu sync.Mutex
			crashed = false
			p := w.start(&awstest.Faults{Decide: func(string, []byte) awstest.Fault {
				mu.Lock()
				defer mu.Unlock()
				calls++
				switch {
				case calls < n:
					return awstest.None
				case calls == n:
					crashed = true
					return how
				}
				return awstest.Drop
			}})
			p.export(n, agent)
			sweep := w.start(nil)
			if _, err := sweep.engine.Sweep(t.Context(), "prod"); err != nil {
				t.Fatal(err)
			}
			if _, err := sweep.Check(t.Context(), "prod"); err != nil {
				t.Fatalf("fault %d at call %d: %v", how, n, err)
			}
			if got := w.states(agent); got != "Enabled" {
				t.Errorf("fault %d at call %d: mappings %q", how, n, got)
			}
			w.heard(agent)
			if n > 20 {
				t.Fatal("it never ends")
			}
		}
	}
}

// TestNames pins that names which are long, odd or alike get queues and mappings of their own, and
// stand in the tags in full.
func TestNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("a-very-long-name.", 14)
	agents := []string{"web1", "Web1", "web/1", "web-1", "web.1", "ü", "Ü", "a b ", "-", "=41",
		"日本", long, long + "x", "😀"}
	p := w.start(nil)
	p.export(1, agents...)
	list, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, q := range list {
		if q.Env != "prod" || got[q.Agent] != "" || q.State == "" {
			t.Errorf("%+v", q)
		}
		got[q.Agent] = q.Name
	}
	for _, a := range agents {
		if got[a] == "" {
			t.Errorf("%q has no queue", a)
		}
	}
	if len(list) != len(agents) {
		t.Errorf("%d queues of %d agents", len(list), len(agents))
	}
}

// TestWhatFunctionsDoNotReach pins that an agent with the local transport has a queue and no
// mapping, and that a change of the transport is followed.
func TestWhatFunctionsDoNotReach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(nil)
	p.export(1, "local1", "web1")
	if n, got := w.waiting("local1"), w.states("local1"); n == 0 || got != "" {
		t.Errorf("%d messages, mappings %q", n, got)
	}
	all := func(c *provision.Config) { c.Reaches = func(resource.Agent) bool { return true } }
	// as if the transport of all had changed to one that functions reach; only described agents are
	// known
	p = w.start(nil, all)
	p.export(2, "web1")
	none := func(c *provision.Config) { c.Reaches = func(resource.Agent) bool { return false } }
	w.later(2 * time.Minute)
	p = w.start(nil, none)
	if _, err := p.Check(t.Context(), "prod"); err != nil {
		t.Fatal(err)
	}
	if got := w.states("web1"); got != "Disabled" {
		t.Errorf("mappings %q of an agent that functions do not reach", got)
	}
	if err := w.start(nil).Wake(t.Context(), "prod", "web1"); err != nil {
		t.Fatal(err)
	}
	if got := w.states("web1"); got != "Enabled" {
		t.Errorf("mappings %q of an agent that functions reach again", got)
	}
}

// TestTwoFunctions pins that the mapping of an agent follows the function that serves it, whether the
// mapping is enabled or not, that there is one mapping, and that Destroy finds those of both.
func TestTwoFunctions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.function(w.name + "-python")
	python := false
	both := func(c *provision.Config) {
		c.Python = w.name + "-python"
		c.InPython = func(resource.Agent) bool { return python }
	}
	w.start(nil, both).export(1, "web1")
	for i, step := range []struct{ python, idle bool }{{true, false}, {false, false}, {true, true},
		{true, false}, {false, true}} {
		if step.idle {
			for _, m := range w.mappings("web1") {
				if _, err := w.lambda.UpdateEventSourceMapping(t.Context(),
					&lambda.UpdateEventSourceMappingInput{UUID: m.UUID,
						Enabled: aws.Bool(false)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		python = step.python
		if err := w.start(nil, both).Wake(t.Context(), "prod", "web1"); err != nil {
			t.Fatal(err)
		}
		all := w.mappings("web1")
		if len(all) != 1 || w.states("web1") != "Enabled" ||
			strings.HasSuffix(aws.ToString(all[0].FunctionArn), "-python") != step.python {
			t.Errorf("step %d: %+v", i, all)
		}
	}
	if _, err := w.start(nil, both).Destroy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := w.mappings("web1"); len(all) != 0 {
		t.Errorf("left: %+v", all)
	}
}

// TestAttributesFollowTheStack pins that a queue that was made before the stack was updated gets
// the new attributes when it is made again.
func TestAttributesFollowTheStack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(nil).export(1, "web1")
	p := w.start(nil, func(c *provision.Config) { c.Timeout = 2 * time.Minute })
	if _, err := p.Queues().Make(t.Context(), "prod", "web1"); err != nil {
		t.Fatal(err)
	}
	if got := w.attributes(w.url("web1"))["VisibilityTimeout"]; got != "720" {
		t.Errorf("messages are hidden for %s s", got)
	}
}

// TestQueuesFollowTheStack pins that the queues of all agents get new attributes after an update,
// that a process asks for that once, that one which began before the update changes nothing back,
// and that nothing is changed twice.
func TestQueuesFollowTheStack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.start(nil)
	old.export(1, "web1", "web2", "local1")
	refresh := func(p *process, want int) {
		t.Helper()
		if n, err := p.Refresh(t.Context()); err != nil || n != want {
			t.Errorf("%d queues were changed, want %d: %v", n, want, err)
		}
	}
	refresh(old, 3)
	updated := func(c *provision.Config) { c.Timeout = 2 * time.Minute }
	p := w.start(nil, updated)
	refresh(p, 3)
	p.meter.Take()
	refresh(p, 0)
	refresh(old, 0)
	if got := p.meter.Take(); got.Sum("").Calls != 0 {
		t.Errorf("once more:\n%s", got)
	}
	for _, agent := range []string{"web1", "web2", "local1"} {
		if got := w.attributes(w.url(agent))["VisibilityTimeout"]; got != "720" {
			t.Errorf("messages of %s are hidden for %s s", agent, got)
		}
	}
	next := w.start(nil, updated)
	refresh(next, 0)
	if got := next.meter.Take(); got.Sum("SQS.").Calls != 0 {
		t.Errorf("a process that begins later:\n%s", got)
	}
	refresh(w.start(nil), 3) // the stack goes back
}

// TestNoticesCostNothing pins that a process asks Lambda nothing when it notifies an agent that is
// there and awake.
func TestNoticesCostNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(nil).export(1, "web1")
	p := w.start(nil)
	p.export(2, "web1")
	got := p.meter.Take()
	if got.Sum("Lambda.").Calls != 0 ||
		got.Sum("SQS.").Calls != got.Sum("SQS.SendMessageBatch").Calls {
		t.Errorf("a notice:\n%s", got)
	}
}
