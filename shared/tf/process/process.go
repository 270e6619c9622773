package process

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"southbound/shared/child"
	"southbound/shared/fault"
	"southbound/shared/tf/wire"
)

// process is one process of a provider, from the decision to start it until it has ended. The
// pool's mutex guards the fields of the second group.
//
// Large: it is the record of a process's whole life, whose parts change together.
type process struct {
	pool        *Pool
	key         string
	target      Target
	cancelStart context.CancelFunc
	starting    context.Context
	ready       chan struct{} // closed: started, or err is set
	err         error         // of the start
	client      *wire.Client  // nil: not started
	group       *child.Group  // nil: not started
	output      tail
	dir         string
	gone        chan struct{} // closed: the process has ended, or was never started
	exit        error         // why, once it is gone
	limit       int64         // of memory, in bytes
	ending      sync.Once

	calls   int           // that run or wait for the start
	since   int           // calls since the last Stop
	next    int           // value of since at which the process is drained for a Stop
	used    int64         // order of the last call
	held    int           // reasons for which new calls wait
	drain   bool          // new calls wait until no call runs
	retired bool          // takes no new calls
	timers  []func() bool // of rest and idleness

	interrupts int // so far
}

func newProcess(p *Pool, key string, t Target) *process {
	q := &process{pool: p, key: key, target: t, next: p.limits.Calls,
		ready: make(chan struct{}), gone: make(chan struct{})}
	q.starting, q.cancelStart = context.WithCancel(context.Background())
	return q
}

// begin counts a new call. The caller holds the mutex of the pool.
func (q *process) begin() {
	q.calls++
	q.stopTimers()
}

// call returns a call that begins now.
func (q *process) call() *Call {
	q.pool.mu.Lock()
	defer q.pool.mu.Unlock()
	return &Call{q.client, q, q.interrupts}
}

func (q *process) stopTimers() {
	for _, stop := range q.timers {
		stop()
	}
	q.timers = nil
}

// retire takes the process out of use. It ends when no call runs. The caller holds the mutex.
func (q *process) retire() {
	if q.retired {
		return
	}
	q.retired = true
	q.stopTimers()
	if q.pool.current[q.key] == q {
		delete(q.pool.current, q.key)
	}
	if q.calls == 0 {
		go q.end()
	}
	q.pool.notify()
}

// release ends a call.
func (q *process) release() {
	large := q.large()
	p := q.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uses++
	q.calls--
	q.since++
	q.used = p.uses
	select {
	case <-q.ready:
		if q.err != nil || large {
			q.retire()
		}
	default:
		if q.calls == 0 { // all callers left during the start
			q.cancelStart()
			q.retire()
		}
	}
	switch {
	case q.calls == 0 && q.retired:
		go q.end()
	case q.calls == 0 && q.held == 0 && q.since >= q.next, q.calls == 0 && q.drain:
		q.rest()
	case q.calls == 0:
		q.arm()
	case q.since >= q.next && q.held == 0:
		q.beginDrain()
	}
	p.notify()
}

// arm starts the timers of a process without calls. The caller holds the mutex.
func (q *process) arm() {
	if q.retired || q.held > 0 {
		return
	}
	p := q.pool
	unused := func(f func()) func() {
		used := q.used
		return func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if q.calls == 0 && q.used == used && !q.retired {
				f()
			}
		}
	}
	q.stopTimers()
	if q.since > 0 {
		q.timers = append(q.timers, p.after(p.limits.Rest, unused(q.rest)))
	}
	q.timers = append(q.timers, p.after(p.limits.Idle, unused(q.retire)))
}

// beginDrain makes new calls wait until no call runs, but not longer than the limit. The caller
// holds the mutex.
func (q *process) beginDrain() {
	p := q.pool
	q.drain = true
	q.held++
	stop := p.after(p.limits.Drain, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if q.drain {
			q.drain = false
			q.held--
			q.next = q.since + p.limits.Calls
			p.notify()
		}
	})
	q.timers = append(q.timers, stop)
}

// rest sends Stop while no call runs: providers keep the contexts of all calls until then. New calls
// wait for its answer. The caller holds the mutex.
func (q *process) rest() {
	if q.drain {
		q.drain = false
		q.stopTimers()
	} else {
		q.held++
	}
	go func() {
		p := q.pool
		err := p.within(p.limits.Shutdown, q.client.Stop)
		p.mu.Lock()
		defer p.mu.Unlock()
		q.held--
		q.since, q.next = 0, p.limits.Calls
		if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Canceled) {
			q.retire()
		}
		if q.calls == 0 && len(q.timers) == 0 {
			q.arm()
		}
		p.notify()
	}()
}

