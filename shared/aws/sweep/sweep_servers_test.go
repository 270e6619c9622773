//go:build servers

package sweep

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/handlers"
	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/emf"
	"southbound/shared/aws/home"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/aws/logs"
	"southbound/shared/aws/queue"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/platform"
	"southbound/shared/resource"
)

func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.MiniStack)) }

func sweeperOf(h *home.Home) *Sweeper {
	return &Sweeper{Engine: h.Engine, State: h.State,
		Catch: &logs.Log{Store: h.LogStore, State: h.State, Logger: slog.New(slog.DiscardHandler)},
		Clock: platform.Clock{},
		Log:   slog.New(slog.DiscardHandler), Metrics: emf.NewSet("test")}
}

func modelOf(n int) *model.Model {
	m := &model.Model{Agents: []resource.Agent{{Name: "web1", Transport: "aws", Lanes: 1}}}
	for i := range n {
		name := fmt.Sprintf("r%d", i)
		r := resource.Resource{ID: resource.NewID("std::Null", "web1",
			resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: "web1",
			Attributes: map[string]any{"name": name}}
		if i > 0 {
			r.Requires = []resource.ID{m.Resources[i-1].ID}
		}
		m.Resources = append(m.Resources, r)
	}
	return m
}

func export(t *testing.T, h *home.Home, env string, m *model.Model) {
	t.Helper()
	if _, err := h.Engine.Export(t.Context(), env, deploy.Export{Model: m}); err != nil {
		t.Fatal(err)
	}
}

// serve reads the queue of web1 once and serves the lanes that were notified; it returns how many
// lanes that were.
func serve(t *testing.T, h *home.Home, env string) int {
	t.Helper()
	u, err := h.Queues.URL(t.Context(), env, "web1")
	if err != nil {
		t.Fatal(err)
	}
	l := &queue.Listener{API: h.SQS, URL: u, Hide: time.Minute}
	deliveries, err := l.Receive(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range deliveries {
		if _, err := h.Engine.RunAgent(t.Context(), x.Env, x.Agent,
			time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Done(t.Context(), deliveries...); err != nil {
		t.Fatal(err)
	}
	return len(deliveries)
}

// TestIdleCostsOneRequest pins the cost of a minute in which nothing is to be done, in a process
// that knows nothing and for any number of environments.
func TestIdleCostsOneRequest(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, nil)
	envs := []string{"one", "two", "three"}
	for _, env := range envs {
		export(t, h, env, modelOf(3))
		serve(t, h, env)
	}
	if err := sweeperOf(h).Run(t.Context(), quiet(envs...)); err != nil {
		t.Fatal(err)
	}
	var m meter.Meter
	counted := stack.AWS.Copy()
	m.Install(&counted)
	idle := stack.Open(t, func(c *home.Config) { c.AWS = &counted })
	if err := sweeperOf(idle).Run(t.Context(), quiet(envs...)); err != nil {
		t.Fatal(err)
	}
	if got := m.Take(); got.Sum().Calls != 1 || got.Sum().Attempts != 1 ||
		got["DynamoDB.Query"].RCU > 1 {
		t.Errorf("an idle minute:\n%s", got)
	}
	// Work ends the rest.
	export(t, h, "two", modelOf(4))
	if err := sweeperOf(idle).Run(t.Context(), quiet(envs...)); err != nil {
		t.Fatal(err)
	}
	if got := m.Take(); got.Sum("SQS").Calls == 0 {
		t.Errorf("a minute with work in it notified nobody:\n%s", got)
	}
}

// TestQueuePurged pins that a queue emptied behind everybody's back costs a minute and nothing
// else.
func TestQueuePurged(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, nil)
	export(t, h, "prod", modelOf(5))
	u, err := h.Queues.URL(t.Context(), "prod", "web1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.SQS.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &u}); err != nil {
		t.Fatal(err)
	}
	if n := serve(t, h, "prod"); n != 0 {
		t.Fatalf("%d lanes were notified", n)
	}
	minute := 0
	hometest.Until(t, "the lane is notified", func() bool { // the server may purge for a while
		minute++
		if err := sweeperOf(stack.Open(t, nil)).Run(t.Context(), quiet("prod")); err != nil {
			t.Fatal(err)
		}
		return serve(t, h, "prod") == 1
	})
	t.Logf("notified by sweep %d", minute)
	p, err := h.Engine.Progress(t.Context(), "prod")
	if err != nil || !p.Done() || p.Counts[state.StatusDeployed] != 5 {
		t.Errorf("%v: %v", err, p.Counts)
	}
}

// TestChores pins that old things are removed in their minutes, and that this does not wake who
// rests.
func TestChores(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, nil)
	export(t, h, "prod", modelOf(2))
	serve(t, h, "prod")
	s := sweeperOf(h)
	for _, at := range []time.Time{quiet("prod"), atMinute(minuteOf("collect prod"))} {
		if err := s.Run(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	p, err := h.Engine.Progress(t.Context(), "prod")
	if err != nil || p.Counts[state.StatusDeployed] != 2 {
		t.Errorf("%v: %v", err, p.Counts)
	}
}
