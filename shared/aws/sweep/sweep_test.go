package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/emf"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/platform"
)

// book is environments as a sweep sees them, and notes what it does to them.
type book struct {
	mu       sync.Mutex
	resting  map[string]time.Time
	finished map[string]deploy.SweepResult
	broken   string // this environment cannot be swept
	breaks   int    // so many times; 0: always
	done     []string
	until    map[string]time.Time
	State
}

func (b *book) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, what)
}

func (b *book) count(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, done := range b.done {
		if done == what {
			n++
		}
	}
	return n
}

func (b *book) QuietUntil(context.Context) (map[string]time.Time, error) { return b.resting, nil }

func (b *book) MarkQuiet(_ context.Context, env string, until time.Time) (bool, error) {
	b.note("rest " + env)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until[env] = until
	return true, nil
}

func (b *book) Sweep(_ context.Context, env string) (deploy.SweepResult, error) {
	b.note("sweep " + env)
	if env == b.broken && (b.breaks == 0 || b.count("sweep "+env) <= b.breaks) {
		return deploy.SweepResult{}, fault.New(fault.Unavailable, "read", "the store is away")
	}
	return b.finished[env], nil
}

func (b *book) Collect(_ context.Context, env string, _ time.Duration) (deploy.Collected, error) {
	b.note("collect " + env)
	return deploy.Collected{}, nil
}

func (b *book) Outbox(context.Context, string, int) ([]state.Outbox, error) {
	return []state.Outbox{{At: now.Add(-time.Hour)}}, nil
}

func (b *book) Schedule(context.Context, string, ...string) (state.Schedule, error) {
	return state.Schedule{Tickets: []state.Ticket{{ID: "std::Null[a,name=x]", Agent: "a", N: 1}}},
		nil
}

func (b *book) Leases(context.Context, string) ([]state.Lease, error) {
	return []state.Lease{{Key: "a", Until: now.Add(-5 * time.Minute)}}, nil
}

func (b *book) Agents(context.Context, string, ...string) (map[string]state.Agent, error) {
	return nil, nil
}

func (b *book) Env(context.Context, string) (state.Env, error) { return state.Env{}, nil }

func (b *book) Versions(context.Context, string, ...int) ([]state.Version, error) {
	return nil, nil
}

func (b *book) Check(_ context.Context, env string) (int, error) {
	b.note("check " + env)
	return 1, nil
}

func (b *book) Idle(context.Context) (int, error) {
	b.note("idle")
	return 1, nil
}

func (b *book) Refresh(context.Context) (int, error) { return 0, nil }

func (b *book) CatchUp(_ context.Context, env string) error {
	b.note("log " + env)
	return nil
}

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// stopped is a clock that stands still.
type stopped struct{ platform.Clock }

// Now implements state.Clock.
func (stopped) Now() time.Time { return now }

// Sleep implements state.Clock.
func (stopped) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// services are orders that let an environment rest for a time.
type services struct{ rest time.Duration }

// Sweep implements Orders.
func (s services) Sweep(context.Context, string) (time.Duration, error) { return s.rest, nil }

func newSweeper(b *book) *Sweeper {
	b.until = map[string]time.Time{}
	return &Sweeper{Engine: b, State: b, Queues: b, Catch: b, Clock: stopped{},
		Log: slog.New(slog.DiscardHandler), Metrics: emf.NewSet("test")}
}

// quiet is a minute in which no chore is due.
func quiet(envs ...string) time.Time {
	names := []string{"idle"}
	for _, env := range envs {
		names = append(names, "collect "+env)
	}
	for at := now; ; at = at.Add(time.Minute) {
		if !slices.ContainsFunc(names, func(name string) bool {
			return minuteOf(name) == minute(at)
		}) {
			return at
		}
	}
}

func atMinute(m int) time.Time { return time.Date(2026, 5, 1, m/60, m%60, 59, 0, time.UTC) }

