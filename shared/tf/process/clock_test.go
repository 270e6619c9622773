package process_test

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// clock is a clock that the test moves. Its zero value is ready for use.
type clock struct {
	mu     sync.Mutex
	now    time.Duration
	timers []*timer
}

type timer struct {
	d, at time.Duration
	f     func()
}

// after implements the port of a pool.
func (c *clock) after(d time.Duration, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := &timer{d, c.now + d, f}
	c.timers = append(c.timers, one)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.timers, one)
		if i >= 0 {
			c.timers = slices.Delete(c.timers, i, i+1)
		}
		return i >= 0
	}
}

// await waits until a timer of this length is set.
func (c *clock) await(t *testing.T, d time.Duration) {
	t.Helper()
	until(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.ContainsFunc(c.timers, func(o *timer) bool { return o.d == d })
	})
}

// advance moves the clock, and calls the functions that are due.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	c.now += d
	var due []*timer
	c.timers = slices.DeleteFunc(c.timers, func(o *timer) bool {
		if o.at <= c.now {
			due = append(due, o)
		}
		return o.at <= c.now
	})
	c.mu.Unlock()
	slices.SortFunc(due, func(a, b *timer) int { return int(a.at - b.at) })
	for _, o := range due {
		o.f()
	}
}

// until waits for a condition, as long as the test may run.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-t.Context().Done():
			t.Fatal("the test ended first")
		case <-time.After(2 * time.Millisecond):
		}
	}
}
