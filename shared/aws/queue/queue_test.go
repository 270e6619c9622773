//go:build servers

package queue_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/queue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func TestNames(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[A-Za-z0-9_-]{1,75}\.fifo$`)
	seen := map[string]string{}
	long := strings.Repeat("long-", 50)
	for _, agent := range []string{"web1", "Web1", "web/1", "web-1", "web.1", "ü", "ö", "", long,
		long + "x", "a b", "-"} {
		for _, env := range []string{"prod", "Prod", long} {
			name := queue.Name("southbound", env, agent)
			if !valid.MatchString(name) {
				t.Errorf("%q in %q: %q is not a name of a FIFO queue", agent, env, name)
			}
			if other, ok := seen[name]; ok {
				t.Errorf("%q in %q has the queue of %s", agent, env, other)
			}
			seen[name] = fmt.Sprintf("%q in %q", agent, env)
		}
	}
	if a, b := queue.Name("p", "ab", "c"), queue.Name("p", "a", "bc"); a == b {
		t.Errorf("%s serves two agents", a)
	}
}

// fake answers like SQS, with faults.
type fake struct {
	mu     sync.Mutex
	sent   []types.SendMessageBatchRequestEntry
	calls  int
	fail   func(call int, in *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error)
	absent int // times that the queue is reported missing
}

func (f *fake) SendMessageBatch(
	_ context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options),
) (*sqs.SendMessageBatchOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.fail != nil {
		if out, err := f.fail(f.calls, in); out != nil || err != nil {
			return out, err
		}
	}
	f.sent = append(f.sent, in.Entries...)
	return &sqs.SendMessageBatchOutput{}, nil
}

func (*fake) URL(context.Context, string, string) (string, error) { return "url", nil }

func (f *fake) Missing(string, string) { f.absent++ }

func (*fake) Notified(context.Context, string, string) error { return nil }

func notices(n int) []state.Notice {
	out := make([]state.Notice, n)
	for i := range out {
		out[i] = state.Notice{Agent: "a",
			Done: []resource.ID{resource.ID(fmt.Sprintf("std::Null[b,name=%d]", i))}}
	}
	return out
}

func TestFaultsOfSending(t *testing.T) {
	t.Parallel()
	refuse := func(sender bool, ids ...string) *sqs.SendMessageBatchOutput {
		out := &sqs.SendMessageBatchOutput{}
		for _, id := range ids {
			out.Failed = append(out.Failed,
				types.BatchResultErrorEntry{Id: aws.String(id), Code: aws.String("C"),
					SenderFault: sender})
		}
		return out
	}
	missing := &smithy.GenericAPIError{Code: "AWS.SimpleQueueService.NonExistentQueue"}
	for _, c := range []struct {
		reason string
		fail   func(call int, in *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error)
		kind   fault.Kind
		calls  int
	}{
		{"two requests for twelve messages", nil, fault.Unknown, 2},
		{"what SQS refused is sent again",
			func(call int, in *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
				if call == 1 {
					return refuse(false, *in.Entries[3].Id), nil
				}
				return nil, nil
			}, fault.Unknown, 3},
		{"it is not sent for ever",
			func(_ int, in *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
				return refuse(false, *in.Entries[0].Id), nil
			}, fault.Unavailable, 3},
		{"our own mistake is not sent again",
			func(_ int, in *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
				return refuse(true, *in.Entries[0].Id), nil
			}, fault.Internal, 1},
		{"a queue that is gone is made again",
			func(call int, _ *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
				if call == 1 {
					return nil, missing
				}
				return nil, nil
			}, fault.Unknown, 3},
		{"no network", func(int, *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
			return nil, errors.New("connection refused")
		}, fault.Unavailable, 3},
		{"a request that failed is sent again",
			func(call int, _ *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
				if call == 1 {
					return nil, errors.New("connection reset")
				}
				return nil, nil
			}, fault.Unknown, 3},
	} {
		f := &fake{fail: c.fail}
		err := queue.NewNotifier(f, f).Notify(t.Context(), "e", notices(12))
		if fault.KindOf(err) != c.kind || f.calls != c.calls {
			t.Errorf("%s: %v after %d calls, want %d", c.reason, err, f.calls, c.calls)
		}
	}
}

// TestEveryDispatchIsNew pins that no deduplication id comes twice, also from other processes, and
// that an agent is a group.
func TestEveryDispatchIsNew(t *testing.T) {
	t.Parallel()
	f := &fake{}
	for range 3 {
		if err := queue.NewNotifier(f, f).Notify(t.Context(), "e", notices(5)); err != nil {
			t.Fatal(err)
		}
	}
	ids, groups := map[string]bool{}, map[string]bool{}
	for _, m := range f.sent {
		ids[*m.MessageDeduplicationId], groups[*m.MessageGroupId] = true, true
	}
	if len(ids) != 15 || len(groups) != 1 {
		t.Errorf("%d ids and %d groups of 15 messages to an agent", len(ids), len(groups))
	}
	long := state.Notice{Agent: "ünicode agent/" + strings.Repeat("0", 200),
		Done: []resource.ID{"x"}}
	if err := queue.NewNotifier(f, f).Notify(t.Context(), "e", []state.Notice{long}); err != nil {
		t.Fatal(err)
	}
	if g := *f.sent[15].MessageGroupId; !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(g) {
		t.Errorf("group %q", g)
	}
}

// TestPartsAreDeliveredApart pins that a message about a part of a job is delivered as that, beside
// those of the lane that it names for who does not know jobs, and waits for none of them.
func TestPartsAreDeliveredApart(t *testing.T) {
	t.Parallel()
	f := &fake{}
	b := queue.NewNotifier(f, f)
	for _, err := range []error{
		b.Notify(t.Context(), "e", []state.Notice{{Agent: "a", Done: []resource.ID{"x"}}}),
		b.NotifyRunner(t.Context(), "e", "a", "1/a"), b.NotifyRunner(t.Context(), "e", "a", "1/a"),
		b.NotifyRunner(t.Context(), "e", "a", "2/a"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var messages []queue.Message
	groups := map[string]bool{}
	for _, m := range f.sent {
		got, err := queue.Decode(*m.MessageBody)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, got.Each()...)
		groups[*m.MessageGroupId] = true
	}
	deliveries := queue.Merge(messages)
	if len(groups) != 3 || len(deliveries) != 3 || deliveries[0].Job != "" ||
		len(deliveries[0].Done) != 1 ||
		deliveries[1].Job != "1/a" || deliveries[2].Job != "2/a" || deliveries[2].Agent != "a" {
		t.Errorf("%v: %+v", groups, deliveries)
	}
}

func TestForeignMessagesNotifyNobody(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "x", "{}", `{"v":2,"env":"e","agent":"a"}`,
		`{"v":1,"env":"e"}`, `{"v":1,"agent":"a"}`, `{"v":1,"env":"f1/../default","agent":"a"}`,
		`{"v":1,"env":"e","agent":"a\n"}`, `{"v":1,"env":"e","agent":"\u0000plan"}`,
		`{"v":1,"env":"e","agent":"a","with":["b",""]}`} {
		if _, err := queue.Decode(body); !fault.Is(err, fault.Foreign) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// TestTwoMakeAQueueAtOnce pins that a queue is there once, whoever comes first, and that one that
// was deleted comes back.
func TestTwoMakeAQueueAtOnce(t *testing.T) {
	t.Parallel()
	api, prefix := client(server.MiniStack), awstest.Unique(t)
	urls := make([]string, 4)
	var wg sync.WaitGroup
	var made sync.Map
	for i := range urls {
		q := &queue.Queues{API: api, Prefix: prefix, Tags: map[string]string{"n": "same"},
			Made: func(_ context.Context, _, agent, url string) error {
				made.Store(agent, url)
				return nil
			}}
		wg.Go(func() {
			var err error
			if urls[i], err = q.URL(t.Context(), "e", "a"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, u := range urls {
		if u != urls[0] || u == "" {
			t.Errorf("queues %v", urls)
		}
	}
	if url, _ := made.Load("a"); url != urls[0] {
		t.Errorf("made %v", url)
	}
	q := &queue.Queues{API: api, Prefix: prefix}
	notifier := queue.NewNotifier(api, q)
	if err := notifier.Notify(t.Context(), "e", notices(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := api.DeleteQueue(t.Context(),
		&sqs.DeleteQueueInput{QueueUrl: &urls[0]}); err != nil {
		t.Fatal(err)
	}
	if err := notifier.Notify(t.Context(), "e", notices(1)); err != nil {
		t.Errorf("after the queue was deleted: %v", err)
	}
}

// TestLaterIsDeliveredAgain pins that a message that was put off comes back, and that until then it
// blocks the other messages of its agent, and no parts of jobs.
func TestLaterIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	api := client(server.MiniStack)
	q := &queue.Queues{API: api, Prefix: awstest.Unique(t)}
	notifier := queue.NewNotifier(api, q)
	url, err := q.URL(t.Context(), "e", "a")
	if err != nil {
		t.Fatal(err)
	}
	l := &queue.Listener{API: api, URL: url, Hide: time.Minute}
	receive := func(want ...string) []queue.Delivery {
		t.Helper()
		deliveries, err := l.Receive(t.Context(), 0)
		var got []string
		for _, h := range deliveries {
			got = append(got, h.Agent+h.Job)
		}
		if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("%v: heard %v, want %v", err, got, want)
		}
		return deliveries
	}
	if err := notifier.Notify(t.Context(), "e", notices(1)); err != nil {
		t.Fatal(err)
	}
	first := receive("a")
	if err := notifier.Notify(t.Context(), "e", notices(1)); err != nil {
		t.Fatal(err)
	}
	if err := notifier.NotifyRunner(t.Context(), "e", "a", "/1"); err != nil {
		t.Fatal(err)
	}
	second := receive("a/1")
	if err := l.Later(t.Context(), 0, first...); err != nil {
		t.Fatal(err)
	}
	third := receive("a")
	if err := l.Done(t.Context(), append(second, third...)...); err != nil {
		t.Fatal(err)
	}
	receive()
}

// TestQueueIsMadeAsAsked pins, on both servers, that making a queue again is not an error, and that
// one with other attributes gets those that it should have.
func TestQueueIsMadeAsAsked(t *testing.T) {
	t.Parallel()
	for _, kind := range server.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			api, prefix := client(kind), awstest.Unique(t)[:17]
			dead, err := api.CreateQueue(t.Context(),
				&sqs.CreateQueueInput{QueueName: aws.String("dead-" + prefix + ".fifo"),
					Attributes: map[string]string{"FifoQueue": "true"}})
			if err != nil {
				t.Fatal(err)
			}
			attributes := func(url string) map[string]string {
				t.Helper()
				out, err := api.GetQueueAttributes(t.Context(),
					&sqs.GetQueueAttributesInput{QueueUrl: &url,
						AttributeNames: []types.QueueAttributeName{"All"}})
				if err != nil {
					t.Fatal(err)
				}
				return out.Attributes
			}
			arn := attributes(*dead.QueueUrl)["QueueArn"]
			made := 0
			var first string
			for _, hidden := range []string{"60", "60", "120"} {
				q := &queue.Queues{API: api, Prefix: prefix,
					Tags: map[string]string{"southbound:prefix": prefix},
					Attributes: map[string]string{"VisibilityTimeout": hidden,
						"MessageRetentionPeriod": "86400", "SqsManagedSseEnabled": "true",
						"RedrivePolicy": fmt.Sprintf(
							`{"deadLetterTargetArn":%q,"maxReceiveCount":"20"}`, arn)},
					Made: func(context.Context, string, string, string) error {
						made++
						return nil
					}}
				url, err := q.Make(t.Context(), "prod", "odd name/日本")
				if err != nil {
					t.Fatal(err)
				}
				if first == "" {
					first = url
				}
				if have := attributes(url); url != first || have["VisibilityTimeout"] != hidden ||
					!strings.Contains(have["RedrivePolicy"], arn) {
					t.Errorf("%s: %v", url, have)
				}
				tags, err := api.ListQueueTags(t.Context(), &sqs.ListQueueTagsInput{QueueUrl: &url})
				if err != nil {
					t.Fatal(err)
				}
				if env, agent, ok := queue.OwnerOf(tags.Tags); !ok || env != "prod" ||
					agent != "odd name/日本" {
					t.Errorf("the tags %v say %q in %q", tags.Tags, agent, env)
				}
			}
			if made != 3 {
				t.Errorf("Made was called %d times", made)
			}
			fixed := &queue.Queues{API: api, Prefix: prefix, Fixed: true}
			if _, err := fixed.URL(t.Context(), "prod", "nobody"); !fault.Is(err, fault.NotFound) {
				t.Errorf("a queue that is not there, by who may make none: %v", err)
			}
			if url, err := fixed.URL(t.Context(), "prod", "odd name/日本"); err != nil ||
				url != first {
				t.Errorf("%v: %s", err, url)
			}
		})
	}
}
