//go:build servers

package functions_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/shared/aws/home"
	"southbound/shared/aws/queue"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/resource"
)

// pages is a model of a service whose instances are objects of the managed bucket; those with a
// path are files on the agent near, too.
const pages = `
import lsm
import lsm::fsm
import lsm::allocators
import southbound
import southbound::fs
import southbound::aws::s3

entity Page extends lsm::ServiceEntity:
    string name
    string text = "hello"
    lsm::attribute_modifier text__modifier = "rw+"
    string? path = null
    bool numbered = false
    int? number = null
    lsm::attribute_modifier number__modifier = "r"
end
implementation page for Page:
    self.owned_resources += southbound::aws::s3::Object(
        agent=cloud, bucket="BUCKET", key=self.name, content=self.text, purged=self.purge_resources,
    )
    if self.numbered:
        number = lsm::allocators::get_first_free_integer(self, "number", 1, 99)
    end
    if self.path != null:
        self.owned_resources += southbound::fs::File(
            agent=near, path=self.path, content=self.text, purged=self.purge_resources,
        )
    end
end
implement Page using parents, page

cloud = southbound::Agent(name="web1", transport="aws", options={"region": "REGION"})
near = southbound::Agent(name="near")
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Page", lifecycle=lsm::fsm::simple, service_entity_name="page",
)
for one in lsm::all(binding):
    Page(instance_id=one["id"], entity_binding=binding, **one["attributes"])
end
`

// id is that of the n-th order.
func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// orders has a life of orders, from the command line to objects in a bucket and a file on a
// machine.
func (s *site) orders() {
	s.t.Helper()
	main := filepath.Join(s.t.TempDir(), "main.cf")
	model := strings.NewReplacer("BUCKET", s.managed(), "REGION", region).Replace(pages)
	if err := os.WriteFile(main, []byte(model), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.command("service", "export", main)
	s.command("service", "create", "page", "name=one", "--id", id(1))
	s.fulfil()
	s.page(1, "up", "one", "hello")
	s.atMost(25, s.counted(2, "two", ""))
	numbered := func(n int, name string) int {
		// What others have exported meanwhile is read.
		s.command("service", "create", "page", "name=before "+name, "--id", id(n+1))
		s.fulfil()
		return s.counted(n, name, `, "numbered": true`)
	}
	// Now and then what commits have written is put together, by the export that comes by.
	s.atMost(30, min(numbered(4, "four"), numbered(6, "six")))
	if r, err := s.home.Instances.Instance(s.t.Context(), "prod", id(4)); err != nil ||
		fmt.Sprint(r.Active["number"]) != "1" {
		s.t.Errorf("%v: its number is %v", err, r.Active["number"])
	}
	s.called()

	// The function is killed before what it has exported is written at the instance.
	s.command("service", "update", id(2), "text=more")
	s.killed()
	s.fulfil()
	s.page(2, "up", "two", "more")

	// The message is lost: the sweep notifies.
	s.command("service", "delete", id(2))
	s.receive(s.compiles())
	s.sweep("none")
	s.fulfil()
	s.page(2, "terminated", "two", "")

	// A whole export leaves what instances have.
	s.command("export", s.dir)
	s.page(1, "up", "one", "called")

	path := filepath.Join(s.t.TempDir(), "file")
	s.command("service", "create", "page", "name=three", "path="+path, "--id", id(3))
	s.fulfil()
	s.run("near", "the file is there and the order told", func() bool {
		text, err := os.ReadFile(path)
		return err == nil && string(text) == "hello" && s.recorder.notified("runner", s.compiles())
	})
	s.fulfil()
	s.page(3, "up", "three", "hello")
}

// called has a callback for what happens to an instance. Nothing is of the level that it wants, so
// that nobody is called.
func (s *site) called() {
	s.t.Helper()
	s.command("service", "callback", "add", "https://shop.example/x", "--level", "CRITICAL", "--id",
		id(9))
	s.command("service", "update", id(1), "text=called")
	if waits, err := s.home.Callbacks.Waits(s.t.Context(), "prod"); !waits || err != nil {
		s.t.Errorf("%v: nothing is to be told", err)
	}
	s.receive(s.compiles()) // the notices are lost
	s.sweep("none")
	s.fulfil()
	s.page(1, "up", "one", "called")
	if waits, err := s.home.Callbacks.Waits(s.t.Context(), "prod"); waits || err != nil {
		s.t.Errorf("%v: something is left to be told", err)
	}
	s.command("service", "callback", "list")
	s.command("service", "callback", "remove", id(9))
}

// atMost holds that an order takes no more requests beside the deploy than docs/costs.md says: 25,
// and five more with an allocator.
func (s *site) atMost(limit, took int) {
	s.t.Helper()
	if took > limit {
		s.t.Errorf("an order takes %d requests beside the deploy, expected %d at most", took, limit)
	}
}

// counted counts what an order over HTTP, of the n-th instance, asks of AWS beside the deploy, by
// functions that have begun. The deploy is what the handler function asks, and what the plan and
// the export ask; these are counted for other resources like them.
func (s *site) counted(n int, name, more string) int {
	s.t.Helper()
	before := s.requests()
	s.post("page", fmt.Sprintf(
		`{"attributes": {"name": %q%s}, "service_instance_id": %q}`, name, more, id(n)))
	invoked := s.fulfil()
	s.page(n, "up", name, "hello")
	order := s.since(before)
	for range 2 { // the first one reads what it does not know yet
		before = s.requests()
		s.export(deploy.Export{Partial: true})
	}
	export := s.since(before)["deploy"]
	notices := 1 // of the handler: that resources of an instance were run
	// Lambda receives and deletes the messages of the compile function.
	beside := order["api"] + order["compile"] - export + notices + 2*invoked
	s.t.Logf("an order: %v, in %d invocations for messages; its plan and export %d, beside the "+
		"deploy %d",
		order, invoked, export, beside)
	return beside
}

// export checks and exports a resource of a set as an order does, for whoever is not looked at.
func (s *site) export(x deploy.Export) {
	s.t.Helper()
	if s.deployer == nil {
		c := s.stack.Config
		c.Endpoint = s.through
		own := s.stack.AWS.Copy()
		own.Credentials = credentials.NewStaticCredentialsProvider("deploy", "test", "")
		c.AWS = &own
		h, err := home.Open(s.t.Context(), c)
		if err != nil {
			s.t.Fatal(err)
		}
		h.Queues.Fixed = false
		s.deployer = h
	}
	s.exports++
	key := fmt.Sprint("x", s.exports)
	x.Model = &model.Model{
		Agents: []resource.Agent{{
			Name: "web1", Transport: "aws", Lanes: 1, Options: map[string]any{"region": region},
		}},
		Resources: []resource.Resource{{
			ID: resource.NewID("aws::s3::Object", "web1",
				resource.Key{Name: "bucket", Value: s.managed()},
				resource.Key{Name: "key", Value: key}),
			Type: "aws::s3::Object", Agent: "web1", Set: key,
			Attributes: map[string]any{"bucket": s.managed(), "key": key, "content": "x"},
		}},
	}
	if err := s.deployer.Engine.Check(s.t.Context(), "prod", x); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.deployer.Engine.Export(s.t.Context(), "prod", x); err != nil {
		s.t.Fatal(err)
	}
	s.fulfil()
}

// post orders an instance of a service over HTTP.
func (s *site) post(service, body string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost,
		s.url+"/lsm/v1/service_inventory/"+service, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Inmanta-tid", "prod")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%d %v: %s", resp.StatusCode, err, text)
	}
}

