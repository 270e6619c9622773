package providertest

import (
	"errors"
	"sync"
)

// ErrStopped is what a Stopper gives the steps that it stops.
var ErrStopped = errors.New("stopped by the test")

// Stopper stops a handler before one of its steps, and before all after it, as if its process had
// been killed there: the handler's test lets each step ask Before, and gives Interrupt to the Case.
// A target that can let its callers wait asks Hold first, and its test gives Stall to the Case. The
// zero value stops nothing. It is safe for concurrent use.
type Stopper struct {
	mu       sync.Mutex
	counting bool
	left     int // steps that are let through
	stopped  bool
	held     *stall // nil: every caller gets an answer
}

// stall is a time in which a target answers nobody any more.
type stall struct {
	left  int // steps that are answered before that
	begin func()
	over  chan struct{}
}

// Before is asked before each step; an error means that the step must not be made.
func (s *Stopper) Before() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.counting {
		return nil
	}
	if s.left == 0 {
		s.stopped = true
		return ErrStopped
	}
	s.left--
	return nil
}

// Interrupt is what Case.Interrupt wants.
func (s *Stopper) Interrupt(n int) (restore func() (stopped bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counting, s.left, s.stopped = true, n, false
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.counting = false
		return s.stopped
	}
}

// Hold is asked before each step by a target that can let its callers wait, without a lock that
// other callers need. It lets the step wait while it is to have no answer; gone is closed when the
// caller has given up, such as the Done of an http.Request's context. An error means that the step
// must not be made, and that the caller gets no answer.
func (s *Stopper) Hold(gone <-chan struct{}) error {
	s.mu.Lock()
	held := s.held
	if held == nil || held.left > 0 {
		if held != nil {
			held.left--
		}
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	held.begin()
	select {
	case <-gone:
	case <-held.over:
	}
	return ErrStopped
}

// Stall is what Case.Stall wants.
func (s *Stopper) Stall(n int) (began <-chan struct{}, restore func()) {
	waits := make(chan struct{})
	held := &stall{left: n, begin: sync.OnceFunc(func() { close(waits) }),
		over: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
	return waits, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held == held {
			s.held = nil
		}
		close(held.over)
	})
}
