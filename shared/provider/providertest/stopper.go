package providertest

import (
	"errors"
	"sync"
)

// ErrStopped is the error that a Stopper returns for the steps that it stops.
var ErrStopped = errors.New("stopped by the test")

// Stopper stops a handler before one of its steps, and before all later steps, as if its process
// had been killed there. The handler's test calls Before for each step, and sets the Case's
// Interrupt to that of the Stopper. The zero value stops nothing. It is safe for concurrent use.
type Stopper struct {
	mu       sync.Mutex
	counting bool
	left     int // steps that may still run
	stopped  bool
}

// Before is called before each step; after an error, the step must not be made.
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

// Interrupt implements Case.Interrupt.
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
