//go:build servers

package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
)

// TestOrphansGoAndNothingElse pins that what nothing names is removed, and that everything is still
// there afterwards, however it is stored. Then it drops all actions, and pins that no object is
// left behind of what was merged and dropped.
func TestOrphansGoAndNothingElse(t *testing.T) {
	t.Parallel()
	api, table := client(t, server.DynamoDB, nil)
	objects := &awstest.Objects{}
	c := dynamo.Config{API: api, Table: table, Objects: objects}
	s := open(t, c)
	s.Squeeze()
	g := before(t, s, env)
	if out, err := s.Commit(t.Context(), env, change(g, env)); err != nil ||
		len(out.Conflicts) > 0 {
		t.Fatalf("%v: %+v", err, out)
	}
	l, err := s.Acquire(t.Context(), env, "a/0", "worker#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		r := row("a", 0)
		r.Rev, r.Reason = firstRev(g)+int64(n+1), fmt.Sprint(n)
		in := state.Commit{Guard: state.Guard{Key: l.Key, Fence: l.Fence}, Rows: []state.Row{r},
			Actions: []state.Action{{ID: fmt.Sprintf("b%02d", n), Resource: r.ID,
				Finished: start.Add(time.Minute)}}}
		if out, err := s.Commit(t.Context(), env, in); err != nil || len(out.Conflicts) > 0 {
			t.Fatalf("%v: %+v", err, out)
		}
	}
	for n := range 3 {
		if err := objects.Put(t.Context(), fmt.Sprintf("%032x", n), []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	was, have := snapshot(t, open(t, c), env), objects.Len()
	if n, err := s.DropOrphans(t.Context(), time.Now()); err != nil || n < 3 || n > 6 ||
		objects.Len() != have-n {
		t.Errorf("%v: %d objects removed, want the 3 that nothing names and the few that are "+
			"left of what was merged", err, n)
	}
	if diff := different(was, snapshot(t, open(t, c), env)); diff != "" {
		t.Errorf("something else is gone (-was +is):\n%s", diff)
	}
	if n, err := s.DropActions(t.Context(), env, start.Add(time.Hour)); err != nil || n != 21 {
		t.Errorf("%v: %d actions dropped, want 21", err, n)
	}
	was.Actions = nil
	if diff := different(was, snapshot(t, open(t, c), env)); diff != "" {
		t.Errorf("more than actions is gone (-was +is):\n%s", diff)
	}
	if n, err := s.DropOrphans(t.Context(), time.Now()); err != nil || n > 3 {
		t.Errorf("%v: %d objects were left behind", err, n)
	}
}
