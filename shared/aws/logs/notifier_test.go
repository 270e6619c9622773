//go:build servers

package logs_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"southbound/localstack/server"
	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/logs"
	"southbound/shared/deploy/state"
)

// TestMessagesMayComeInAnyWay pins that all is found, once, however messages come.
func TestMessagesMayComeInAnyWay(t *testing.T) {
	t.Parallel()
	agents := []string{"a", "b", "c"}
	for _, c := range []struct {
		name string
		// an agent has committed for the nth time
		after func(l *logs.Log, n int, agent string) []events.SQSMessage
		all   bool // is logged by that
	}{
		{"each once",
			func(_ *logs.Log, _ int, agent string) []events.SQSMessage { return notice(agent) },
			true},
		{"doubled, in one batch",
			func(_ *logs.Log, _ int,
				agent string) []events.SQSMessage {
				return notice(agent, agent, agent)
			}, true},
		{"late, and of other agents",
			func(_ *logs.Log, n int,
				_ string) []events.SQSMessage {
				return notice(agents[n%3], agents[(n+1)%3])
			}, false},
		{"lost, all but the last of each agent",
			func(_ *logs.Log, n int, agent string) []events.SQSMessage {
				if n < 9 {
					return nil
				}
				return notice(agent)
			}, true},
		{"lost altogether", func(*logs.Log, int, string) []events.SQSMessage { return nil }, false},
		{"before anything was committed",
			func(_ *logs.Log, _ int, _ string) []events.SQSMessage { return notice("nobody") },
			false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, server.DynamoDB)
			m := &maker{every: time.Second}
			worker := w.process()
			var all []state.Action
			for n := range 12 {
				agent := agents[n%3]
				actions := m.actions(agent[:1], 2, 4)
				commits(t, worker, agent, actions, 2)
				all = append(all, actions...)
				if failed := w.process().Take(t.Context(),
					c.after(worker, n, agent)); failed == nil || len(failed) > 0 {
					t.Errorf("failed: %+v, want an empty list that is not nil", failed)
				}
				want(t, worker, state.ActionQuery{}, newestFirst(all), "at any time")
			}
			if c.all {
				logged(t, worker, "by messages alone")
			}
			if err := w.process().CatchUp(t.Context(), env); err != nil {
				t.Error(err)
			}
			logged(t, worker, "after the sweep")
			want(t, w.process(), state.ActionQuery{}, newestFirst(all), "after the sweep")
			want(t, w.process(), state.ActionQuery{Resource: id("a", 1), Limit: 3},
				ofResource(newestFirst(all), id("a", 1))[:3], "of a resource")
		})
	}
}

func ofResource(actions []state.Action, of any) []state.Action {
	return slices.DeleteFunc(slices.Clone(actions), func(a state.Action) bool {
		return fmt.Sprint(a.Resource) != fmt.Sprint(of)
	})
}

// TestFunctionsRunAtOnce pins that functions that take the same messages at once, while agents go on
// and collections run, neither lose nor double anything.
func TestFunctionsRunAtOnce(t *testing.T) {
	t.Parallel()
	for _, squeeze := range []bool{false, true} {
		t.Run(fmt.Sprint("squeezed=", squeeze), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, server.DynamoDB)
			w.squeeze = squeeze
			m := &maker{every: time.Second}
			worker := w.process()
			var all []state.Action
			done := make(chan struct{})
			var wg sync.WaitGroup
			for range 3 {
				l := w.process()
				wg.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
							if failed := l.Take(t.Context(),
								notice("a", "b")); len(failed) > 0 {
								t.Errorf("failed: %+v", failed)
								return
							}
						}
					}
				})
			}
			wg.Go(func() { // collections, which find nothing that is old
				l := w.process()
				for {
					select {
					case <-done:
						return
					default:
						if n, err := l.State.DropActions(t.Context(), env, start); err != nil ||
							n != 0 {
							t.Errorf("%v: %d dropped", err, n)
							return
						}
					}
				}
			})
			for n := range 10 {
				agent := string(rune('a' + n%2))
				actions := m.actions(agent, 3, 6)
				all = append(all, actions...)
				commits(t, worker, agent, actions, 2)
				want(t, worker, state.ActionQuery{}, newestFirst(all), "while it is logged")
				want(t, worker, state.ActionQuery{Resource: id(agent, 1)},
					ofResource(newestFirst(all), id(agent, 1)), "of a resource, while it is logged")
			}
			close(done)
			wg.Wait()
			if err := worker.CatchUp(t.Context(), env); err != nil {
				t.Error(err)
			}
			logged(t, worker, "at the end")
			want(t, w.process(), state.ActionQuery{}, newestFirst(all), "at the end")
		})
	}
}

