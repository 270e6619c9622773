//go:build servers

package dynamo_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
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
	kept := state.Kept{ID: "t::T[a,name=kept]", Revision: "1", Sealed: noisy(10_000)}
	if _, err := s.Commit(t.Context(), env, state.Commit{Guard: state.Guard{Key: l.Key,
		Fence: l.Fence}, Keep: []state.Kept{kept}}); err != nil {
		t.Fatal(err)
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
	if got, err := open(t, c).Kept(t.Context(), env, []resource.ID{kept.ID}); err != nil ||
		len(got) != 1 || !bytes.Equal(got[0].Sealed, kept.Sealed) {
		t.Errorf("a kept state is gone: %v", err)
	}
	was.Actions = nil
	if diff := different(was, snapshot(t, open(t, c), env)); diff != "" {
		t.Errorf("more than actions is gone (-was +is):\n%s", diff)
	}
	if n, err := s.DropOrphans(t.Context(), time.Now()); err != nil || n > 3 {
		t.Errorf("%v: %d objects were left behind", err, n)
	}
}

// noisy returns n bytes that do not compress.
func noisy(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.Read(out)
	return out
}

// again is DynamoDB while somebody writes what is to be removed once more.
type again struct {
	dynamo.API
	write *dynamodb.PutItemInput
}

func (a again) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	if _, err := a.PutItem(ctx, a.write); err != nil {
		return nil, err
	}
	return a.API.TransactWriteItems(ctx, in, opts...)
}

// TestPiecesThatNothingNames pins that a piece of a tablet that nothing names is removed once it is
// old, unless it is written again meanwhile: then a record may be about to name it.
func TestPiecesThatNothingNames(t *testing.T) {
	t.Parallel()
	api, table := client(t, server.DynamoDB, nil)
	c := dynamo.Config{API: api, Table: table, Objects: &awstest.Objects{}}
	s := open(t, c)
	s.SqueezeItems()
	g := before(t, s, env)
	if out, err := s.Commit(t.Context(), env, change(g, env)); err != nil ||
		len(out.Conflicts) > 0 {
		t.Fatalf("%v: %+v", err, out)
	}
	piece := func(sort string, written time.Time) *dynamodb.PutItemInput {
		return &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
			"k": &types.AttributeValueMemberS{Value: "R/" + env},
			"s": &types.AttributeValueMemberS{Value: sort},
			"t": &types.AttributeValueMemberN{Value: strconv.FormatInt(written.Unix(), 10)},
		}}
	}
	stands := func(sort string) bool {
		in := piece(sort, time.Time{})
		delete(in.Item, "t")
		out, err := api.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table,
			Key: in.Item, ConsistentRead: aws.Bool(true)})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Item) > 0
	}
	now := time.Now()
	for _, tc := range []struct {
		why      string
		written  time.Time
		again    bool
		leftover bool
	}{
		{"old", now.Add(-2 * time.Hour), false, false},
		{"young", now, false, true},
		{"old, and written again", now.Add(-2 * time.Hour), true, true},
	} {
		was := snapshot(t, open(t, c), env)
		sort := "l/=a/0/1-2-" + tc.why
		if _, err := api.PutItem(t.Context(), piece(sort, tc.written)); err != nil {
			t.Fatal(err)
		}
		with := c
		if tc.again {
			with.API = again{api, piece(sort, now)}
		}
		n, err := open(t, with).DropOrphans(t.Context(), now.Add(-time.Hour))
		if left := stands(sort); err != nil || left != tc.leftover || (n == 0) != tc.leftover {
			t.Errorf("%s: %v: %d removed, still there: %v", tc.why, err, n, left)
		}
		if diff := different(was, snapshot(t, open(t, c), env)); diff != "" {
			t.Errorf("%s: something else is gone (-was +is):\n%s", tc.why, diff)
		}
	}
}
