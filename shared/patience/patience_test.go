package patience

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestPauses pins that a wait counts its steps and not the time that they took: however late each
// timer fires, all of the steps have to pass.
func TestPauses(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, 1, time.Millisecond, time.Second, time.Hour,
		time.Hour + 1} {
		called := false
		var timers []func()
		var asked time.Duration
		clock := time.Unix(0, 0)
		w := &Wait{f: func() { called = true }, now: func() time.Time { return clock }, after: func(
			d time.Duration, f func(),
		) func() bool {
			asked += d
			timers = append(timers, f)
			return func() bool { return true }
		}}
		w.begin(d)
		fired := 0
		for ; len(timers) > 0; fired++ {
			if called {
				t.Fatalf("%s: it is over with a timer left", d)
			}
			f := timers[0]
			timers = timers[1:]
			f() // an hour late, or at its time: the wait cannot tell
		}
		if !called || asked != d {
			t.Errorf("%s: called: %t, waited for %s", d, called, asked)
		}
		if d >= time.Second && (fired < steps || fired > steps+1) {
			t.Errorf("%s: %d steps, expected %d", d, fired, steps)
		}
	}
}

// TestLateEnd pins that a last step that was late is repeated, and how often at most.
func TestLateEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late func(step int) bool
		want int
	}{
		"never":            {func(int) bool { return false }, steps},
		"in the middle":    {func(n int) bool { return n == 7 }, steps},
		"at the end":       {func(n int) bool { return n == steps }, steps + 1},
		"twice at the end": {func(n int) bool { return n == steps || n == steps+1 }, steps + 2},
		"always":           {func(int) bool { return true }, 2 * steps},
	} {
		called, clock, fired := false, time.Unix(0, 0), 0
		var next func()
		w := &Wait{f: func() { called = true }, now: func() time.Time { return clock }, after: func(
			d time.Duration, f func(),
		) func() bool {
			next = func() {
				fired++
				clock = clock.Add(d)
				if c.late(fired) {
					clock = clock.Add(time.Hour)
				}
				f()
			}
			return func() bool { return true }
		}}
		for w.begin(steps * time.Second); !called; {
			next()
		}
		if fired != c.want {
			t.Errorf("late %s: %d steps, expected %d", name, fired, c.want)
		}
	}
}

// TestSilence pins that silence is counted from the last move, with the limit of the moment.
func TestSilence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		moves []time.Duration // after the move before
		limit time.Duration
		want  time.Duration
	}{
		"nothing moves":   {nil, time.Minute, time.Minute},
		"it moves once":   {[]time.Duration{40 * time.Second}, time.Minute, 100 * time.Second},
		"it moves always": {slices.Repeat([]time.Duration{50 * time.Second}, 9), time.Minute, 510 * time.Second},
		"a short limit":   {[]time.Duration{50 * time.Millisecond}, 100 * time.Millisecond, 150 * time.Millisecond},
		"too late":        {[]time.Duration{2 * time.Minute}, time.Minute, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			var moved atomic.Int64
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			over := Silence(ctx, func() time.Duration { return c.limit }, moved.Load)
			go func() {
				for _, d := range c.moves {
					time.Sleep(d)
					moved.Add(1)
				}
			}()
			<-over
			if took := time.Since(began); took < c.want || took > c.want+c.limit/16 {
				t.Errorf("%s: over after %s, expected %s", name, took, c.want)
			}
			time.Sleep(time.Hour) // until all has moved
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	<-Silence(ctx, func() time.Duration { return time.Hour }, func() int64 { return 0 })
}

// TestWithoutTime pins that a context with no time left has ended when it is returned.
func TestWithoutTime(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, -time.Hour} {
		ctx, cancel := WithTimeout(t.Context(), d)
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%s: %v", d, ctx.Err())
		}
		cancel()
	}
}

// TestWithTimeout pins that a context with a limit ends as one of the standard library does, and
// that those that are made of it end with it, with the same error.
func TestWithTimeout(t *testing.T) {
	t.Parallel()
	type key struct{}
	cause := errors.New("the cause")
	for name, c := range map[string]struct {
		end  func(outer context.CancelCauseFunc, own context.CancelFunc)
		want error
		says error
	}{
		"by its limit": {func(context.CancelCauseFunc, context.CancelFunc) {
			time.Sleep(2 * time.Second)
		}, context.DeadlineExceeded, context.DeadlineExceeded},
		"by its owner": {func(_ context.CancelCauseFunc, own context.CancelFunc) { own() },
			context.Canceled, context.Canceled},
		"by the outer one": {func(outer context.CancelCauseFunc, _ context.CancelFunc) {
			outer(cause)
		}, context.Canceled, cause},
	} {
		synctest.Test(t, func(t *testing.T) {
			base := context.WithValue(t.Context(), key{}, "value")
			outer, cancelOuter := context.WithCancelCause(base)
			ctx, cancel := WithTimeout(outer, time.Second)
			inner, cancelInner := context.WithCancel(ctx)
			if ctx.Err() != nil || ctx.Value(key{}) != "value" {
				t.Errorf("%s: %v, %v", name, ctx.Err(), ctx.Value(key{}))
			}
			c.end(cancelOuter, cancel)
			synctest.Wait()
			<-inner.Done()
			if ctx.Err() != c.want || inner.Err() != c.want {
				t.Errorf("%s: %v and %v, expected %v", name, ctx.Err(), inner.Err(), c.want)
			}
			if got := context.Cause(inner); got != c.says {
				t.Errorf("%s: the cause is %v, expected %v", name, got, c.says)
			}
			cancelOuter(nil)
			cancelInner()
			cancel()
			if again, _ := WithTimeout(outer, time.Second); again.Err() == nil {
				t.Errorf("%s: one is made of a context that is over", name)
			}
		})
	}
}

// TestLeft pins that the earliest of all limits of a context counts.
func TestLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		if left, limits := Left(t.Context()); limits {
			t.Errorf("a context without a limit has %s", left)
		}
		hour, cancelHour := WithTimeout(t.Context(), time.Hour)
		defer cancelHour()
		minute, cancelMinute := WithTimeout(hour, time.Minute)
		defer cancelMinute()
		day, cancelDay := WithTimeout(minute, 24*time.Hour)
		defer cancelDay()
		second, cancelSecond := context.WithTimeout(day, time.Second)
		defer cancelSecond()
		for _, c := range []struct {
			ctx  context.Context
			want time.Duration
		}{{hour, time.Hour}, {minute, time.Minute}, {day, time.Minute}, {second, time.Second}} {
			if left, limits := Left(c.ctx); !limits || left != c.want {
				t.Errorf("%s are left, expected %s", left, c.want)
			}
		}
		time.Sleep(2 * time.Minute)
		if left, limits := Left(day); !limits || left != 0 {
			t.Errorf("%s are left of what is over", left)
		}
	})
}
