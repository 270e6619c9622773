// Package patience bounds waits by the time that this process had to run. While a process is
// suspended or gets no processor, its waits do not time out. A limit measured by a wall clock would
// be over when the process resumes, before the process has looked at the result.
//
// A wait is divided into steps, each with a timer of its own. A step counts with its nominal
// length, however late its timer fires, so a pause of any length costs one step. A last step that
// is late is repeated, so that the process first sees events that arrived during a pause.
package patience

import (
	"context"
	"sync"
	"time"
)

// steps is the maximum number of consecutive timers in a wait. shortest is the length below which a
// step is not divided further.
const (
	steps    = 64
	shortest = 2 * time.Millisecond
)

// Wait is a pending call of a function.
type Wait struct {
	// after is time.AfterFunc.
	after func(d time.Duration, f func()) (stop func() bool)
	now   func() time.Time
	f     func()

	mu       sync.Mutex
	step     time.Duration
	left     time.Duration // after the current step
	last     time.Duration // length of the current step
	began    time.Time     // start of the current step
	repeated int           // number of late last steps so far
	over     bool          // called or stopped
	stop     func() bool
}

// AfterFunc calls f in its own goroutine after d.
func AfterFunc(d time.Duration, f func()) *Wait {
	w := &Wait{f: f, now: time.Now, after: func(d time.Duration, f func()) func() bool {
		return time.AfterFunc(d, f).Stop
	}}
	w.begin(d)
	return w
}

// begin starts the first step.
func (w *Wait) begin(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.step, w.left = max(d/steps, shortest), d
	w.next()
}

// next starts a step. The caller holds w.mu.
func (w *Wait) next() {
	d := min(w.step, w.left)
	w.left, w.last, w.began = w.left-d, d, w.now()
	w.stop = w.after(d, w.passed)
}

// passed ends a step.
func (w *Wait) passed() {
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		return
	}
	if w.left == 0 && late(w.began, w.now(), w.last) && w.repeated < steps {
		w.left = w.last
		w.repeated++
	}
	if w.left > 0 {
		w.next()
		w.mu.Unlock()
		return
	}
	w.over = true
	w.mu.Unlock()
	w.f()
}

// late reports whether a step took much longer than its length.
func late(began, now time.Time, step time.Duration) bool {
	return now.Sub(began) > 2*step+shortest
}

// Silence returns a channel that is closed when moved has returned the same value for limit, or
// when ctx is done. The limit may change during the wait.
func Silence(
	ctx context.Context, limit func() time.Duration, moved func() int64,
) <-chan struct{} {
	out := make(chan struct{})
	go func() {
		defer close(out)
		last := moved()
		for quiet := time.Duration(0); ; {
			step, began := min(max(limit()/steps, shortest), time.Second), time.Now()
			select {
			case <-ctx.Done():
				return
			case <-time.After(step):
			}
			now := moved()
			if quiet += step; now != last {
				quiet, last = 0, now
			}
			if quiet >= limit() && !late(began, time.Now(), step) || quiet >= 2*limit() {
				return
			}
		}
	}()
	return out
}

// remains returns the time left until the call, to within a step.
func (w *Wait) remains() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return 0
	}
	return w.left + w.last
}

// Stop prevents the call, and reports whether it has prevented it.
func (w *Wait) Stop() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.over
	w.over = true
	w.stop()
	return !was
}

// After returns a channel that is closed after d, and a function that releases the timer earlier.
func After(d time.Duration) (over <-chan struct{}, stop func() bool) {
	ch := make(chan struct{})
	return ch, AfterFunc(d, func() { close(ch) }).Stop
}

// Sleep waits d. If ctx is done first, Sleep returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	over, stop := After(d)
	defer stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WithTimeout returns a context that is done after d, with context.DeadlineExceeded. The context
// has no deadline of its own, since the time of its end is not known in advance.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l := &limited{Context: ctx, done: make(chan struct{})}
	err := ctx.Err()
	if err == nil && d <= 0 {
		err = context.DeadlineExceeded
	}
	if err != nil {
		l.end(err)
		return l, func() {}
	}
	outer := context.AfterFunc(ctx, func() { l.end(ctx.Err()) })
	l.limit = AfterFunc(d, func() { l.end(context.DeadlineExceeded) })
	return l, func() {
		outer()
		l.limit.Stop()
		l.end(context.Canceled)
	}
}

// WithTimeoutCause is WithTimeout with a cause; see context.Cause.
func WithTimeoutCause(
	ctx context.Context, d time.Duration, cause error,
) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := AfterFunc(d, func() { cancel(cause) })
	return ctx, func() {
		limit.Stop()
		cancel(nil)
	}
}

// limited is a context with a time limit.
type limited struct {
	context.Context // the outer one
	done            chan struct{}
	limit           *Wait

	mu  sync.Mutex
	err error
}

// limitKey is the key of a context's innermost limit.
type limitKey struct{}

// Value implements context.Context.
func (l *limited) Value(key any) any {
	if key == (limitKey{}) {
		return l
	}
	return l.Context.Value(key)
}

// Left returns the maximum time that a context has until a limit of WithTimeout or its deadline. It
// returns false if the context has neither.
func Left(ctx context.Context) (left time.Duration, limits bool) {
	if end, has := ctx.Deadline(); has {
		left, limits = time.Until(end), true
	}
	for l, _ := ctx.Value(limitKey{}).(*limited); l != nil; {
		if l.limit != nil {
			if own := l.limit.remains(); !limits || own < left {
				left, limits = own, true
			}
		}
		l, _ = l.Context.Value(limitKey{}).(*limited)
	}
	return left, limits
}

func (l *limited) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		close(l.done)
	}
}

// Done implements context.Context.
func (l *limited) Done() <-chan struct{} { return l.done }

// Err implements context.Context.
func (l *limited) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
