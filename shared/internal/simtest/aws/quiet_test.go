package aws

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// failing fails queries, and what is written to rest or to end that.
type failing struct {
	dynamo.API
	queries, wakes bool
}

var errFailing = fault.New(fault.Unavailable, "test", "the table fails")

// Query implements dynamo.API.
func (f *failing) Query(
	ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	if f.queries {
		return nil, errFailing
	}
	return f.API.Query(ctx, in, opts...)
}

// PutItem implements dynamo.API.
func (f *failing) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	if f.wakes && dynamo.PurposeOf(ctx).Name == "rest" {
		return nil, errFailing
	}
	return f.API.PutItem(ctx, in, opts...)
}

// TestQuietThatCannotBeTold has the table fail while an environment is looked at, or woken because
// it is not quiet: whoever asked is told, and does not take it for an environment that is busy. In
// neither case does the environment rest.
func TestQuietThatCannotBeTold(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]failing{"looking": {queries: true},
		"waking": {wakes: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, objects := NewTable("t"), NewObjects()
			planner := stateOn(t, table, objects, nil)
			committed(t, planner, state.Commit{Guard: leased(t, planner, "plan"), Plan: true,
				Rows: []state.Row{rowIn("a/0", "n")}, Env: &state.Env{Name: env}})
			fail.API = table
			quiet, err := stateOn(t, &fail, objects, nil).
				MarkQuiet(context.Background(), env, time.Now().Add(time.Hour))
			if quiet || !fault.Is(err, fault.Unavailable) {
				t.Errorf("quiet %v, %v; want the error of the table", quiet, err)
			}
			rests, err := planner.QuietUntil(context.Background())
			if err != nil || !rests[env].IsZero() {
				t.Errorf("it rests: %v, %v", rests, err)
			}
		})
	}
}
