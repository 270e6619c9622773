package platform

import "sync"

// Calls tracks the handler calls of a process, and aborts them when the process is about to end. An
// aborted call has its context cancelled and does not return, so its result is not recorded. The
// engine treats it as a crash, which loses nothing.
type Calls struct {
	end chan struct{} // closed when the calls are aborted

	mu      sync.Mutex
	ended   bool
	running int
	idle    chan struct{} // closed when the calls are aborted and none is running
}

// NewCalls returns an empty set of calls.
func NewCalls() *Calls {
	return &Calls{end: make(chan struct{}), idle: make(chan struct{})}
}

// End aborts all calls. Later calls are aborted before they do anything. The returned channel is
// closed when the last handler has returned, and thus has ended the processes that it started.
func (c *Calls) End() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended = true
		close(c.end)
		c.mayBeIdle()
	}
	return c.idle
}

// mayBeIdle closes idle if the calls are aborted and none is running.
func (c *Calls) mayBeIdle() {
	if c.ended && c.running == 0 {
		close(c.idle)
	}
}

// begin counts a call, and returns the function that ends it. If the calls are aborted, begin does
// not return.
func (c *Calls) begin() (ended func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	over := c.ended
	if !over {
		c.running++
	}
	c.mu.Unlock()
	if over {
		select {}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running--
		c.mayBeIdle()
	}
}

// ending returns the channel that is closed when the calls are aborted. It is nil if c is nil.
func (c *Calls) ending() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.end
}