func TestRun(t *testing.T) {
	t.Parallel()
	soon := now.Add(10 * time.Minute)
	for _, c := range []struct {
		reason string
		book   *book
		at     time.Time
		want   []string
		until  map[string]time.Time
		fails  bool
	}{
		{"who rests is left alone", &book{resting: map[string]time.Time{"a": soon}}, quiet("a"),
			nil, nil, false},
		{"what has nothing left rests until its timer, logged",
			&book{resting: map[string]time.Time{"a": {}},
				finished: map[string]deploy.SweepResult{"a": {Next: soon}}}, quiet("a"),
			[]string{"log a", "rest a", "sweep a"}, map[string]time.Time{"a": soon}, false},
		{"without timers it rests a day", &book{resting: map[string]time.Time{"a": now}},
			quiet("a"), []string{"log a", "rest a", "sweep a"},
			map[string]time.Time{"a": now.Add(24 * time.Hour)}, false},
		{"what has work does not rest, and its queues are looked at",
			&book{resting: map[string]time.Time{"a": {}},
				finished: map[string]deploy.SweepResult{"a": {Notified: 1, Next: soon}}},
			quiet("a"), []string{"check a", "sweep a"}, nil, false},
		{"what was just scheduled does not rest",
			&book{resting: map[string]time.Time{"a": {}},
				finished: map[string]deploy.SweepResult{"a": {Due: 1}}}, quiet("a"),
			[]string{"check a", "sweep a"}, nil, false},
		{"one that cannot be swept keeps no other",
			&book{resting: map[string]time.Time{"a": {}, "b": {}}, broken: "a"}, quiet("a", "b"),
			[]string{"log b", "rest b", "sweep a", "sweep a", "sweep a", "sweep a", "sweep b"}, nil,
			true},
		{"one that failed is swept again in the same minute, and no other is",
			&book{resting: map[string]time.Time{"a": {}, "b": {}}, broken: "a", breaks: 2},
			quiet("a", "b"),
			[]string{"log a", "log b", "rest a", "rest b", "sweep a", "sweep a", "sweep a", "sweep b"},
			nil, false},
		{"old things are collected in a minute of the day, also of who rests",
			&book{resting: map[string]time.Time{"a": soon}}, atMinute(minuteOf("collect a")),
			[]string{"collect a"}, nil, false},
		{"idle agents sleep daily", &book{resting: map[string]time.Time{"a": soon}},
			atMinute(minuteOf("idle")), []string{"idle"}, nil, false},
		{"where there is nothing there are no chores", &book{}, atMinute(minuteOf("idle")), nil,
			nil, false},
	} {
		s := newSweeper(c.book)
		err := s.Run(t.Context(), c.at)
		slices.Sort(c.book.done)
		if diff := cmp.Diff(c.want, c.book.done); diff != "" || (err != nil) != c.fails {
			t.Errorf("%s: %v %s", c.reason, err, diff)
		}
		if diff := cmp.Diff(c.until, c.book.until); c.until != nil && diff != "" {
			t.Errorf("%s: %s", c.reason, diff)
		}
	}
}

// passing is a clock that passes only while a sweep sleeps.
type passing struct {
	platform.Clock
	slept time.Duration
}

// Now implements state.Clock.
func (c *passing) Now() time.Time { return now.Add(c.slept) }

// Sleep implements state.Clock.
func (c *passing) Sleep(ctx context.Context, d time.Duration) error {
	c.slept += d
	return ctx.Err()
}

// TestSweepsSoonAfterFaults pins how long lost notices wait after faults: seconds, and never for the
// sweep of the next minute unless a fault lasts.
func TestSweepsSoonAfterFaults(t *testing.T) {
	t.Parallel()
	for faults, want := range []time.Duration{0, 3 * time.Second, 9 * time.Second, 21 * time.Second} {
		b := &book{resting: map[string]time.Time{"a": {}}, broken: "a", breaks: faults}
		if faults == 0 {
			b.broken = ""
		}
		s, clock := newSweeper(b), &passing{}
		s.Clock = clock
		if err := s.Run(t.Context(), quiet("a")); err != nil || clock.slept != want {
			t.Errorf("after %d faults: swept after %v, want %v: %v", faults, clock.slept, want, err)
		}
	}
}

