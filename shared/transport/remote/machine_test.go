package remote

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"southbound/shared/fault"
	"southbound/shared/provider"
)

// TestMachine pins how often a machine is connected to.
func TestMachine(t *testing.T) {
	t.Parallel()
	passing := fault.New(fault.Unavailable, "connect", "not now")
	lasting := provider.Errorf(provider.Terminal, "%w", fault.New(fault.Denied, "connect", "never"))
	for _, c := range []struct {
		why   string
		retry time.Duration
		errs  []error // of the tries; then it goes well
		tries int32
		want  error
	}{
		{"many callers share one try", 0, nil, 1, nil},
		{"what may pass is tried again", 0, []error{passing}, 2, nil},
		{"for as long as it is worth it, and then nobody tries for a while", 300 * time.Millisecond,
			[]error{passing, passing, passing}, 2, passing},
		{"what lasts is not tried again", 0, []error{lasting}, 1, lasting},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			conn, _ := pair(t, 0, echoType())
			var tries atomic.Int32
			m := &Machine{Retry: c.retry, Open: func(context.Context) (*Conn, error) {
				if n := int(tries.Add(1)); n <= len(c.errs) {
					return nil, c.errs[n-1]
				}
				return conn, nil
			}}
			defer m.Close()
			var told atomic.Int32
			watched := provider.OnWaits(t.Context(), func(string) { told.Add(1) })
			var wait sync.WaitGroup
			for range 5 {
				wait.Go(func() {
					for range 2 {
						if got, err := m.Conn(watched); !errors.Is(err, c.want) ||
							err == nil && got != conn {
							t.Errorf("%v, expected %v", err, c.want)
						}
					}
				})
			}
			wait.Wait()
			if n := tries.Load(); n != c.tries {
				t.Errorf("%d tries, expected %d", n, c.tries)
			}
			if n := told.Load(); n != c.tries-1 {
				t.Errorf("it was said %d times why it is tried again, expected %d", n, c.tries-1)
			}
		})
	}
}

// TestMachineAgain pins that a connection that was cut is replaced, and that a closed machine makes
// none.
func TestMachineAgain(t *testing.T) {
	t.Parallel()
	first, cut := pair(t, 0, echoType())
	second, _ := pair(t, 0, echoType())
	conns := []*Conn{first, second}
	m := &Machine{Open: func(ctx context.Context) (*Conn, error) {
		if len(conns) == 0 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		c := conns[0]
		conns = conns[1:]
		return c, nil
	}}
	if c, err := m.Conn(t.Context()); c != first || err != nil {
		t.Error(err)
	}
	cut()
	<-first.Context().Done()
	if c, err := m.Conn(t.Context()); c != second || err != nil {
		t.Error(err)
	}
	_ = second.Close()
	given, giveUp := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer giveUp()
	if _, err := m.Conn(given); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a caller that gave up: %v", err)
	}
	_ = m.Close()
	if _, err := m.Conn(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a machine that was closed: %v", err)
	}
}

// TestGaveUp wants a caller that gives up to hear why, and what the tries so far came to.
func TestGaveUp(t *testing.T) {
	t.Parallel()
	again := make(chan bool)
	tries := 0
	m := &Machine{Open: func(ctx context.Context) (*Conn, error) {
		if tries++; tries == 1 {
			return nil, fault.New(fault.Unavailable, "dial", "no route to host")
		}
		close(again)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	t.Cleanup(func() { _ = m.Close() })
	ctx, giveUp := context.WithCancelCause(t.Context())
	go func() {
		<-again
		giveUp(fault.New(fault.Timeout, "", "enough"))
	}()
	_, err := m.Conn(ctx)
	if err == nil || err.Error() != "connect: enough; before that: dial: no route to host" ||
		!fault.Is(err, fault.Unavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("%q: %v", fault.KindOf(err), err)
	}
}

// TestWaitForProgress pins how long a caller waits: while an attempt makes progress, up to MaxWait.
func TestWaitForProgress(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.Denied, "log in", "refused")
	for name, c := range map[string]struct {
		every, takes time.Duration // every 0: no progress
		waits        time.Duration
		want         error // nil: the caller gave up
	}{
		"an upload over a slow line":       {30 * time.Second, 2 * time.Minute, 2 * time.Minute, refused},
		"a login that never ends":          {0, time.Hour, stillWait, nil},
		"an upload without end":            {40 * time.Second, time.Hour, MaxWait, nil},
		"a login that is slow but answers": {0, 40 * time.Second, 40 * time.Second, refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &Machine{Open: func(ctx context.Context) (*Conn, error) {
					ends := time.After(c.takes)
					for {
						var next <-chan time.Time
						if c.every > 0 {
							next = time.After(c.every)
						}
						select {
						case <-next:
							moved(ctx)
						case <-ends:
							return nil, refused
						case <-ctx.Done():
							return nil, ctx.Err()
						}
					}
				}}
				defer func() { _ = m.Close() }()
				began := time.Now()
				_, err := m.Conn(t.Context())
				took := time.Since(began).Round(time.Second)
				if took != c.waits || errors.Is(err, refused) != (c.want != nil) {
					t.Errorf("after %s: %v", took, err)
				}
			})
		})
	}
}
