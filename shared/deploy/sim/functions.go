package sim

import (
	"slices"
	"time"

	"southbound/shared/deploy/state"
)

// Functions says how the home with functions is: notices are messages in FIFO queues, and a
// handler function in short-lived processes gets them in batches. What is modelled, and of what:
// docs/design/simulator.md.
type Functions struct {
	Timeout    time.Duration // of the function; its process is killed then
	Margin     time.Duration // before the timeout the function takes no more work
	Visibility time.Duration // how long a message that was delivered is out of sight
	Receives   int           // how often a message is delivered before it is dropped
	Batch      int
}

// fifo is the queue of an agent.
type fifo struct {
	r        *run
	agent    string
	messages []*message // oldest first
	seen     map[int]time.Duration
	planned  bool // a look at the queue is planned
}

// message is a notice in a queue; its group is its lane.
type message struct {
	notice   state.Notice
	hidden   time.Duration // until then
	receives int
}

// batch is one invocation of the handler function.
type batch struct {
	queue    *fifo
	messages []*message
	proc     *process
	began    time.Duration
	over     bool
}

// dedup is how long a queue remembers a deduplication id, also when the message is gone.
const dedup = 5 * time.Minute

func queueOf(r *run, agent string) *fifo {
	q := r.queues[agent]
	if q == nil {
		q = &fifo{r: r, agent: agent, seen: map[int]time.Duration{}}
		r.queues[agent] = q
	}
	return q
}

// put adds a message, unless its deduplication id was used lately.
func (q *fifo) put(notice state.Notice, id int) {
	if at, ok := q.seen[id]; ok && q.r.sched.now < at+dedup {
		q.r.tracef("the notice of %s is swallowed as a duplicate", notice.Lane)
		return
	}
	q.seen[id] = q.r.sched.now
	q.messages = append(q.messages, &message{notice: notice})
	q.schedule(0)
}

// schedule plans a look at the queue by the poller of the function.
func (q *fifo) schedule(in time.Duration) {
	if q.planned && in == 0 {
		return
	}
	q.planned = q.planned || in == 0
	q.r.sched.at(q.r.sched.now+in, func() {
		q.planned = q.planned && in != 0
		q.poll()
	})
}

// poll invokes the function with what can be delivered.
func (q *fifo) poll() {
	r := q.r
	if r.ended {
		return
	}
	p := freeProcess(r)
	if p == nil {
		return // when one is free again it looks
	}
	if take := q.take(); len(take) > 0 {
		q.schedule(r.plan.Functions.Visibility)
		invokeFunction(r, &batch{queue: q, messages: take, proc: p, began: r.sched.now})
		q.schedule(0)
	}
}

// take delivers a batch: the oldest messages of groups of which nothing is under way. What was
// delivered too often is dropped.
func (q *fifo) take() []*message {
	r, f := q.r, q.r.plan.Functions
	blocked := map[string]bool{}
	for _, m := range q.messages {
		blocked[m.notice.Lane] = blocked[m.notice.Lane] || m.hidden > r.sched.now
	}
	var take []*message
	for _, m := range slices.Clone(q.messages) {
		switch {
		case blocked[m.notice.Lane] || len(take) == f.Batch:
		case m.receives == f.Receives:
			r.tracef("a notice of %s is given up after %d deliveries", m.notice.Lane, m.receives)
			q.drop(m)
		default:
			m.receives++
			m.hidden = r.sched.now + f.Visibility
			take = append(take, m)
		}
	}
	return take
}

func (q *fifo) drop(m *message) {
	q.messages = slices.DeleteFunc(q.messages, func(o *message) bool { return o == m })
}

// freeProcess returns a process that serves no batch.
func freeProcess(r *run) *process {
	at := r.sched.rng.IntN(len(r.procs))
	for i := range r.procs {
		if p := r.procs[(at+i)%len(r.procs)]; p != nil && p.batch == nil {
			return p
		}
	}
	return nil
}

// invokeFunction runs the handler function. When its time is over its process is killed in the
// middle of what it does.
func invokeFunction(r *run, b *batch) {
	b.proc.batch = b
	r.sched.at(b.began+r.plan.Functions.Timeout, func() {
		if !b.over && !b.proc.dead && !r.ended {
			r.crash(b.proc, "the timeout of its function")
		}
	})
	r.tracef("%s is invoked with %d messages", b.proc.holder, len(b.messages))
	nextLane(r, b, 0)
}

// nextLane runs the lane of message i of a batch and of those behind it for the same lane, then the
// next; at the end the function answers.
func nextLane(r *run, b *batch, i int) {
	f := r.plan.Functions
	until := b.began + f.Timeout - f.Margin
	for i < len(b.messages) &&
		slices.ContainsFunc(b.messages[:i],
			func(m *message) bool { return m.notice.Lane == b.messages[i].notice.Lane }) {
		i++ // it was answered with the one before
	}
	if i == len(b.messages) || r.sched.now >= until {
		answerLane(r, b, i)
		return
	}
	lane := b.messages[i].notice.Lane
	p := b.proc
	r.task(p, "RunLane "+lane, func(t *task) error {
		t.books.lane = lane
		t.books.until = r.epoch.Add(until)
		out, err := p.engine.RunLane(taskContext{t}, env, lane, t.books.until)
		if p.dead {
			return err
		}
		checkEnded(r, t, lane, err)
		t.books.lane = ""
		switch {
		case err != nil: // a fault of infrastructure: this message and all behind it come again
			answerLane(r, b, i)
			return err
		case out.Busy:
			r.busy(lane)
		case out.More:
			_ = (&notifierPort{p}).Notify(taskContext{t}, env, []state.Notice{{Lane: lane}})
		}
		if !p.dead {
			nextLane(r, b, i+1)
		}
		return nil
	})
}

// answerLane ends an invocation: messages before i are done, unless the answer is lost.
func answerLane(r *run, b *batch, i int) {
	b.over, b.proc.batch = true, nil
	if r.faulty && r.sched.rng.Float64() < r.plan.faults.doubled {
		r.tracef("the answer of %s is lost: its messages come again", b.proc.holder)
		i = 0
	}
	for n, m := range b.messages {
		if n < i {
			b.queue.drop(m)
		}
	}
	pollAll(r)
}

// pollAll lets all queues be looked at: there is a process for them.
func pollAll(r *run) {
	for _, q := range sortedQueues(r.queues) {
		if len(q.messages) > 0 {
			q.schedule(0)
		}
	}
}

func sortedQueues(m map[string]*fifo) []*fifo {
	out := make([]*fifo, 0, len(m))
	for _, q := range m {
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b *fifo) int {
		if a.agent < b.agent {
			return -1
		}
		return 1
	})
	return out
}
