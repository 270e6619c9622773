//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"southbound/shared/aws/queue"
)

// nulls writes a document with a number of resources in chains of ten.
func (u *user) nulls(t *testing.T, name string, lanes, n int) {
	t.Helper()
	var b strings.Builder
	b.WriteString(u.cloud(lanes))
	for i := range n {
		fmt.Fprintf(&b, "  - type: std::Null\n    attributes: {name: \"%s%04d\"}\n", name, i)
		if i%10 != 0 {
			fmt.Fprintf(&b, "    requires: [\"std::Null[cloud,name=%s%04d]\"]\n", name, i-1)
		}
	}
	u.write(t, "nulls.yaml", b.String())
}

// twice: two pipelines export into one environment at once.
func twice(t *testing.T, w *world) {
	u := w.user(t, "twice")
	other := &user{world: w, env: u.env, dir: t.TempDir()}
	u.nulls(t, "a", 4, 200)
	other.nulls(t, "b", 4, 200)
	first, second := u.command(t.Context(), "export", ".", "--json"), other.command(t.Context(),
		"export", ".", "--json")
	outs := make(chan []byte, 2)
	errs := make(chan error, 2)
	for _, cmd := range []interface{ Output() ([]byte, error) }{first, second} {
		go func() {
			out, err := cmd.Output()
			outs <- out
			errs <- err
		}()
	}
	var versions []int
	for range 2 {
		out, err := <-outs, <-errs
		if err != nil {
			t.Fatalf("one of two exports fails: %v\n%s", err, out)
		}
		versions = append(versions, decode[summary](t, out)[0].Version)
	}
	slices.Sort(versions)
	if !slices.Equal(versions, []int{1, 2}) {
		t.Fatalf("two exports at once have the versions %v", versions)
	}
	u.run(t, 0, "deploy")
	type row struct {
		ID, Status string
		Version    int
	}
	deployed := 0
	for _, r := range decode[row](t, u.run(t, 0, "resources", "--json")) {
		if r.Status == "deployed" {
			deployed++
		} else if r.Status != "orphaned" {
			t.Errorf("%s is %s", r.ID, r.Status)
		}
	}
	if deployed != 200 {
		t.Errorf("%d resources are deployed, the last version has 200", deployed)
	}
}

// hold keeps the handler function from hearing an agent, and returns the URL of the queue and how
// to let it hear again.
func (u *user) hold(t *testing.T, agent string) (url string, release func()) {
	t.Helper()
	name := queue.Name(u.out["Prefix"], u.env, agent)
	at, err := u.sqs.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	tags, err := u.sqs.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: at.QueueUrl})
	if err != nil {
		t.Fatal(err)
	}
	uuid := tags.Tags["southbound:mapping"]
	if uuid == "" {
		t.Fatalf("the queue of %s has no mapping: %v", agent, tags.Tags)
	}
	set := func(on bool) {
		until(t, "the mapping takes a change", 2*time.Minute, func() bool {
			_, err := u.lambda.UpdateEventSourceMapping(t.Context(),
				&lambda.UpdateEventSourceMappingInput{UUID: &uuid, Enabled: &on})
			return err == nil
		})
		want := map[bool]string{true: "Enabled", false: "Disabled"}[on]
		until(t, "the mapping is "+want, 3*time.Minute, func() bool {
			m, err := u.lambda.GetEventSourceMapping(t.Context(),
				&lambda.GetEventSourceMappingInput{UUID: &uuid})
			return err == nil && aws.ToString(m.State) == want
		})
	}
	set(false)
	return aws.ToString(at.QueueUrl), func() { set(true) }
}

// purged: all messages of an agent are lost. The sweep notifies again.
func purged(t *testing.T, w *world) {
	u := w.user(t, "purged")
	u.nulls(t, "a", 2, 20)
	u.export(t)
	url, release := u.hold(t, "cloud")
	u.nulls(t, "b", 2, 20)
	u.run(t, 0, "export", ".")
	if _, err := w.sqs.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	release()
	w.sweep(t) // the minute would do it, too
	u.waitDeployed(t, "b", 20)
}

// waitDeployed waits until all of a series are deployed.
func (u *user) waitDeployed(t *testing.T, name string, n int) {
	t.Helper()
	type row struct{ ID, Status string }
	until(t, fmt.Sprintf("%d resources %s are deployed", n, name), 6*time.Minute, func() bool {
		out, err := u.command(t.Context(), "resources", "std::Null[cloud,name="+name+"*", "--json").
			Output()
		if err != nil {
			return false
		}
		rows := decode[row](t, out)
		return len(rows) == n &&
			!slices.ContainsFunc(rows, func(r row) bool { return r.Status != "deployed" })
	})
}

