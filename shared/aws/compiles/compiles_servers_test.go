//go:build servers

package compiles_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/handlers"
	"southbound/localstack/server"
	"southbound/shared/aws/compiles"
	"southbound/shared/aws/home"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/service/callback"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.MiniStack)) }

// notified takes the notices sent so far, and returns the instances that they name; none: all.
func notified(t *testing.T, h *home.Home) [][]string {
	t.Helper()
	var out [][]string
	for _, m := range messages(t, h) {
		out = append(out, m.Instances)
	}
	return out
}

// messages takes those sent so far.
func messages(t *testing.T, h *home.Home) []compiles.Message {
	t.Helper()
	var out []compiles.Message
	for {
		got, err := h.SQS.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &h.Config.CompileQueue, MaxNumberOfMessages: 10,
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Messages) == 0 {
			return out
		}
		for _, m := range got.Messages {
			said, err := compiles.Decode(*m.Body)
			if err != nil || said.Env != "prod" {
				t.Errorf("%v: %+v", err, said)
			}
			out = append(out, said)
			if _, err := h.SQS.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{
				QueueUrl: &h.Config.CompileQueue, ReceiptHandle: m.ReceiptHandle,
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// customer is a service.
func customer(t *testing.T) definition.Service {
	t.Helper()
	text, err := os.ReadFile("../../service/lifecycle/testdata/service.json")
	if err != nil {
		t.Fatal(err)
	}
	m := new(lifecycle.Machine)
	if err := json.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	return definition.Service{Name: "customer", Default: true, Lifecycle: *m}
}

// TestNotices orders in an environment that rests, and wants the compile function to be told, also
// by the sweep and by what has run resources, and the environment not to rest before the order is
// done.
func TestNotices(t *testing.T) {
	h := hometest.New(t, handlers.All()).Open(t, nil)
	finder := h.OrderFinder()
	ran := func(want ...[]string) {
		t.Helper()
		if err := finder.Ran(t.Context(), "prod", []string{"b", "a", "b"}); err != nil {
			t.Fatal(err)
		}
		if got := notified(t, h); !slices.EqualFunc(want, got, slices.Equal) {
			t.Errorf("notices of %v, expected %v", got, want)
		}
	}
	ran() // nobody offers services: the sets are not those of instances
	finder.Now = func() time.Time { return time.Now().Add(time.Hour) }
	if err := h.Definitions.Put(t.Context(), "prod", "bundle",
		[]definition.Service{customer(t)}); err != nil {
		t.Fatal(err)
	}
	ran([]string{"a", "b"})
	shared := func(want ...[]string) {
		t.Helper()
		if err := finder.Ran(t.Context(), "prod", []string{inventory.Shared}); err != nil {
			t.Fatal(err)
		}
		if got := notified(t, h); !slices.EqualFunc(want, got, slices.Equal) {
			t.Errorf("of what is in no set: notices of %v, expected %v", got, want)
		}
	}
	shared() // nobody follows it
	if _, err := h.Instances.Write(t.Context(), "prod",
		[]inventory.Change{{Record: inventory.Record{
			ID: "follower", Service: "customer", Follows: []string{"x"},
		}}}); err != nil {
		t.Fatal(err)
	}
	shared() // that was just looked
	finder.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	shared([]string{inventory.Shared})

	if err := h.State.Wake(t.Context(), "prod"); err != nil { // it makes the environment
		t.Fatal(err)
	}
	if ok, err := h.State.MarkQuiet(t.Context(), "prod", time.Now().Add(time.Hour)); !ok ||
		err != nil {
		t.Fatalf("it does not rest: %v", err)
	}
	i, err := h.Orders().Create(t.Context(), "prod", orders.Creation{Service: "customer"})
	if err != nil {
		t.Fatal(err)
	}
	if got := notified(t, h); len(got) != 1 || !slices.Equal(got[0], []string{i.ID}) {
		t.Errorf("an order sends notices of %v", got)
	}
	rests, err := h.State.QuietUntil(t.Context())
	if err != nil || !rests["prod"].IsZero() {
		t.Errorf("%v: it rests until %v", err, rests["prod"])
	}
	if ok, err := h.State.MarkQuiet(t.Context(), "prod", time.Now().Add(time.Hour)); ok ||
		err != nil {
		t.Errorf("with an order that is not done it rests: %v, %v", ok, err)
	}
	if rest, err := finder.Sweep(t.Context(), "prod"); rest != time.Hour || err != nil {
		t.Fatalf("%v: it may rest %v", err, rest)
	}
	if got := notified(t, h); len(got) != 1 || got[0] != nil {
		t.Errorf("the sweep sends notices of %v", got)
	}
}

// TestCheckInterval wants the sweep to have all instances of an environment looked at each half
// hour, whatever was begun when, though nothing is due in it.
func TestCheckInterval(t *testing.T) {
	h := hometest.New(t, handlers.All()).Open(t, nil)
	if err := h.Definitions.Put(t.Context(), "prod", "bundle",
		[]definition.Service{customer(t)}); err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	finder := h.OrderFinder()
	for _, c := range []struct {
		minute, want int
		why          string
	}{
		{20, 0, "nothing is due"},
		{29, 0, "the half hour is not over"},
		{30, 1, "nobody has looked for half an hour"},
		{31, 0, "it was just looked"},
		{75, 1, "a sweep came late"},
		{90, 1, "the next half hour is over"},
	} {
		finder.Now = func() time.Time { return noon.Add(time.Duration(c.minute) * time.Minute) }
		if _, err := finder.Sweep(t.Context(), "prod"); err != nil {
			t.Fatal(err)
		}
		if got := notified(t, h); len(got) != c.want || len(got) == 1 && got[0] != nil {
			t.Errorf("minute %d: notices of %v, want %d: %s", c.minute, got, c.want, c.why)
		}
	}
}

// TestLost pins that an order whose notice is lost is accepted, as the sweep sends another.
func TestLost(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, func(c *home.Config) { c.CompileQueue += "-gone" })
	if err := h.Definitions.Put(t.Context(), "prod", "bundle",
		[]definition.Service{customer(t)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if _, err := h.Orders().Create(ctx, "prod", orders.Creation{Service: "customer"}); err != nil {
		t.Error(err)
	}
	if ok, err := h.Instances.Waits(t.Context(), "prod"); !ok || err != nil {
		t.Errorf("nothing waits: %v", err)
	}
}

// TestCalls pins who sends notices of calls: whoever takes an order, and the sweep, when a callback
// may be called; and that an environment does not rest before all is told.
func TestCalls(t *testing.T) {
	h := hometest.New(t, handlers.All()).Open(t, nil)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(h.Definitions.Put(t.Context(), "prod", "bundle", []definition.Service{customer(t)}))
	must(h.State.Wake(t.Context(), "prod"))
	must(h.Callbacks.Register(t.Context(), "prod", callback.Callback{ID: "a"}))
	finder := h.OrderFinder()
	sweep := func() {
		t.Helper()
		_, err := finder.Sweep(t.Context(), "prod")
		must(err)
	}
	calls := func(why string, want int) {
		t.Helper()
		got := 0
		for _, m := range messages(t, h) {
			if m.Calls {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d notices of calls, expected %d", why, got, want)
		}
	}
	rests := func(why string, want bool) {
		t.Helper()
		ok, err := h.State.MarkQuiet(t.Context(), "prod", time.Now().Add(time.Hour))
		if ok != want || err != nil {
			t.Errorf("%s: %v: it rests: %v", why, err, ok)
		}
	}
	i, err := h.Orders().Create(t.Context(), "prod", orders.Creation{Service: "customer"})
	must(err)
	calls("an order", 1)
	r, err := h.Instances.Instance(t.Context(), "prod", i.ID)
	must(err)
	r.Tasks = nil // it is done
	_, err = h.Instances.Write(t.Context(), "prod", []inventory.Change{{Record: r}})
	must(err)
	rests("nothing was told", false)
	sweep()
	calls("the notice was lost", 1)
	must(h.Callbacks.Report(t.Context(), "prod", "a",
		callback.Health{Failures: 1, Next: time.Now().Add(time.Hour)}))
	sweep()
	calls("it failed a moment ago", 0)
	rests("it failed a moment ago", false)
	must(h.Callbacks.Delivered(t.Context(), "prod", i.ID, "a", 1, []string{"a"}))
	sweep()
	calls("all was told", 0)
	rests("all was told", true)
}
