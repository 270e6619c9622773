//go:build servers

package logs_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/localstack/server"
	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/logs"
	"southbound/shared/deploy/state"
)

// TestExpires pins that what has expired is not shown before TTL has removed it, and that its
// objects are removed, and no others.
func TestExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t, server.DynamoDB)
	now := start.Add(time.Minute)
	w.now = func() time.Time { return now }
	m := &maker{every: time.Second}
	l := w.process()
	large := m.actions("a", 100, 100)
	commits(t, l, "a", large, 50)
	if err := l.CatchUp(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	now = now.Add(24 * time.Hour)
	small := m.actions("b", 1, 1)
	commits(t, l, "b", small, 1)
	if err := l.CatchUp(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	at := now
	objects := w.log.(*objects)
	const kept = 7 * 24 * time.Hour // what the engine keeps where the settings say nothing
	for _, c := range []struct {
		reason  string
		now     time.Time
		want    []state.Action
		objects int
	}{
		{"all is there", at.Add(kept - time.Hour), newestFirst(large, small), 1},
		{"what was logged first has expired; its object stays a while", at.Add(kept + time.Hour),
			small, 1},
		{"its object is gone", at.Add(kept + 54*time.Hour), nil, 0},
	} {
		now = c.now
		want(t, l, state.ActionQuery{}, c.want, c.reason)
		want(t, l, state.ActionQuery{Resource: id("a", 7)}, ofResource(c.want, id("a", 7)),
			c.reason)
		if err := l.Store.Expire(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if n := objects.Len(); n != c.objects {
			t.Errorf("%s: %d objects, want %d", c.reason, n, c.objects)
		}
	}
	// Every item of the log has the attribute by which TTL removes it, and nothing else of the
	// table has it.
	for part, items := range w.items() {
		for _, i := range items {
			if _, has := i[logs.ExpiryAttribute]; has != strings.ContainsAny(part[:1], "TIGH") {
				t.Errorf("item of %s: it has an expiry: %v", part, has)
			}
		}
	}
}

// items returns all items of the table by their partition.
func (w *world) items() map[string][]map[string]any {
	w.t.Helper()
	api := dynamodb.NewFromConfig(awstest.Config(server.URL(w.kind), nil))
	out := map[string][]map[string]any{}
	pages := dynamodb.NewScanPaginator(api, &dynamodb.ScanInput{TableName: &w.table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		for _, i := range page.Items {
			one := map[string]any{}
			for name, v := range i {
				one[name] = v
			}
			part := attributevalue.TextOf(i, "k")
			out[part] = append(out[part], one)
		}
	}
	return out
}

// TestDropMovesTheHorizon pins that dropped actions are counted once, wherever they are, and not
// shown.
func TestDropMovesTheHorizon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, server.DynamoDB)
	m := &maker{every: time.Minute}
	l := w.process()
	a, b := m.actions("a", 70, 140), m.actions("b", 2, 10)
	commits(t, l, "a", a, 30)
	if err := l.CatchUp(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	commits(t, l, "b", b, 2) // not logged
	for _, c := range []struct {
		reason string
		before time.Time
		n      int
		left   []state.Action
	}{
		{"some of what is logged", a[100].Finished, 100, newestFirst(a[100:], b)},
		{"the same again", a[100].Finished, 0, newestFirst(a[100:], b)},
		{"the rest of it, and some of what is not", b[4].Finished, 44, newestFirst(b[4:])},
	} {
		n, err := w.process().State.DropActions(t.Context(), env, c.before)
		if err != nil || n != c.n {
			t.Errorf("%s: %v: %d dropped, want %d", c.reason, err, n, c.n)
		}
		want(t, l, state.ActionQuery{}, c.left, c.reason)
	}
	if err := l.CatchUp(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	want(t, l, state.ActionQuery{}, newestFirst(b[4:]), "logged afterwards")
}

// noise is text that does not compress well.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n))) // the same every time
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(' ' + r.IntN(94))
	}
	return string(out)
}

// TestLoggedItemsGo pins that no item of logged actions is left.
func TestLoggedItemsGo(t *testing.T) {
	t.Parallel()
	const rounds = 20
	for _, squeeze := range []bool{false, true} {
		t.Run(fmt.Sprint("squeezed=", squeeze), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, server.DynamoDB)
			w.squeeze = squeeze
			m := &maker{every: time.Second}
			var all []state.Action
			l := w.process()
			for range rounds {
				actions := m.actions("a", 5, 20)
				all = append(all, actions...)
				commits(t, l, "a", actions, 5)
				if failed := w.process().Take(t.Context(), notice("a")); len(failed) > 0 {
					t.Fatalf("failed: %+v", failed)
				}
			}
			for part, items := range w.items() {
				if strings.HasPrefix(strings.TrimPrefix(part, "p"), "Z/") {
					t.Errorf("%d items of %s are left of %d commits", len(items), part, 4*rounds)
				}
			}
			want(t, w.process(), state.ActionQuery{}, newestFirst(all), "all")
			if n, err := w.process().State.DropActions(t.Context(), env, start); err != nil ||
				n != 0 {
				t.Errorf("%v: %d dropped", err, n)
			}
			want(t, w.process(), state.ActionQuery{}, newestFirst(all), "after a collection")
		})
	}
}

// TestQuietWaitsForTheLog pins that an environment does not rest while something is not logged.
func TestQuietWaitsForTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, server.DynamoDB)
	l := w.process()
	lease, err := l.State.Acquire(t.Context(), env, state.PlanKey, "p#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	g := state.Guard{Key: state.PlanKey, Fence: lease.Fence}
	if _, err := l.State.Commit(t.Context(), env,
		state.Commit{Guard: g, Plan: true, Env: &state.Env{Name: env},
			Parameters: []state.Parameter{
				{Name: "p", Value: "1", Source: "user", Updated: start}}}); err != nil {
		t.Fatal(err)
	}
	if err := l.State.Release(t.Context(), env, lease); err != nil {
		t.Fatal(err)
	}
	rests := func(want bool, reason string) {
		t.Helper()
		if is, err := w.process().State.MarkQuiet(t.Context(), env,
			start.Add(time.Hour)); err != nil || is != want {
			t.Errorf("%s: %v: rests: %v, want %v", reason, err, is, want)
		}
	}
	rests(false, "a parameter is not logged")
	if err := l.CatchUp(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	rests(true, "all is logged")
	commits(t, l, "a", (&maker{every: time.Second}).actions("a", 1, 1), 1)
	if until, err := w.process().State.QuietUntil(t.Context()); err != nil || !until[env].IsZero() {
		t.Errorf("%v: it rests until %v after a commit", err, until)
	}
	rests(false, "an action is not logged")
	if err := l.CatchUp(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	rests(true, "that is logged too")
}