// doubled: every message comes many times, and each resource is deployed once.
func doubled(t *testing.T, w *world) {
	u := w.user(t, "doubled")
	u.nulls(t, "a", 2, 10)
	u.export(t)
	url, release := u.hold(t, "cloud")
	u.nulls(t, "b", 2, 20)
	u.run(t, 0, "export", ".")
	heard := map[string]types.Message{}
	until(t, "there is a message", 5*time.Minute, func() bool {
		out, err := w.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url,
			MaxNumberOfMessages: 10, WaitTimeSeconds: 1, VisibilityTimeout: 1,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{
				types.MessageSystemAttributeNameMessageGroupId}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range out.Messages {
			heard[aws.ToString(m.MessageId)] = m
		}
		return len(heard) > 0
	})
	for id, m := range heard {
		for i := range 5 {
			_, err := w.sqs.SendMessage(t.Context(),
				&sqs.SendMessageInput{QueueUrl: &url, MessageBody: m.Body,
					MessageDeduplicationId: aws.String(id + strconv.Itoa(i)),
					MessageGroupId:         aws.String(m.Attributes["MessageGroupId"])})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	release()
	u.waitDeployed(t, "b", 20)
	type line struct{ Resource, Action, Outcome string }
	times := map[string]int{}
	for _, l := range decode[line](t, u.run(t, 0, "logs", "--all", "--json", "--limit", "1000")) {
		if l.Action == "deploy" && strings.Contains(l.Resource, "name=b") {
			times[l.Resource]++
		}
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("%s was deployed %d times", id, n)
		}
	}
	if len(times) != 20 {
		t.Errorf("%d resources are in the log, want 20", len(times))
	}
}

// strange: messages that no part of the stack sent do no harm, and neither they nor records of the
// names in them stay.
func strange(t *testing.T, w *world) {
	u := w.user(t, "strange")
	u.nulls(t, "a", 1, 10)
	u.export(t)
	name := queue.Name(u.out["Prefix"], u.env, "cloud")
	at, err := w.sqs.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	for i, body := range []string{"", "{", "[]", `{"env":"no such","agent":"cloud"}`,
		strings.Repeat("x", 1000), `{"v":1,"env":"f1/../default","agent":"../x"}`,
		`{"v":1,"env":"ghost","agent":"cloud"}`, `{"v":1,"env":"` + u.env + `","agent":"../x"}`} {
		if body == "" {
			body = " "
		}
		_, err := w.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: at.QueueUrl,
			MessageBody: aws.String(body), MessageGroupId: aws.String("cloud"),
			MessageDeduplicationId: aws.String(u.env + strconv.Itoa(i))})
		if err != nil {
			t.Fatal(err)
		}
	}
	u.nulls(t, "b", 1, 10)
	u.run(t, 0, "export", ".", "--wait", "--timeout", "5m")
	for _, name := range []string{"f1", "ghost"} {
		if out := u.run(t, 0, "environments"); strings.Contains("\n"+string(out), "\n"+name+" ") {
			t.Errorf("a message made an environment %s:\n%s", name, out)
		}
	}
}

// killed: the processes of the handler function are killed again and again while they work.
func killed(t *testing.T, w *world) {
	u := w.user(t, "killed")
	u.nulls(t, "a", 4, 2000)
	u.run(t, 0, "export", ".")
	kills := 0
	until(t, "the handler was killed while there was work", 5*time.Minute, func() bool {
		for _, pid := range processes(w.out["HandlerFunction"]) {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				kills++
			}
		}
		return kills > 0
	})
	t.Logf("killed %d processes", kills)
	began := time.Now()
	// That takes a minute and a half: until messages show again. Each look is a command, and a sweep,
	// which elsewhere comes in a minute, reads all that there is.
	untilEach(t, 10*time.Second, "everything is deployed all the same", 8*time.Minute, func() bool {
		w.sweep(t)
		out, err := u.command(t.Context(), "status", "--json").Output()
		if err != nil {
			return false
		}
		type status struct{ Counts map[string]int }
		s := decode[status](t, out)
		return len(s) > 0 && s[0].Counts["deployed"] == 2000
	})
	t.Logf("recovered in %v", time.Since(began).Round(time.Second))
}

// processes returns those of a function, by their environment.
func processes(function string) []int {
	var out []int
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"),
			"AWS_LAMBDA_FUNCTION_NAME="+function) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil &&
			pid != os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}
