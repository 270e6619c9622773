package platform

import "sync"

// Calls are the calls of handlers of a process that can end them when it is about to end itself.
// A call that is ended has its context cancelled and does not return, so that nothing of it is
// recorded. To the engine that is a crash, which loses nothing.
type Calls struct {
	end chan struct{} // closed when they are ended

	mu      sync.Mutex
	ended   bool
	running int
	idle    chan struct{} // closed when they are ended and none runs any more
}

// NewCalls returns the calls of a process.
func NewCalls() *Calls {
	return &Calls{end: make(chan struct{}), idle: make(chan struct{})}
}

// End ends all calls, and those that are begun later before they do anything. The result is closed
// when the last handler has returned, and so has ended what it had started itself.
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

// mayBeIdle tells who has ended the calls when none runs any more.
func (c *Calls) mayBeIdle() {
	if c.ended && c.running == 0 {
		close(c.idle)
	}
}

// begin counts a call that begins, and returns what counts its end. It does not return when all
// are ended.
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

// ending returns what is closed when the calls are ended; nil, if that cannot be.
func (c *Calls) ending() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.end
}
