//go:build servers

package dynamo_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestFeedNamesResources wants a process that knows the former token to name exactly the resources
// that changed, with three requests, and another process to report any resource.
func TestFeedNamesResources(t *testing.T) {
	t.Parallel()
	_, table := client(t, server.DynamoDB, nil)
	m := &meter.Meter{}
	process := func() *dynamo.State {
		c := awstest.Config(server.URL(server.DynamoDB), nil)
		m.Install(&c)
		return open(t, dynamo.Config{API: dynamodb.NewFromConfig(c), Table: table,
			Objects: &awstest.Objects{}})
	}
	s, ctx := process(), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	plan := before(t, s, env)
	lease, err := s.Acquire(ctx, env, "a/0", "worker#1", start, start.Add(time.Hour))
	must(err)
	g := state.Guard{Key: "a/0", Fence: lease.Fence}
	at, err := s.Changes(ctx, env, "", 0)
	must(err)
	row := func(rev int64) state.Row {
		r := row("a", 0)
		r.Rev = rev
		return r
	}
	for _, c := range []struct {
		why    string
		commit state.Commit
		want   state.Changes
	}{
		{"a result with its action", state.Commit{Guard: g, Rows: []state.Row{row(firstRev(plan))},
			Actions: []state.Action{{ID: "1", Resource: id("a", 0), Finished: start}}},
			state.Changes{Resources: []resource.ID{id("a", 0)}, Kinds: state.ChangedActions}},
		{"the same again", state.Commit{Guard: g, Rows: []state.Row{row(firstRev(plan) + 1)}},
			state.Changes{Resources: []resource.ID{id("a", 0)}}},
		{"a start", state.Commit{Guard: g, Next: []resource.ID{id("a", 1)}, SeenPlan: 1},
			state.Changes{Resources: []resource.ID{id("a", 1)}}},
		{"an end", state.Commit{Guard: g}, state.Changes{Resources: []resource.ID{id("a", 1)}}},
		{"a longer lease", state.Commit{Guard: g, Until: start.Add(2 * time.Hour)}, state.Changes{}},
	} {
		_, err := s.Commit(ctx, env, c.commit)
		must(err)
		m.Take()
		got, err := s.Changes(ctx, env, at.Token, 0)
		must(err)
		used := m.Take()
		if used["DynamoDB.GetItem"].Calls != 1 || used["DynamoDB.Query"].Calls != 2 ||
			len(used) != 2 {
			t.Errorf("%s: requests: %v", c.why, used)
		}
		c.want.Token = got.Token
		if d := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); d != "" || got.Token == at.Token {
			t.Errorf("%s: %s", c.why, d)
		}
		other, err := process().Changes(ctx, env, at.Token, 0)
		must(err)
		if !other.More || other.Token != got.Token {
			t.Errorf("%s: another process: %+v", c.why, other)
		}
		at = got
	}
}