// since returns how many requests everybody has sent since some were counted.
func (s *site) since(before map[string]int) map[string]int {
	out := s.requests()
	for who, n := range before {
		if out[who] -= n; out[who] == 0 {
			delete(out, who)
		}
	}
	return out
}

// requests returns how many requests were sent so far.
func (s *site) requests() map[string]int {
	s.recorder.mu.Lock()
	defer s.recorder.mu.Unlock()
	return maps.Clone(s.recorder.sent)
}

// fulfil does what Lambda does for orders, until no messages are left, and returns how often it
// invoked the compile function.
func (s *site) fulfil() (invoked int) {
	s.t.Helper()
	for {
		n := s.serve("compile", s.compiles())
		handled := s.serve("handler", queue.Name(s.stack.Config.Prefix, "prod", "web1"))
		if invoked += n; n+handled == 0 {
			return invoked
		}
	}
}

// killed hands what notices name to the compile function, which is killed at its second write, and
// begins another one.
func (s *site) killed() {
	s.t.Helper()
	victim, dead := s.running["compile"], make(chan struct{})
	writes := 0
	s.recorder.mu.Lock()
	s.recorder.first = func(who, target string) bool {
		if who != "compile" || !strings.HasSuffix(target, "TransactWriteItems") {
			return true
		}
		if writes++; writes != 2 { // the second
			return writes < 2
		}
		_ = victim.cmd.Process.Kill()
		close(dead)
		return false
	}
	s.recorder.mu.Unlock()
	event := s.receive(s.compiles())
	victim.events <- event
	<-dead
	s.recorder.mu.Lock()
	s.recorder.first = nil
	s.recorder.mu.Unlock()
	if r, err := s.home.Instances.Instance(s.t.Context(), "prod", id(2)); err != nil ||
		len(r.Tasks) == 0 {
		s.t.Errorf("%v: it was killed when nothing was left: %+v", err, r.Tasks)
	}
	s.running["compile"] = start(s.t, s.stack, "compile", s.environment("compile")...)
	if a := s.ask("compile", event); a.body != done { // it comes again
		s.t.Errorf("%+v", a)
	}
}

// page holds that an instance is in a state, and its object what it should ("": there is none).
func (s *site) page(n int, state, key, want string) {
	s.t.Helper()
	r, err := s.home.Instances.Instance(s.t.Context(), "prod", id(n))
	if err != nil || r.State != state || len(r.Tasks) > 0 {
		s.t.Errorf("%v: %s is %s with %v, expected %s: %s", err, key, r.State, r.Tasks, state,
			r.Problems)
	}
	got := ""
	out, err := s.home.S3.GetObject(s.t.Context(), &s3.GetObjectInput{
		Bucket: aws.String(s.managed()), Key: &key,
	})
	if err == nil {
		text, _ := io.ReadAll(out.Body)
		got = string(text)
	}
	if got != want {
		s.t.Errorf("%s holds %q, expected %q: %v", key, got, want, err)
	}
}