// TestForeignMessages pins that what is not a message of ours is passed over, and that the messages
// of agents that fail come again, those of others not.
func TestForeignMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, server.DynamoDB)
	commits(t, w.process(), "a", (&maker{every: time.Second}).actions("a", 1, 1), 1)
	batch := append(notice("a"), events.SQSMessage{MessageId: "x", Body: "{"},
		events.SQSMessage{MessageId: "y", Body: `{"v":2,"env":"e","agent":"l"}`},
		events.SQSMessage{MessageId: "z"})
	if failed := w.process().Take(t.Context(), batch); failed == nil || len(failed) > 0 {
		t.Errorf("failed: %+v", failed)
	}
	logged(t, w.process(), "with foreign messages beside it")
	w.faults = &awstest.Faults{Decide: func(_ string, body []byte) awstest.Fault {
		if strings.Contains(string(body), "Z/prod") {
			return awstest.Drop
		}
		return awstest.None
	}}
	batch = append(notice("a", "b"),
		events.SQSMessage{MessageId: "other", Body: `{"v":1,"env":"test","agent":"a"}`})
	got := w.process().Take(t.Context(), batch)
	if diff := cmp.Diff([]events.SQSBatchItemFailure{{ItemIdentifier: "0"}, {ItemIdentifier: "1"}},
		got); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
}

// TestDamagedLaneIsAlone pins that an agent that cannot be read keeps no other from being logged.
func TestDamagedLaneIsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, server.DynamoDB)
	m := &maker{every: time.Second}
	commits(t, w.process(), "b", m.actions("b", 1, 1), 1)
	api := dynamodb.NewFromConfig(awstest.Config(server.URL(server.DynamoDB), nil))
	items, err := api.Query(t.Context(), &dynamodb.QueryInput{TableName: &w.table,
		KeyConditionExpression:    aws.String("k = :k"),
		ExpressionAttributeValues: attributevalue.Item{":k": attributevalue.Text("Z/" + env)}})
	if err != nil || len(items.Items) != 1 {
		t.Fatalf("%v: %d items of actions", err, len(items.Items))
	}
	items.Items[0]["b"] = attributevalue.Blob([]byte("x"))
	if _, err := api.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &w.table,
		Item: items.Items[0]}); err != nil {
		t.Fatal(err)
	}
	commits(t, w.process(), "a", m.actions("a", 1, 1), 1)
	commits(t, w.process(), "c", m.actions("c", 1, 1), 1)
	failed := w.process().Take(t.Context(), notice("a", "b", "c"))
	if diff := cmp.Diff([]events.SQSBatchItemFailure{{ItemIdentifier: "1"}}, failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	for _, agent := range []string{"a", "c"} {
		if u, err := w.process().State.Unlogged(t.Context(), env, []string{agent}, 1); err != nil ||
			!u.Empty() {
			t.Errorf("%v: agent %s is not logged", err, agent)
		}
	}
}

// TestNotifier sends to a real queue, and pins that what arrives says no more than where to look.
func TestNotifier(t *testing.T) {
	t.Parallel()
	api := sqs.NewFromConfig(awstest.Config(server.URL(server.MiniStack), nil))
	made, err := api.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String(awstest.Unique(t))})
	if err != nil {
		t.Fatal(err)
	}
	var agents []string
	for n := range 13 {
		agents = append(agents, fmt.Sprintf("web%02d", n))
	}
	if err := (&logs.Notifier{API: api, URL: *made.QueueUrl}).
		Notify(t.Context(), env, agents...); err != nil {
		t.Fatal(err)
	}
	var got []string
	for len(got) < len(agents) {
		out, err := api.ReceiveMessage(t.Context(),
			&sqs.ReceiveMessageInput{QueueUrl: made.QueueUrl, MaxNumberOfMessages: 10,
				WaitTimeSeconds: 5})
		if err != nil || len(out.Messages) == 0 {
			t.Fatalf("%v: %d messages came, want %d", err, len(got), len(agents))
		}
		for _, m := range out.Messages {
			in, err := logs.Decode(*m.Body)
			if err != nil || in.Env != env || len(*m.Body) > 60 {
				t.Errorf("%v: %s", err, *m.Body)
			}
			got = append(got, in.Agent)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(agents, got); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
	gone := &logs.Notifier{API: api, URL: *made.QueueUrl + "-gone"}
	if err := gone.Notify(t.Context(), env, "a"); err == nil {
		t.Error("no error where there is no queue")
	}
}
