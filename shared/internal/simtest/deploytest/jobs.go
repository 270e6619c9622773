package deploytest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// JobsHarness is one fresh, empty store of job records, accessed by two processes.
type JobsHarness struct {
	A, B state.Jobs
	// Serial means that a writer whose answer was lost may receive a Conflict.
	Serial bool
}

type jobsCheck struct {
	name string
	run  func(ctx context.Context, t *testing.T, h JobsHarness)
}

// TestJobs runs the conformance suite for Jobs. open returns a new, empty store for each subtest.
func TestJobs(t *testing.T, open func(t *testing.T) JobsHarness) {
	t.Helper()
	for _, c := range jobsChecks() {
		t.Run(c.name, func(t *testing.T) { c.run(t.Context(), t, open(t)) })
	}
}

// jobsNow is the current time in these checks.
var jobsNow = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func job(id, body string) state.Job {
	return state.Job{ID: id, Body: []byte(body), Expires: jobsNow.Add(time.Hour)}
}

// put stores a record and requires success.
func (h JobsHarness) put(ctx context.Context, t *testing.T, env string, j state.Job) state.Job {
	t.Helper()
	rev, err := h.A.PutJob(ctx, env, j, jobsNow)
	noError(t, err)
	if rev <= 0 || rev == j.Rev {
		t.Errorf("%s: revision %d after %d", j.ID, rev, j.Rev)
	}
	j.Rev = rev
	return j
}

// expect pins the records that the other process reads.
func (h JobsHarness) expect(
	ctx context.Context,
	t *testing.T,
	env, begin string,
	now time.Time,
	want ...state.Job,
) {
	t.Helper()
	got, err := h.B.Jobs(ctx, env, begin, now)
	noError(t, err)
	same := slices.EqualFunc(got, want, func(a, b state.Job) bool {
		return a.ID == b.ID && a.Rev == b.Rev && a.Expires.Equal(b.Expires) &&
			bytes.Equal(a.Body, b.Body)
	})
	if !same {
		t.Errorf("%s %q: %+v, want %+v", env, begin, got, want)
	}
}

func conflict(t *testing.T, what string, err error) {
	t.Helper()
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("%s: %v", what, err)
	}
}

func jobsChecks() []jobsCheck {
	return []jobsCheck{
		{"Empty", func(ctx context.Context, t *testing.T, h JobsHarness) {
			h.expect(ctx, t, "e", "", jobsNow)
			stale := job("a", "x")
			stale.Rev = 7
			_, err := h.A.PutJob(ctx, "e", stale, jobsNow)
			conflict(t, "a change of what is not there", err)
			h.expect(ctx, t, "e", "", jobsNow)
		}},
		{"KeepsWhatIsPut", func(ctx context.Context, t *testing.T, h JobsHarness) {
			large := job("large", strings.Repeat("\x00\xff", 50_000))
			h.expect(ctx, t, "e", "large", jobsNow, h.put(ctx, t, "e", large))
		}},
		{"OneOfTwoWins", func(ctx context.Context, t *testing.T, h JobsHarness) {
			first := h.put(ctx, t, "e", job("a", "1"))
			_, err := h.B.PutJob(ctx, "e", job("a", "other"), jobsNow)
			conflict(t, "made twice", err)
			changed := first
			changed.Body = []byte("2")
			second := h.put(ctx, t, "e", changed)
			changed.Body = []byte("late")
			_, err = h.B.PutJob(ctx, "e", changed, jobsNow)
			conflict(t, "changed from what it was", err)
			h.expect(ctx, t, "e", "a", jobsNow, second)
		}},
		{"Expires", func(ctx context.Context, t *testing.T, h JobsHarness) {
			old := h.put(ctx, t, "e", job("a", "old"))
			end := old.Expires
			h.expect(ctx, t, "e", "", end.Add(-time.Second), old)
			h.expect(ctx, t, "e", "", end)
			_, err := h.A.PutJob(ctx, "e", old, end)
			conflict(t, "changed when it was over", err)
			again := job("a", "new")
			again.Expires = end.Add(time.Hour)
			again.Rev, err = h.B.PutJob(ctx, "e", again, end)
			noError(t, err)
			_, err = h.A.PutJob(ctx, "e", old, end)
			conflict(t, "changed by who knew the old one", err)
			h.expect(ctx, t, "e", "", end, again)
		}},
		{"ByBeginningAndEnvironment", func(ctx context.Context, t *testing.T, h JobsHarness) {
			b := h.put(ctx, t, "e", job("b", "1"))
			ab := h.put(ctx, t, "e", job("a/b", "2"))
			a := h.put(ctx, t, "e", job("a", "3"))
			other := h.put(ctx, t, "f", job("a", "4"))
			h.expect(ctx, t, "e", "", jobsNow, a, ab, b)
			h.expect(ctx, t, "e", "a", jobsNow, a, ab)
			h.expect(ctx, t, "e", "a/", jobsNow, ab)
			h.expect(ctx, t, "e", "%", jobsNow)
			h.expect(ctx, t, "f", "", jobsNow, other)
		}},
		{"ManyLarge", func(ctx context.Context, t *testing.T, h JobsHarness) {
			var all []state.Job
			h.put(ctx, t, "e", job("job/1/web%2F1", "a part"))
			for n := range 25 { // more than one answer of a database holds
				all = append(all, h.put(ctx, t, "e", job(fmt.Sprintf("found/1/%05d", n),
					strings.Repeat(string(rune('a'+n)), 90_000))))
			}
			h.put(ctx, t, "e", job("found/10/00000", "of another"))
			h.expect(ctx, t, "e", "found/1/", jobsNow, all...)
		}},
		{"Race", raceForJob},
	}
}

// raceForJob changes a record concurrently from the same revision. In each round, exactly one
// writer succeeds.
func raceForJob(ctx context.Context, t *testing.T, h JobsHarness) {
	now := h.put(ctx, t, "e", job("a", "start"))
	for range 5 {
		var mu sync.Mutex
		var wg sync.WaitGroup
		var won []state.Job
		for i := range 6 {
			wg.Go(func() {
				mine, by := now, h.A
				if i%2 == 1 {
					by = h.B
				}
				mine.Body = []byte{byte('0' + i)}
				rev, err := by.PutJob(ctx, "e", mine, jobsNow)
				mu.Lock()
				defer mu.Unlock()
				if mine.Rev = rev; err == nil {
					won = append(won, mine)
				} else if !fault.Is(err, fault.Conflict) {
					t.Errorf("a race: %v", err)
				}
			})
		}
		wg.Wait()
		if len(won) > 1 || len(won) == 0 && !h.Serial {
			t.Fatalf("%d of several won", len(won))
		}
		got, err := h.B.Jobs(ctx, "e", "a", jobsNow)
		noError(t, err)
		if len(got) != 1 ||
			len(won) == 1 && (got[0].Rev != won[0].Rev || !bytes.Equal(got[0].Body, won[0].Body)) {
			t.Fatalf("%+v, and %+v won", got, won)
		}
		now = got[0]
	}
}
