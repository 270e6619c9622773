package sim

import "iter"

// coroutines are those in which no task runs, for the next ones: a stack that has grown once need
// not grow again, which costs more than most tasks do.
type coroutines struct{ idle []*coroutine }

// coroutine runs tasks, one after the other.
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

// ended takes back a coroutine whose task has ended.
func (c *coroutines) ended(co *coroutine) { c.idle = append(c.idle, co) }

// close ends all that are idle.
func (c *coroutines) close() {
	for _, co := range c.idle {
		co.stop()
	}
	c.idle = nil
}
