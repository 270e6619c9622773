//go:build servers

package provision_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/shared/aws/provision"
)

func agentsOf(queues []provision.Queue) string {
	out := ""
	for _, q := range queues {
		out += q.Agent + " "
	}
	return out
}

// TestPrune pins which queues are pruned: those of agents that no version names and for which
// nothing is scheduled, and that one comes back when it is needed.
func TestPrune(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(nil)
	p.export(1, "web1", "web2", "local1", "local2")
	p.serve()
	prune := func(remove bool, want string) {
		t.Helper()
		got, err := p.Prune(t.Context(), "prod", remove)
		if err != nil || agentsOf(got) != want {
			t.Fatalf("%v: %q, want %q", err, agentsOf(got), want)
		}
	}
	prune(false, "")
	p.export(2, "web1", "local1")
	p.serve()
	prune(false, "") // the version before names them
	w.forgetVersion(p)
	prune(false, "local2 web2 ")
	if got := w.states("web2"); got != "Enabled" {
		t.Errorf("a dry run left the mappings %q", got)
	}
	prune(true, "local2 web2 ")
	if got := w.states("web2"); got != "" {
		t.Errorf("mappings %q are left", got)
	}
	prune(true, "")
	p = w.start(nil)
	p.export(3, "web1", "web2")
	if got := w.states("web2"); got != "Enabled" {
		t.Errorf("mappings %q of an agent that came back", got)
	}
	w.heard("web2")
	p.export(4, "web1", "web2", "new")
	p.export(5, "web1", "web2")
	w.forgetVersion(p)
	prune(true, "local1 new ") // although nobody ever served the latter
}

// TestDestroyLeavesNothing pins that everything that was made for a stack goes, with what no tag
// names, and nothing of another stack; also when it is interrupted.
func TestDestroyLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(nil)
	p.export(1, "web1", "web2", "web3", "local1")
	other := w.start(nil, func(c *provision.Config) { c.Prefix = w.name + "-x" })
	if _, err := other.Queues().Make(t.Context(), "prod", "web1"); err != nil {
		t.Fatal(err)
	}
	others, err := other.List(t.Context())
	if err != nil || len(others) != 1 {
		t.Fatalf("%v: %v", err, others)
	}
	foreign, err := w.plain.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String(w.name + "-somebody-elses")})
	if err != nil {
		t.Fatal(err)
	}
	url := w.url("web2") // somebody deleted the queue and left the mapping
	if _, err := w.plain.DeleteQueue(t.Context(),
		&sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		p := w.start(stopAfter(n))
		if _, err := p.Destroy(t.Context()); err == nil {
			break
		}
		if n > 40 {
			t.Fatal("it never ends")
		}
	}
	for _, a := range []string{"web1", "web2", "web3"} {
		if got := w.states(a); got != "" {
			t.Errorf("%s has the mappings %q", a, got)
		}
	}
	if left, err := p.List(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%v: %v are left", err, left)
	}
	if left, err := other.List(t.Context()); err != nil || len(left) != 1 ||
		left[0].Agent != "web1" {
		t.Errorf("%v: of the other stack %v is left", err, left)
	}
	if w.attributes(*foreign.QueueUrl)["QueueArn"] == "" {
		t.Error("a queue that only has a name like ours is gone")
	}
	all, err := w.lambda.ListEventSourceMappings(t.Context(),
		&lambda.ListEventSourceMappingsInput{FunctionName: &w.name})
	if err != nil || len(all.EventSourceMappings) > 1 {
		t.Errorf("%v: %d mappings are left", err, len(all.EventSourceMappings))
	}
	if _, err := w.lambda.DeleteFunction(t.Context(),
		&lambda.DeleteFunctionInput{FunctionName: &w.name}); err != nil {
		t.Fatal(err)
	}
	if out, err := p.Destroy(t.Context()); err != nil || len(out) != 0 {
		t.Errorf("%v: when the function is gone: %v", err, out)
	}
	w.later(time.Second)
}
