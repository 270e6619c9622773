package remote

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// keepFailure is how long callers of a machine receive a failure without another attempt.
const keepFailure = 15 * time.Second

// Machine keeps a connection with one machine: it opens the connection at the first use, and again
// after it was lost. It is safe for concurrent use; all users share the connection.
type Machine struct {
	// Open makes a connection. Its context is not that of a caller, which may be canceled: it is
	// done when the machine is closed.
	Open func(ctx context.Context) (*Conn, error)
	// Retry is how long an unreachable machine is retried; 0 means 30 s, a negative value means no
	// retry.
	Retry time.Duration

	mu     sync.Mutex
	conn   *Conn
	trying *attempt
	failed error
	until  time.Time // when another attempt is permitted
	closed bool
}

// attempt is one attempt to connect, for which all callers wait.
type attempt struct {
	ended chan struct{}
	stop  context.CancelFunc
	conn  *Conn
	err   error
	last  string // how the previous attempt failed, with mu held; "": it is the first
	moves atomic.Int64
}

// A caller waits for a connection until the attempt has made no progress for stillWait, and at most
// MaxWait. The attempt continues for the next caller.
const (
	stillWait = 45 * time.Second
	MaxWait   = 150 * time.Second
)

// movesKey is the context key of the count of the progress of an attempt.
type movesKey struct{}

// moved reports progress of the attempt to connect that a context belongs to, such as bytes of an
// upload that the machine took.
func moved(ctx context.Context) {
	if n, ok := ctx.Value(movesKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}

// Conn returns the connection. Its error is that of the last attempt, or fault.Unavailable if an
// attempt takes long.
func (m *Machine) Conn(ctx context.Context) (*Conn, error) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, fault.New(fault.Unavailable, "connect", "it was closed")
	}
	if m.conn != nil && m.conn.ctx.Err() == nil {
		defer m.mu.Unlock()
		return m.conn, nil
	}
	if m.failed != nil && time.Now().Before(m.until) {
		defer m.mu.Unlock()
		return nil, m.failed
	}
	a := m.trying
	if a == nil {
		var run context.Context
		a = &attempt{ended: make(chan struct{})}
		run, a.stop = context.WithCancel(context.WithValue(context.WithoutCancel(ctx), movesKey{},
			&a.moves))
		m.trying = a
		go m.try(run, a)
	}
	m.mu.Unlock()
	for waited := time.Duration(0); waited < MaxWait; waited += stillWait {
		moves := a.moves.Load()
		switch ended, err := m.await(ctx, a, min(stillWait, MaxWait-waited)); {
		case err != nil:
			return nil, err
		case ended:
			return a.conn, a.err
		}
		if a.moves.Load() == moves {
			break
		}
	}
	return nil, fault.New(fault.Unavailable, "connect",
		"logging in, or uploading the program, takes longer than %s, and goes on", stillWait).
		WithHint("the next run continues from there; a login that never ends, as " +
			"`ssh HOST true` shows, is often due to a command in the login shell's startup files")
}

// await waits for the end of an attempt, and reports whether it has ended. Its error is that the
// caller has given up.
func (m *Machine) await(ctx context.Context, a *attempt, d time.Duration) (ended bool, err error) {
	over, release := patience.After(d)
	defer release()
	select {
	case <-a.ended:
		return true, nil
	case <-ctx.Done():
		return false, fault.Wrap(fault.Unavailable, "connect", m.gaveUp(ctx, a))
	case <-over:
		return false, nil
	}
}

// gaveUp returns why a caller no longer waits, with the result of the attempts so far.
func (m *Machine) gaveUp(ctx context.Context, a *attempt) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.last == "" {
		return fault.Ended(ctx)
	}
	return fmt.Errorf("%w; before that: %s", fault.Ended(ctx), a.last)
}

// try connects, and retries while the machine is unreachable.
func (m *Machine) try(ctx context.Context, a *attempt) {
	defer a.stop()
	retry := m.Retry
	if retry == 0 {
		retry = 30 * time.Second
	}
	tries, done := patience.WithTimeout(context.WithoutCancel(ctx), retry)
	defer done()
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 4*time.Second) {
		a.conn, a.err = m.Open(ctx)
		passing := provider.ClassOf(a.err) == provider.Retryable &&
			fault.Is(a.err, fault.Unavailable)
		left, _ := patience.Left(tries)
		if a.err == nil || !passing || ctx.Err() != nil || left < pause {
			break
		}
		provider.Waits(ctx, a.err.Error())
		m.mu.Lock()
		a.last = a.err.Error()
		m.mu.Unlock()
		if patience.Sleep(ctx, pause) != nil {
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conn, m.failed, m.trying = a.conn, a.err, nil
	m.until = time.Now().Add(keepFailure)
	if m.closed && m.conn != nil {
		_ = m.conn.Close()
	}
	close(a.ended)
}

// Handler implements provider.Remote.
func (m *Machine) Handler(t schema.Type, h provider.Handler) (provider.Handler, error) {
	return Handler(t, h, m.Conn)
}

// Close ends the connection, and a current attempt.
func (m *Machine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.trying != nil {
		m.trying.stop()
	}
	if m.conn != nil {
		_ = m.conn.Close()
	}
	return nil
}
