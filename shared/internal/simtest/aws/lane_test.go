package aws

import (
	"context"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// backwards reads the keys of a batch one by one, the last one first, and calls then in between.
type backwards struct {
	dynamo.API
	then func()
}

// BatchGetItem implements dynamo.API.
func (b *backwards) BatchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]item{}}
	for name, ask := range in.RequestItems {
		keys := slices.Clone(ask.Keys)
		slices.Reverse(keys)
		for i, k := range keys {
			if then := b.then; i > 0 && then != nil {
				b.then = nil
				then()
			}
			got, err := b.API.GetItem(ctx, &dynamodb.GetItemInput{TableName: &name, Key: k,
				ConsistentRead: ask.ConsistentRead}, opts...)
			if err != nil {
				return nil, err
			}
			if got.Item != nil {
				out.Responses[name] = append(out.Responses[name], got.Item)
			}
		}
	}
	return out, nil
}

// TestLaneOfAnAgentThatChanges describes an agent in another way while a worker reads its lane: the
// agent that it gets is no older than the schedule, whose claims would be accepted.
func TestLaneOfAnAgentThatChanges(t *testing.T) {
	t.Parallel()
	table, objects := NewTable("t"), NewObjects()
	slow := &backwards{API: table}
	planner, worker := stateOn(t, table, objects, nil), stateOn(t, slow, objects, nil)
	agent := func(host string) []resource.Agent {
		return []resource.Agent{{Name: "a", Transport: "ssh", Lanes: 1,
			Options: map[string]any{"host": host}}}
	}
	plan := leased(t, planner, "plan")
	committed(t, planner, state.Commit{Guard: plan, Plan: true, Agents: agent("old"),
		Rows: []state.Row{rowIn("a/0", "n")}, Env: &state.Env{Name: env}})
	for _, known := range []bool{false, true} {
		if known {
			leased(t, worker, "a/0") // which reads the head
		}
		host := map[bool]string{false: "new", true: "newer"}[known]
		slow.then = func() {
			committed(t, planner, state.Commit{Guard: plan, Plan: true, Agents: agent(host)})
		}
		got, err := worker.Lane(context.Background(), env, "a/0",
			func(state.Schedule, state.Env) bool { return true })
		if err != nil || slow.then != nil {
			t.Fatalf("%v, read at once: %v", err, slow.then != nil)
		}
		now, err := planner.Schedule(context.Background(), env)
		if err != nil {
			t.Fatal(err)
		}
		if got.Schedule.PlanSeq == now.PlanSeq && got.Agent.Options["host"] != host {
			t.Errorf("head known %v: the schedule is that of now, and the agent is at %v", known,
				got.Agent.Options["host"])
		}
	}
}