// interrupt stops the process until answered is closed, and returns true. If this takes too long, it
// kills the process and returns false. New calls wait, since a Stop would reach them as well.
func (q *process) interrupt(answered <-chan struct{}) bool {
	p := q.pool
	p.mu.Lock()
	q.held++
	q.interrupts++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		q.held--
		p.notify()
	}()
	over := make(chan struct{})
	defer p.after(p.limits.Answer, func() { close(over) })()
	stopping, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-answered:
		case <-over:
		}
	}()
	for {
		// A Stop does not reach a call that is on its way to the provider, so Stop is repeated.
		_ = q.client.Stop(stopping)
		again := make(chan struct{})
		stop := p.after(p.limits.Answer/30, func() { close(again) })
		select {
		case <-answered:
			stop()
			return true
		case <-over:
			stop()
			p.mu.Lock()
			q.retire()
			p.mu.Unlock()
			q.group.Kill()
			return false
		case <-again:
		}
	}
}

// crashed returns the error of a call whose connection was lost.
func (q *process) crashed(err error) error {
	q.pool.mu.Lock()
	q.retire()
	q.pool.mu.Unlock()
	q.group.Kill()
	<-q.gone
	return (&fault.Error{Kind: fault.Unavailable, Op: "call the provider",
		Message: "the process ended during the call" + q.reason(), Err: err}).
		WithHint("run the command again; if the provider ends again, report its output to its authors")
}

// reason returns how the process ended and its last output, as the rest of a sentence.
func (q *process) reason() string {
	var out strings.Builder
	if q.exit != nil {
		fmt.Fprintf(&out, " (%s)", q.exit)
	}
	if text := strings.TrimSpace(q.target.clean(q.output.text())); text != "" {
		fmt.Fprintf(&out, "; its last output: %s", text)
	}
	return out.String()
}

// large reports whether the process needs more memory than allowed.
func (q *process) large() bool {
	select {
	case <-q.ready:
		return q.limit > 0 && memory(q.group.PID()) > q.limit
	default:
		return false
	}
}

// memory returns the resident memory of a process in bytes, or 0 if it is not known.
func memory(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// end ends the process: politely, and then by a signal. It returns when the process is gone.
func (q *process) end() {
	q.ending.Do(func() {
		<-q.ready
		defer q.cancelStart()
		if q.client != nil {
			p := q.pool
			_ = p.within(p.limits.Shutdown, func(ctx context.Context) error {
				if err := q.client.Shutdown(ctx); err != nil {
					return err
				}
				select {
				case <-q.gone:
				case <-ctx.Done():
				}
				return nil
			})
			_ = q.client.Close()
		}
		if q.group != nil {
			q.group.Kill()
		}
		<-q.gone
	})
}

// watch waits for the end of the process, and ends everything that it has started.
func (q *process) watch(finished func()) {
	<-q.group.Exited()
	q.group.Kill()
	q.exit = q.group.Wait()
	finished()
	q.forget()
}

// forget removes a process that has ended, or was not started.
func (q *process) forget() {
	if q.dir != "" {
		_ = os.RemoveAll(q.dir)
	}
	p := q.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	q.retire()
	delete(p.all, q)
	close(q.gone)
	p.notify()
}

// Refused is the error of a provider that does not accept its configuration.
type Refused struct{ Diagnostics []wire.Diagnostic }

// Error implements error.
func (r *Refused) Error() string {
	var all []string
	for _, d := range r.Diagnostics {
		if d.Severity != wire.SeverityWarning {
			all = append(all, strings.TrimSuffix(d.Summary+": "+d.Detail, ": "))
		}
	}
	return strings.Join(all, "; ")
}

// Configure returns a function for Target.Start that passes the configuration to the provider.
// version is the version of Terraform that this program resembles. If schemas is true, it first
// requests the schemas, without which some providers serve no call. The error of a provider that
// rejects the configuration wraps *Refused.
func Configure(
	version string, config wire.DynamicValue, schemas bool,
) func(context.Context, *wire.Client) error {
	return func(ctx context.Context, c *wire.Client) error {
		if schemas {
			_, d, err := c.Schemas(ctx)
			if err != nil || wire.Failed(d) {
				return refusal(d, err)
			}
		}
		prepared, d, err := c.PrepareConfig(ctx, config)
		if err == nil && !wire.Failed(d) {
			d, err = c.Configure(ctx, version, prepared)
		}
		return refusal(d, err)
	}
}

func refusal(d []wire.Diagnostic, err error) error {
	if err != nil || !wire.Failed(d) {
		return err
	}
	return (&fault.Error{Kind: fault.Invalid, Op: "configure the provider", Err: &Refused{d}}).
		WithHint("correct the attribute config of the agent")
}
