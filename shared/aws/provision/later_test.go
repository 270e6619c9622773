package provision_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/handlers/std"
	"southbound/shared/aws/provision"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/engine"
	"southbound/shared/platform"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

type records = state.Jobs

// simulated is a state of the engine in memory, as the provisioner wants it.
type simulated struct {
	*engine.State
	records // there are none
	mu      *sync.Mutex
	idle    int64 // since when agents are idle; 0: none is
}

func (s simulated) Agents(
	ctx context.Context, env string, names ...string,
) (map[string]state.Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.State.Agents(ctx, env, names...)
}

func (s simulated) IdleEpoch(string) int64 { return s.idle }

func (simulated) SetIdleEpoch(context.Context, string, int64) error { return nil }

// unresolved resolves no secret, and connects to nothing.
type unresolved struct{}

func (unresolved) Resolve(context.Context, resource.Secret) (value, version string, err error) {
	return "", "", nil
}

func (unresolved) Connect(context.Context, resource.Agent) (any, error) { return nil, nil }

// prepared begins a process over an account and a state.
func prepared(t *testing.T, a *account, state simulated) (*provision.Provisioner, *deploy.Engine) {
	t.Helper()
	p, err := provision.New(provision.Config{SQS: a, Lambda: a, State: state,
		Clock: platform.Clock{}, Prefix: "sb", Base: "https://sqs/", Function: "handler",
		DeadLetters: "arn:aws:sqs:r:1:dead.fifo"})
	if err != nil {
		t.Fatal(err)
	}
	types, err := schema.NewRegistry(provider.Types([]provider.Definition{std.Null()})...)
	if err != nil {
		t.Fatal(err)
	}
	ids := platform.NewIDs()
	files := engine.NewFiles()
	files.Now = time.Now
	return p, deploy.New(deploy.Config{State: p.Preparing(state), Files: files,
		Notifier: p.Notifier(), Clock: platform.Clock{}, Caller: platform.Caller{},
		Secrets:   unresolved{},
		Connector: unresolved{}, Types: types,
		Handlers: provider.Handlers([]provider.Definition{std.Null()}), Pack: "test",
		Holder: ids.Holder, NewID: ids.NewID, Jitter: func() float64 { return 0.5 }})
}

// TestManyNewAgents pins that a first export to 300 agents, each of which takes two seconds to be
// made, does not outlive the lease of the plan; that they are made afterwards, by several processes
// one after the other, and that Lambda is never asked more often than it allows. Time is virtual.
func TestManyNewAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 300
		a, state := newAccount(time.Second), simulated{State: engine.NewState(), mu: &sync.Mutex{}}
		p, engine := prepared(t, a, state)
		m := &model.Model{}
		for i := range n {
			agent := fmt.Sprintf("web%03d", i)
			m.Agents = append(m.Agents, resource.Agent{Name: agent, Transport: "aws", Lanes: 2})
			for _, name := range []string{"a", "b", "c", "d"} {
				m.Resources = append(m.Resources,
					resource.Resource{ID: resource.NewID("std::Null", agent,
						resource.Key{Name: "name", Value: name}), Type: "std::Null",
						Agent: agent, Attributes: map[string]any{"name": name}})
			}
		}
		began := time.Now()
		if _, err := engine.Export(t.Context(), "prod", deploy.Export{Model: m}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second || len(a.queues) > 0 {
			t.Errorf("the export took %v and made %d queues: the lease of the plan lasts a minute",
				took, len(a.queues))
		}
		jobs := p.Take()
		if len(jobs) != n || len(p.Take()) != 0 {
			t.Fatalf("%d agents are put off, want %d", len(jobs), n)
		}
		rounds := 0
		// each in a process that knows nothing, which ends after 20 s
		for ; len(jobs) > 0; rounds++ {
			left := jobs
			p, _ = prepared(t, a, state)
			var err error
			if jobs, err = p.Prepare(t.Context(), left,
				time.Now().Add(20*time.Second)); err != nil {
				t.Fatal(err)
			}
			if len(jobs) == len(left) {
				t.Fatal("nothing was prepared in 20 s")
			}
		}
		t.Logf("%v, %d rounds, at most %d requests to Lambda in a second", time.Since(began),
			rounds, a.busiest())
		if took := time.Since(began); took > 90*time.Second || rounds < 3 {
			t.Errorf("it took %v in %d rounds", took, rounds)
		}
		if got := a.busiest(); got > 15 {
			t.Errorf("Lambda got %d requests in a second", got)
		}
		notified := 0
		for _, groups := range a.messages {
			notified += len(groups)
		}
		if len(a.queues) != n || len(a.mappings) != n || notified < n {
			t.Errorf("%d queues, %d mappings, %d messages", len(a.queues), len(a.mappings),
				notified)
		}
		for name, tags := range a.queues {
			if tags["southbound:mapping"] == "" || len(a.messages[name]) == 0 {
				t.Errorf("%s: tags %v, messages %v", name, tags, a.messages[name])
			}
		}
	})
}

