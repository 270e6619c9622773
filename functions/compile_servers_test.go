//go:build servers

package functions_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/handlers"
	"southbound/shared/aws/home"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/compile"
	"southbound/shared/deploy/state"
	"southbound/shared/service/bundle"
	"southbound/shared/service/catalog"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// compileMemory is the least that the template takes, in megabytes.
const compileMemory = "256"

// shop is an environment with services, whose orders a compile function works on.
type shop struct {
	*testing.T
	stack    *hometest.Stack
	home     *home.Home
	services map[string]*definition.Service
	n        int
}

// newShop offers the services of a model.
func newShop(t *testing.T, text string) *shop {
	t.Helper()
	s := &shop{T: t, stack: hometest.New(t, handlers.All())}
	s.home = s.stack.Open(t, nil)
	s.offer(text)
	return s
}

// offer makes the services of a model those of the environment.
func (s *shop) offer(text string) {
	s.Helper()
	main := filepath.Join(s.TempDir(), "main.cf")
	if err := os.WriteFile(main, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	c, err := compile.Model(s.Context(), compile.Options{Path: main, Types: s.home.Types})
	if err != nil {
		s.Fatal(err)
	}
	services, err := catalog.Of(c.Result)
	if err != nil {
		s.Fatal(err)
	}
	p, err := bundle.Pack(bundle.Model{Main: main, Modules: c.Project.Modules})
	if err == nil {
		err = s.home.Engine.Files.Put(s.Context(), []state.Blob{
			{Hash: p.Digest, Size: int64(len(p.Data)), Data: p.Data},
		})
	}
	if err == nil {
		err = s.home.Definitions.Put(s.Context(), "prod", p.Digest, services)
	}
	if err != nil {
		s.Fatal(err)
	}
	s.services = map[string]*definition.Service{}
	for i := range services {
		s.services[services[i].Name] = &services[i]
	}
}

// order orders an instance and returns its id.
func (s *shop) order(service string, attributes map[string]any) string {
	s.Helper()
	s.n++
	c, err := inventory.New(s.services[service], id(s.n), "", attributes, time.Now())
	if err == nil {
		_, err = s.home.Instances.Write(s.Context(), "prod", []inventory.Change{c})
	}
	if err == nil {
		err = s.home.Compiles.Notify(s.Context(), "prod", id(s.n))
	}
	if err != nil {
		s.Fatal(err)
	}
	return id(s.n)
}

// instance returns an instance.
func (s *shop) instance(id string) inventory.Record {
	s.Helper()
	r, err := s.home.Instances.Instance(s.Context(), "prod", id)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// noticed has the function do what the messages in the compile queue name, until there are none. It
// reports whether the function has lived.
func (s *shop) noticed(f *bounded) bool {
	s.Helper()
	for {
		out, err := s.home.SQS.ReceiveMessage(s.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &s.stack.Config.CompileQueue, MaxNumberOfMessages: 10, VisibilityTimeout: 720,
		})
		if err != nil {
			s.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return true
		}
		var e events.SQSEvent
		for _, m := range out.Messages {
			e.Records = append(e.Records, events.SQSMessage{
				MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body,
			})
		}
		text, err := json.Marshal(e)
		if err != nil {
			s.Fatal(err)
		}
		if a := f.call(string(text)); a.body != done {
			return false
		}
		for _, m := range out.Messages {
			if _, err := s.home.SQS.DeleteMessage(s.Context(), &sqs.DeleteMessageInput{
				QueueUrl: &s.stack.Config.CompileQueue, ReceiptHandle: m.ReceiptHandle,
			}); err != nil {
				s.Fatal(err)
			}
		}
	}
}

// compiler starts a compile function.
func (s *shop) compiler(environ ...string) *lambda {
	s.Helper()
	return start(s.T, s.stack, "compile", append([]string{
		home.EnvCompile + "=" + s.stack.Config.CompileQueue, "TMPDIR=" + s.TempDir(),
	}, environ...)...)
}

// large is a service of which an order says how much its model takes.
const large = `
import lsm
import lsm::fsm
import southbound
import southbound::fs

entity Node:
    int n
end
implement Node using std::none

entity Large extends lsm::ServiceEntity:
    string what
    int n
end
implementation resources for Large:
    for i in std::sequence(self.n):
        self.owned_resources += southbound::fs::File(
            agent=here, path="/srv/{{ self.instance_id }}/{{ i }}", content="some text",
            mode="0644", owner="root", group="root", purged=self.purge_resources,
        )
    end
end
implementation nodes for Large:
    for i in std::sequence(self.n):
        for j in std::sequence(self.n):
            Node(n=j)
        end
    end
end
implementation texts for Large:
    l = [["{{ self.what }} {{ i }} {{ j }}" for i in std::sequence(self.n)]
        for j in std::sequence(self.n)]
end
implement Large using parents
implement Large using resources when self.what == "resources"
implement Large using nodes when self.what == "nodes"
implement Large using texts when self.what == "texts"

here = southbound::Agent(name="here")
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Large", lifecycle=lsm::fsm::simple, service_entity_name="large",
)
for one in lsm::all(binding):
    Large(instance_id=one["id"], entity_binding=binding, **one["attributes"])
end
`

// TestCompileCold pins that a compile function that has just begun does the order that it was begun
// for, in the memory that the template takes at least, and tells how long that took.
func TestCompileCold(t *testing.T) {
	s := newShop(t, large)
	one := s.order("large", map[string]any{"what": "resources", "n": 10})
	began := time.Now()
	f := s.compiler("AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + compileMemory).
		within(memoryOf(compileMemory))
	ready := (<-f.ready).Sub(began)
	if !s.noticed(f) {
		t.Fatal("the function has ended")
	}
	exported := time.Since(began)
	if r := s.instance(one); len(r.Problems) > 0 || r.Exported == 0 {
		t.Errorf("the order is %s: %s", r.State, r.Problems)
	}
	again := s.order("large", map[string]any{"what": "resources", "n": 10})
	began = time.Now()
	if !s.noticed(f) || s.instance(again).Exported == 0 {
		t.Error("the next order is not exported")
	}
	next := time.Since(began)
	t.Logf(
		"cold: ready after %v, an order of 10 resources exported after %v; the next one after %v",
		ready, exported, next)
	peak := f.peak()
	u, _ := f.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%d MB, %v of the processor for both", peak,
		time.Duration(u.Utime.Nano()+u.Stime.Nano()))
}

// TestCompileMemory orders what takes more memory than the compile function has, and wants the
// problem at the order, and the function alive for others.
func TestCompileMemory(t *testing.T) {
	s := newShop(t, large)
	f := s.compiler("AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + compileMemory).
		within(memoryOf(compileMemory))
	f.timeout = 5 * time.Minute
	for _, c := range []struct {
		what string
		n    int
		fits bool
	}{
		{"nodes", 20, true}, {"nodes", 3000, false}, {"texts", 3000, false},
		{"resources", 1000, true}, {"resources", 100000, false}, {"resources", 10, true},
		{"resources", 8000, true},
	} {
		name := fmt.Sprint(c.what, " ", c.n)
		one := s.order("large", map[string]any{"what": c.what, "n": c.n})
		if !s.noticed(f) {
			t.Fatalf("%s: the function has ended", name)
		}
		r := s.instance(one)
		says := strings.Contains(string(r.Problems), "grows with the memory")
		if c.fits == says {
			t.Errorf("%s: %s, %s", name, r.State, r.Problems)
		}
	}
	peak := f.peak()
	t.Logf("%d MB", peak)
	if peak > memoryOf(compileMemory) {
		t.Errorf("the function had %d MB", peak)
	}
}
