package engine

import (
	"slices"
	"time"

	"southbound/shared/deploy/state"
)

// Functions models the home with functions: notices are messages in FIFO queues, and a handler
// function in short-lived processes receives them in batches. See docs/design/simulator.md for the
// extent of the model.
type Functions struct {
	Timeout    time.Duration // of the function; its process is then killed
	Margin     time.Duration // time before the timeout from which the function starts no work
	Visibility time.Duration // how long a delivered message stays hidden
	Receives   int           // maximum number of deliveries of a message
	Batch      int
}

// fifo is the queue of an agent.
type fifo struct {
	r        *run
	agent    string
	messages []*message // oldest first
	seen     map[int]time.Duration
	planned  bool // a poll of the queue is scheduled
}

// message is a notice in a queue; its message group is its lane.
type message struct {
	notice   state.Notice
	hidden   time.Duration // until this time
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

// dedup is how long a queue remembers a deduplication id, even if the message has been deleted.
const dedup = 5 * time.Minute

func queueOf(r *run, agent string) *fifo {
	q := r.queues[agent]
	if q == nil {
		q = &fifo{r: r, agent: agent, seen: map[int]time.Duration{}}
		r.queues[agent] = q
	}
	return q
}

// put adds a message, unless its deduplication id was used recently.
func (q *fifo) put(notice state.Notice, id int) {
	if at, ok := q.seen[id]; ok && q.r.sched.now < at+dedup {
		q.r.tracef("the notice of %s is swallowed as a duplicate", notice.Agent)
		return
	}
	q.seen[id] = q.r.sched.now
	q.messages = append(q.messages, &message{notice: notice})
	q.schedule(0)
}

// schedule schedules a poll of the queue.
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

// poll invokes the function with deliverable messages.
func (q *fifo) poll() {
	r := q.r
	if r.ended {
		return
	}
	p := freeProcess(r)
	if p == nil {
		return // the next free process polls again
	}
	if take := q.take(); len(take) > 0 {
		q.schedule(r.plan.Functions.Visibility)
		invokeFunction(r, &batch{queue: q, messages: take, proc: p, began: r.sched.now})
		q.schedule(0)
	}
}

// take delivers a batch: the oldest messages of groups without messages in flight. It drops
// messages that have reached the maximum number of deliveries.
func (q *fifo) take() []*message {
	r, f := q.r, q.r.plan.Functions
	blocked := map[string]bool{}
	for _, m := range q.messages {
		blocked[m.notice.Agent] = blocked[m.notice.Agent] || m.hidden > r.sched.now
	}
	var take []*message
	for _, m := range slices.Clone(q.messages) {
		switch {
		case blocked[m.notice.Agent] || len(take) == f.Batch:
		case m.receives == f.Receives:
			r.tracef("a notice of %s is given up after %d deliveries", m.notice.Agent, m.receives)
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

// freeProcess returns a process without a batch.
func freeProcess(r *run) *process {
	at := r.sched.rng.IntN(len(r.procs))
	for i := range r.procs {
		if p := r.procs[(at+i)%len(r.procs)]; p != nil && p.batch == nil {
			return p
		}
	}
	return nil
}

// invokeFunction runs the handler function. At its timeout, the process is killed in the middle of
// its work.
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

// nextLane runs the lane of message i of a batch, and then the lanes of later messages. It skips
// messages of lanes that it has already run. At the end, the function returns.
func nextLane(r *run, b *batch, i int) {
	f := r.plan.Functions
	until := b.began + f.Timeout - f.Margin
	for i < len(b.messages) &&
		slices.ContainsFunc(b.messages[:i],
			func(m *message) bool { return m.notice.Agent == b.messages[i].notice.Agent }) {
		i++ // answered by the earlier message of the lane
	}
	if i == len(b.messages) || r.sched.now >= until {
		answerLane(r, b, i)
		return
	}
	lane := b.messages[i].notice.Agent
	p := b.proc
	r.task(p, "RunAgent "+lane, func(t *task) error {
		t.books.lane = lane
		t.books.until = r.epoch.Add(until)
		out, err := p.engine.RunAgent(taskContext{t}, env, lane, t.books.until)
		if p.dead {
			return err
		}
		checkEnded(r, t, lane, err)
		t.books.lane = ""
		switch {
		case err != nil: // a fault of infrastructure: the remaining messages return
			answerLane(r, b, i)
			return err
		case out.Busy:
			r.busy(lane)
		case out.More:
			_ = (&notifierPort{p}).Notify(taskContext{t}, env, []state.Notice{{Agent: lane}})
		}
		if !p.dead {
			nextLane(r, b, i+1)
		}
		return nil
	})
}

// answerLane ends an invocation. The messages before i are deleted, unless the answer is lost.
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

// pollAll schedules a poll of all queues, since there is a process for them.
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
