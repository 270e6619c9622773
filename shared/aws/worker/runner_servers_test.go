//go:build servers

package worker_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"southbound/handlers"
	"southbound/localstack/server"
	"southbound/shared/aws/home"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/aws/queue"
	"southbound/shared/aws/worker"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.MiniStack)) }

// modelOf is n resources on an agent of this machine; each takes delay ms and requires the one
// before.
func modelOf(n, lanes, delay int) *model.Model {
	m := &model.Model{Agents: []resource.Agent{{Name: "host1", Transport: "local", Lanes: lanes}}}
	for i := range n {
		name := fmt.Sprintf("r%02d", i)
		r := resource.Resource{ID: resource.NewID("std::Null", "host1",
			resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: "host1",
			Attributes: map[string]any{"name": name, "delay_ms": int64(delay)}}
		if i > 0 {
			r.Requires = []resource.ID{m.Resources[i-1].ID}
		}
		m.Resources = append(m.Resources, r)
	}
	return m
}

func export(t *testing.T, h *home.Home, m *model.Model) {
	t.Helper()
	if _, err := h.Engine.Export(t.Context(), "prod", deploy.Export{Model: m}); err != nil {
		t.Fatal(err)
	}
}

// runner is a runner of host1 in a process of its own.
func runner(h *home.Home, log *slog.Logger) *worker.Runner {
	s := &worker.Server{Engine: h.Engine, Notifier: h.Notifier, Clock: h.Engine.Clock,
		Operation: h.Operation(), Log: log}
	return &worker.Runner{Server: s, Env: "prod", Agent: "host1", Poll: time.Second,
		Queue: func(ctx context.Context) (*queue.Listener, error) {
			u, err := h.Queues.URL(ctx, "prod", "host1")
			return &queue.Listener{API: h.SQS, URL: u}, err
		},
		Work: func(ctx context.Context) ([]string,
			error) {
			return h.Engine.AgentsWithWork(ctx, "prod")
		}}
}

// start starts a runner. What is returned stops it and waits until it has.
func start(t *testing.T, r *worker.Runner) func() {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx) }()
	return func() {
		t.Helper()
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Minute):
			t.Fatal("it did not stop")
		}
	}
}

func deployed(t *testing.T, h *home.Home, n int) func() bool {
	return func() bool {
		counts, err := h.State.Counts(t.Context(), "prod")
		return err == nil && counts[state.StatusDeployed] >= n
	}
}

// waiting returns how many messages are in the queue of host1, seen and hidden.
func waiting(t *testing.T, h *home.Home) (visible, hidden string) {
	t.Helper()
	u, err := h.Queues.URL(t.Context(), "prod", "host1")
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.SQS.GetQueueAttributes(t.Context(),
		&sqs.GetQueueAttributesInput{QueueUrl: &u,
			AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		t.Fatal(err)
	}
	return out.Attributes["ApproximateNumberOfMessages"],
		out.Attributes["ApproximateNumberOfMessagesNotVisible"]
}

// TestRunner pins that a runner does what is scheduled when it comes, what it is notified of later,
// and leaves an empty queue.
func TestRunner(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	admin := stack.Open(t, nil)
	export(t, admin, modelOf(20, 3, 0))
	stop := start(t, runner(stack.Open(t, nil), slog.New(slog.DiscardHandler)))
	hometest.Until(t, "what was there is deployed", deployed(t, admin, 20))
	export(t, admin, modelOf(25, 3, 0))
	hometest.Until(t, "what came is deployed", deployed(t, admin, 25))
	hometest.Until(t, "the queue is empty", func() bool {
		visible, hidden := waiting(t, admin)
		return visible == "0" && hidden == "0"
	})
	stop()
	p, err := admin.Engine.Progress(t.Context(), "prod")
	if err != nil || !p.Done() {
		t.Errorf("%v: %+v", err, p)
	}
}

// TestRunnerComesFirst pins that a runner waits for an agent that nothing was ever to be done on.
func TestRunnerComesFirst(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	var said hometest.Lines
	h := stack.Open(t, nil)
	h.Queues.Fixed = true
	stop := start(t, runner(h, slog.New(slog.NewTextHandler(&said, nil))))
	defer stop()
	hometest.Until(t, "it says that there is no queue", func() bool {
		return strings.Contains(said.String(), "no queue yet")
	})
	admin := stack.Open(t, nil)
	export(t, admin, modelOf(3, 1, 0))
	hometest.Until(t, "what came is deployed", deployed(t, admin, 3))
}

// TestRunnerStops pins that a runner that is stopped finishes and records what runs, begins nothing
// more, and gives its messages back at once: another goes on without waiting for anything to
// expire.
func TestRunnerStops(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	admin := stack.Open(t, nil)
	const n, delay = 20, 100
	export(t, admin, modelOf(n, 1, delay))
	stop := start(t, runner(stack.Open(t, nil), slog.New(slog.DiscardHandler)))
	hometest.Until(t, "some are deployed", deployed(t, admin, 3))
	stop()
	p, err := admin.Engine.Progress(t.Context(), "prod")
	if err != nil || len(p.Running) != 0 || len(p.Held) != 0 {
		t.Fatalf("%v: it left %v running, and holds %v", err, p.Running, p.Held)
	}
	before := p.Counts[state.StatusDeployed]
	if before >= n {
		t.Fatalf("%d were deployed before it stopped", before)
	}
	if visible, hidden := waiting(t, admin); visible != "1" || hidden != "0" {
		t.Errorf("%s messages wait, %s are hidden", visible, hidden)
	}
	defer start(t, runner(stack.Open(t, nil), slog.New(slog.DiscardHandler)))()
	hometest.Until(t, "another finishes", deployed(t, admin, n))
	actions, err := admin.State.Actions(t.Context(), "prod",
		state.ActionQuery{Action: state.ActionDeploy})
	if err != nil || len(actions) != n {
		t.Errorf("%v: %d runs of %d resources", err, len(actions), n)
	}
}

// TestTwoRunners pins that two that serve one agent do no harm.
func TestTwoRunners(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	admin := stack.Open(t, nil)
	export(t, admin, modelOf(40, 4, 0))
	for range 2 {
		defer start(t, runner(stack.Open(t, nil), slog.New(slog.DiscardHandler)))()
	}
	hometest.Until(t, "all are deployed", deployed(t, admin, 40))
	actions, err := admin.State.Actions(t.Context(), "prod",
		state.ActionQuery{Action: state.ActionDeploy})
	if err != nil || len(actions) != 40 {
		t.Errorf("%v: %d runs of 40 resources", err, len(actions))
	}
}