// TestRestWithServices wants an environment with services to be looked at soon enough for an order
// that nobody could notify of.
func TestRestWithServices(t *testing.T) {
	t.Parallel()
	soon := now.Add(10 * time.Minute)
	for _, c := range []struct {
		reason string
		next   time.Time
		rest   time.Duration
		want   time.Time
	}{
		{"it has services", time.Time{}, time.Hour, now.Add(time.Hour)},
		{"a timer comes earlier", soon, time.Hour, soon},
		{"it has none", time.Time{}, 0, now.Add(24 * time.Hour)},
	} {
		b := &book{resting: map[string]time.Time{"a": {}},
			finished: map[string]deploy.SweepResult{"a": {Next: c.next}}}
		s := newSweeper(b)
		s.Orders = services{c.rest}
		if err := s.Run(t.Context(), quiet("a")); err != nil || !b.until["a"].Equal(c.want) {
			t.Errorf("%s: %v: it rests until %v, expected %v", c.reason, err, b.until["a"], c.want)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	b := &book{
		resting:  map[string]time.Time{"a": {}},
		finished: map[string]deploy.SweepResult{"a": {Notified: 2, Due: 1}},
	}
	s := newSweeper(b)
	if err := s.Run(t.Context(), quiet("a")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Metrics.Flush(&out, now, nil); err != nil {
		t.Fatal(err)
	}
	var got struct {
		OldestReadyAge, OutboxAge []float64
		Notified, Due, Unserved   float64
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Notified != 2 || got.Due != 1 ||
		got.Unserved != 1 ||
		!slices.Equal(got.OldestReadyAge, []float64{300}) ||
		!slices.Equal(got.OutboxAge, []float64{3600}) {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestNewWorkIsNotOld pins how old work is said to be that came to an agent which had been idle: as
// old as the minute in which it was seen first, unless it was there before this process.
func TestNewWorkIsNotOld(t *testing.T) {
	t.Parallel()
	none, work := deploy.SweepResult{}, deploy.SweepResult{Notified: 1}
	for _, c := range []struct {
		reason  string
		resting time.Time // before, in the quiet time
		swept   []deploy.SweepResult
		want    float64
	}{
		{"it may have been there before", time.Time{}, []deploy.SweepResult{work}, 300},
		{"it came after a sweep that found none", time.Time{}, []deploy.SweepResult{none, work}, 0},
		{"and is seen again", time.Time{}, []deploy.SweepResult{none, work, work}, 60},
		{"it came while nothing was swept", now.Add(time.Minute),
			[]deploy.SweepResult{none, work}, 0},
		{"it came with the end of the quiet time", now.Add(-30 * time.Second),
			[]deploy.SweepResult{work}, 30},
	} {
		b := &book{resting: map[string]time.Time{"a": c.resting},
			finished: map[string]deploy.SweepResult{}}
		s := newSweeper(b)
		at := &ticking{now: now}
		s.Clock = at
		var out bytes.Buffer
		for i, swept := range c.swept {
			b.finished["a"] = swept
			out.Reset()
			if err := errors.Join(s.Run(t.Context(), quiet("a")),
				s.Metrics.Flush(&out, now, nil)); err != nil {
				t.Fatal(err)
			}
			if i < len(c.swept)-1 {
				at.now = at.now.Add(time.Minute)
			}
		}
		var got struct{ OldestReadyAge []float64 }
		if err := json.Unmarshal(out.Bytes(), &got); err != nil ||
			!slices.Equal(got.OldestReadyAge, []float64{c.want}) {
			t.Errorf("%s: it is %v s old, %v; want %v", c.reason, got.OldestReadyAge, err, c.want)
		}
	}
}

// ticking is a clock that a test moves.
type ticking struct {
	platform.Clock
	now time.Time
}

// Now implements state.Clock.
func (c *ticking) Now() time.Time { return c.now }

// TestTimeIsUp pins that a sweep that runs out of time begins no further environment.
func TestTimeIsUp(t *testing.T) {
	t.Parallel()
	b := &book{resting: map[string]time.Time{"a": {}, "b": {}}}
	ctx, cancel := context.WithDeadline(t.Context(), now.Add(spare))
	defer cancel()
	if err := newSweeper(b).Run(ctx, quiet("a", "b")); err != nil || len(b.done) != 0 {
		t.Errorf("%v: %v", err, b.done)
	}
}
