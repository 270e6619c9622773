package patience

import (
	"context"
	"errors"
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
		w := &Wait{f: func() { called = true }, after: func(d time.Duration, f func()) func() bool {
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