// TestCheckForgetsNone pins that of more agents without a queue than are looked at in one sweep all
// are prepared by the next ones.
func TestCheckForgetsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 510
		a := newAccount(time.Millisecond)
		state := simulated{State: engine.NewState(), mu: &sync.Mutex{}}
		_, engine := prepared(t, a, state)
		m := &model.Model{}
		for i := range n {
			agent := fmt.Sprintf("web%03d", i)
			m.Agents = append(m.Agents, resource.Agent{Name: agent, Transport: "aws", Lanes: 1})
			m.Resources = append(m.Resources, resource.Resource{
				ID:   resource.NewID("std::Null", agent, resource.Key{Name: "name", Value: "a"}),
				Type: "std::Null", Agent: agent, Attributes: map[string]any{"name": "a"}})
		}
		if _, err := engine.Export(t.Context(), "prod", deploy.Export{Model: m}); err != nil {
			t.Fatal(err)
		}
		sweep, _ := prepared(t, a, state) // the process that exported has died
		for range 3 {
			time.Sleep(time.Minute)
			if _, err := sweep.Check(t.Context(), "prod"); err != nil {
				t.Fatal(err)
			}
		}
		if len(a.queues) != n {
			t.Errorf("%d queues are there after three sweeps, want %d", len(a.queues), n)
		}
	})
}

// chain returns a model of one resource an agent, each of which waits for the one before.
func chain(value string, agents ...string) *model.Model {
	m := &model.Model{}
	for i, agent := range agents {
		r := resource.Resource{ID: resource.NewID("std::Null", agent,
			resource.Key{Name: "name", Value: "n"}), Type: "std::Null",
			Agent: agent, Attributes: map[string]any{"name": "n", "value": value}}
		if i > 0 {
			r.Requires = []resource.ID{m.Resources[i-1].ID}
		}
		m.Agents = append(m.Agents, resource.Agent{Name: agent, Transport: "aws", Lanes: 1})
		m.Resources = append(m.Resources, r)
	}
	return m
}

// TestNewAgentsThatWait pins that a new agent whose work waits for another's is put off with the
// export, to be made: who notifies it later may make no queue. One that is known is left alone.
func TestNewAgentsThatWait(t *testing.T) {
	p, engine := prepared(t, newAccount(0), simulated{State: engine.NewState(), mu: &sync.Mutex{}})
	for _, c := range []struct {
		agents []string // each waits for the one before
		want   []provision.Job
	}{
		{[]string{"a", "b", "c"}, []provision.Job{{Env: "prod", Agent: "a", Lanes: []string{"a"}},
			{Env: "prod", Agent: "b"}, {Env: "prod", Agent: "c"}}},
		{[]string{"a", "b", "c"}, []provision.Job{}},
		{[]string{"a", "b", "c", "d"},
			[]provision.Job{{Env: "prod", Agent: "d", Lanes: []string{"d"}}}},
	} {
		if _, err := engine.Export(t.Context(), "prod",
			deploy.Export{Model: chain("v", c.agents...)}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, p.Take(), cmpopts.EquateEmpty(),
			cmpopts.IgnoreUnexported(provision.Job{})); diff != "" {
			t.Errorf("%v: put off (-want +got):\n%s", c.agents, diff)
		}
	}
}

// TestWorkThatEndsBeforeTheNextAgentIsMade has the first agent of a chain be done before the second
// has a queue: nobody could notify that, so it is to be notified once its queue is made.
func TestWorkThatEndsBeforeTheNextAgentIsMade(t *testing.T) {
	a := newAccount(0)
	p, engine := prepared(t, a, simulated{State: engine.NewState(), mu: &sync.Mutex{}})
	ctx := t.Context()
	if _, err := engine.Export(ctx, "prod",
		deploy.Export{Model: chain("v", "a", "b", "c")}); err != nil {
		t.Fatal(err)
	}
	jobs, until := p.Take(), time.Now().Add(time.Hour)
	if _, err := p.Prepare(ctx, jobs[:1], until); err != nil || len(provision.Late(jobs)) > 0 {
		t.Fatal(err, provision.Late(jobs))
	}
	if _, err := engine.RunAgent(ctx, "prod", "a", until); err != nil {
		t.Fatal(err)
	}
	p.Take() // the handler function, which ran it, makes no queue
	if _, err := p.Prepare(ctx, jobs[1:], until); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"prod": {"b", "c"}}, provision.Late(jobs)); diff != "" {
		t.Errorf("late (-want +got):\n%s", diff)
	}
	lanes, err := engine.AgentsWithWork(ctx, "prod")
	if diff := cmp.Diff([]string{"b"}, lanes); diff != "" || err != nil {
		t.Errorf("%v: what may start (-want +got):\n%s", err, diff)
	}
	if len(a.messages) != 1 {
		t.Errorf("messages were sent to %v, want a's queue alone", a.messages)
	}
}

// TestIdleAgentsThatWait pins the same of agents that may be idle: who notifies them later may not
// wake them. Those that get no work are left alone.
func TestIdleAgentsThatWait(t *testing.T) {
	state := simulated{State: engine.NewState(), mu: &sync.Mutex{}}
	p, engine := prepared(t, newAccount(0), state)
	export := func(value string, agents ...string) []provision.Job {
		t.Helper()
		if _, err := engine.Export(t.Context(), "prod",
			deploy.Export{Model: chain(value, agents...)}); err != nil {
			t.Fatal(err)
		}
		return p.Take()
	}
	left, err := p.Prepare(t.Context(), export("1", "a", "b", "c"), time.Now().Add(time.Hour))
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	if jobs := export("2", "a", "b", "c"); len(jobs) > 0 {
		t.Errorf("while none is idle, %v are put off", jobs)
	}
	state.idle = time.Now().Unix()
	if p, engine = prepared(t, newAccount(0), state); len(export("2", "a", "b", "c")) > 0 {
		t.Error("without work they are put off")
	}
	var names []string
	for _, j := range export("3", "a", "b", "c") {
		names = append(names, j.Agent)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Errorf("put off (-want +got):\n%s", diff)
	}
}
