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

// TestOverviewOfWhatEndsMeanwhile ends the only thing that is scheduled, of which an event follows,
// while somebody in the same process reads an overview: that never says that nothing is left to do.
func TestOverviewOfWhatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	table, objects := NewTable("t"), NewObjects()
	table.Page = func() int { return 1 }
	slow := &parted{API: table}
	planner, worker := stateOn(t, table, objects, nil), stateOn(t, slow, objects, nil)
	row := rowIn("a/0", "n")
	plan := leased(t, planner, "plan")
	committed(t, planner, state.Commit{Guard: plan, Plan: true,
		Rows: []state.Row{row, rowIn("a/1", "o")}, Env: &state.Env{Name: env}})
	other := rowIn("a/1", "o")
	other.Rev, other.Observed = 1, other.Generation
	committed(t, worker, state.Commit{Guard: leased(t, worker, "a/1"), Rows: []state.Row{other}})
	guard := leased(t, worker, "a/0")
	slow.then = func() {
		row.Rev, row.Observed, row.Compliance = 1, row.Generation, state.Compliant
		row.LastRun, row.Deployed = state.RunSuccess, row.Hash
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		committed(t, worker, state.Commit{Guard: guard, Rows: []state.Row{row},
			AddOutbox: []state.Outbox{{ID: "1", Kind: state.OutboxEvent, Of: row.ID, At: at}}})
		if _, err := worker.LaneRows(context.Background(), env, "a/0", true); err != nil {
			t.Error(err) // and the process knows of it
		}
	}
	out, err := worker.Overview(context.Background(), env)
	if slow.then != nil {
		t.Fatal("nothing was read in parts")
	}
	if err != nil || out.Outbox+len(out.Waiting) == 0 {
		t.Errorf("%+v, %v: it says that nothing is left to do", out, err)
	}
}

// unresting calls then before each query.
type unresting struct {
	dynamo.API
	then func()
}

// Query implements dynamo.API.
func (b *unresting) Query(
	ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	b.then()
	return b.API.Query(ctx, in, opts...)
}

// TestReadingWhileOthersPlan plans whenever a schedule is read in which nothing is left: that ends,
// and says that it may be tried again.
func TestReadingWhileOthersPlan(t *testing.T) {
	t.Parallel()
	table, objects := NewTable("t"), NewObjects()
	planner := stateOn(t, table, objects, nil)
	plan := leased(t, planner, "plan")
	rows := []state.Row{rowIn("a/0", "n"), rowIn("a/1", "o")}
	rows[0].Generation, rows[1].Generation = 0, 0
	committed(t, planner, state.Commit{Guard: plan, Plan: true, Rows: rows,
		Env: &state.Env{Name: env}})
	for name, read := range map[string]func(context.Context, *dynamo.State) error{
		"schedule": func(ctx context.Context, s *dynamo.State) error {
			_, err := s.Schedule(ctx, env)
			return err
		},
		"overview": func(ctx context.Context, s *dynamo.State) error {
			_, err := s.Overview(ctx, env)
			return err
		},
	} {
		api, queries := &unresting{API: table}, 0
		api.then = func() {
			committed(t, planner, state.Commit{Guard: plan, Plan: true})
			if queries++; queries > 1000 {
				t.Fatalf("%s does not end", name)
			}
		}
		reader, err := dynamo.New(dynamo.Config{API: api, Table: "t", Objects: objects,
			Host: dynamo.Host{Plain: true, Each: oneByOne,
				Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}})
		if err != nil {
			t.Fatal(err)
		}
		if err := read(context.Background(), reader); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s, after %d queries: %v", name, queries, err)
		}
	}
}
