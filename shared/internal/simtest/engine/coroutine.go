package engine

import "iter"

// coroutines is a pool of idle coroutines. It reuses their stacks, since growing a new stack costs
// more than most tasks do.
type coroutines struct{ idle []*coroutine }

// coroutine runs tasks sequentially.
type coroutine struct {
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	work  func()
}

// start returns a coroutine that runs work once it is resumed.
func (c *coroutines) start(work func()) *coroutine {
	if last := len(c.idle) - 1; last >= 0 {
		co := c.idle[last]
		c.idle, co.work = c.idle[:last], work
		return co
	}
	co := &coroutine{work: work}
	co.next, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		for {
			co.work()
			co.work = nil
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return co
}

// ended returns a coroutine to the pool after its task has ended.
func (c *coroutines) ended(co *coroutine) { c.idle = append(c.idle, co) }

// close ends all idle coroutines.
func (c *coroutines) close() {
	for _, co := range c.idle {
		co.stop()
	}
	c.idle = nil
}
