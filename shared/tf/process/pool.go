// Package process runs Terraform providers: one process for each configuration, shared by all calls
// with this configuration. See docs/design/terraform.md.
package process

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"southbound/shared/child"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/tf/wire"
)

// Limits are the limits of a Pool. A zero value selects the default that the comment names.
type Limits struct {
	Processes int           // that run at a time: 8
	Idle      time.Duration // after which an unused process ends: 1 minute
	Rest      time.Duration // without calls after which a process is stopped: 30 s
	Calls     int           // after which a process is stopped: 500
	Drain     time.Duration // for which calls wait so that a busy process can be stopped: 2 s
	Handshake time.Duration // in which a process has to print its handshake: 1 minute
	Answer    time.Duration // in which a call has to answer after a Stop: 30 s
	Shutdown  time.Duration // in which a process has to end, and to answer a Stop: 5 s
	Memory    int64         // in bytes above which a process is replaced: 1 GiB
}

func (l Limits) withDefaults() Limits {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&l.Idle, time.Minute)
	set(&l.Rest, 30*time.Second)
	set(&l.Drain, 2*time.Second)
	set(&l.Handshake, time.Minute)
	set(&l.Answer, 30*time.Second)
	set(&l.Shutdown, 5*time.Second)
	if l.Processes == 0 {
		l.Processes = 8
	}
	if l.Calls == 0 {
		l.Calls = 500
	}
	if l.Memory == 0 {
		l.Memory = 1 << 30
	}
	return l
}

// Options are the ports of a Pool.
type Options struct {
	Limits Limits
	// Children holds the processes. nil: a table of the pool's own.
	Children *child.Table
	// After calls f after d, unless stop is called first. nil: patience.AfterFunc.
	After func(d time.Duration, f func()) (stop func() bool)
	// Dir is the folder for sockets and home folders. "": the system's folder for temporary files.
	Dir string
}

// Target is a configured provider. Calls to targets with equal Program, Digest, Scope, Environment
// and Config share a process.
type Target struct {
	Program     string   // path of the provider
	Digest      string   // of the program
	Scope       string   // such as the environment: targets of different scopes share nothing
	Environment []string // additional variables, each NAME=VALUE
	Config      wire.DynamicValue
	// Start prepares a started process, such as Configure does. Its error ends the process.
	Start func(ctx context.Context, c *wire.Client) error
	// Clean removes secrets from a text of the provider. nil: texts have none.
	Clean func(text string) string
}

// key returns a text that equals those of targets that share a process.
func (t Target) key() string {
	h := sha256.New()
	add := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	for _, s := range append([]string{t.Program, t.Digest, t.Scope, string(t.Config.Msgpack),
		string(t.Config.JSON)}, t.Environment...) {
		add(s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// cleaned returns an error without secrets in its text.
func (t Target) cleaned(err error) error {
	if err == nil || t.Clean == nil {
		return err
	}
	return &cleaned{err, t.Clean(err.Error())}
}

// cleaned is an error with another text.
type cleaned struct {
	error
	text string
}

// Error implements error.
func (c *cleaned) Error() string { return c.text }

// Unwrap returns the original error.
func (c *cleaned) Unwrap() error { return c.error }

func (t Target) clean(text string) string {
	if t.Clean == nil {
		return text
	}
	return t.Clean(text)
}

// Pool holds the running processes. Its methods may be called concurrently.
type Pool struct {
	limits   Limits
	children *child.Table
	after    func(d time.Duration, f func()) (stop func() bool)
	dir      string

	mu      sync.Mutex
	closed  bool
	current map[string]*process // by key: the process that takes new calls
	all     map[*process]bool   // all that have not ended
	changed chan struct{}       // closed and replaced with each change that a caller may wait for
	uses    int64
}

// New returns a pool without processes. The caller calls Close.
func New(o Options) *Pool {
	p := &Pool{limits: o.Limits.withDefaults(), children: o.Children, after: o.After, dir: o.Dir,
		current: map[string]*process{}, all: map[*process]bool{}, changed: make(chan struct{})}
	if p.children == nil {
		p.children = &child.Table{}
	}
	if p.after == nil {
		p.after = func(d time.Duration, f func()) func() bool { return patience.AfterFunc(d, f).Stop }
	}
	return p
}

// Call is a call to a process.
type Call struct {
	*wire.Client
	process *process
	began   int // interrupts of the process before this call
}

// Interrupted reports whether the process was stopped during this call, by the end of its context or
// by that of another call. Its answer then describes what was done until then.
func (c *Call) Interrupted() bool {
	c.process.pool.mu.Lock()
	defer c.process.pool.mu.Unlock()
	return c.process.interrupts != c.began
}

// Do calls f with a client of the process of a target, which it starts if it does not run. f makes
// one call, with the context that it gets, and does not call Do.
//
// If ctx ends during the call, Do stops the process, so that the provider answers with the state of
// what it has done, and returns the result of f. If there is no answer in time, Do kills the process,
// and the error has the kind of ctx's end. If the process ends during the call, the kind of the error
// is Unavailable, and the next call starts another process.
func (p *Pool) Do(ctx context.Context, t Target, f func(context.Context, *Call) error) error {
	if err := ctx.Err(); err != nil {
		return fault.Wrap(fault.KindOf(err), "call the provider", fault.Ended(ctx))
	}
	q, err := p.acquire(ctx, t)
	if err != nil {
		return err
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	answered, over := make(chan struct{}), make(chan struct{})
	killed := false
	unwatch := context.AfterFunc(ctx, func() {
		defer close(over)
		if killed = !q.interrupt(answered); killed {
			cancel()
		}
	})
	err = func() error {
		defer func() {
			close(answered)
			if !unwatch() {
				<-over
			}
		}()
		return f(inner, q.call())
	}()
	switch {
	case err == nil:
	case killed:
		err = (&fault.Error{Kind: fault.KindOf(ctx.Err()), Op: "call the provider",
			Message: fmt.Sprintf("no answer within %s of the request to stop; the process was killed",
				p.limits.Answer), Err: fault.Ended(ctx)}).
			WithHint("check the target: the effect of the call is not known")
	case errors.Is(err, wire.ErrLost):
		err = q.crashed(err)
	}
	q.release()
	return t.cleaned(err)
}

// acquire returns a started process of a target, with one more call.
func (p *Pool) acquire(ctx context.Context, t Target) (*process, error) {
	key := t.key()
	for {
		q, wait, err := p.find(key, t)
		if err != nil {
			return nil, err
		}
		if q == nil {
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return nil, fault.Wrap(fault.KindOf(ctx.Err()), "wait for the provider", fault.Ended(ctx))
			}
		}
		select {
		case <-q.ready:
			err = q.err
		case <-ctx.Done():
			err = fault.Wrap(fault.KindOf(ctx.Err()), "wait for the provider", fault.Ended(ctx))
		}
		if err != nil {
			q.release()
			return nil, err
		}
		return q, nil
	}
}

// find returns the process for a key with one more call, and starts one if there is room. Otherwise
// it returns a channel that is closed when find may return another result.
func (p *Pool) find(key string, t Target) (*process, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, fault.New(fault.Canceled, "start the provider", "the program is about to end")
	}
	q := p.current[key]
	if q != nil {
		if q.held > 0 {
			return nil, p.changed, nil
		}
		q.begin()
		return q, nil, nil
	}
	if len(p.all) >= p.limits.Processes {
		if least := p.leastUsed(); least != nil && !p.ending() {
			least.retire()
		}
		return nil, p.changed, nil
	}
	q = newProcess(p, key, t)
	p.current[key], p.all[q] = q, true
	q.begin()
	go q.start()
	return q, nil, nil
}

// ending reports whether a process is about to make room. The caller holds p.mu.
func (p *Pool) ending() bool {
	for q := range p.all {
		if q.retired && q.calls == 0 {
			return true
		}
	}
	return false
}

// leastUsed returns the process without calls whose last call is the longest ago, or nil. The caller
// holds p.mu.
func (p *Pool) leastUsed() (least *process) {
	for _, q := range p.current {
		if q.calls == 0 && q.held == 0 && (least == nil || q.used < least.used) {
			least = q
		}
	}
	return least
}

// notify wakes the callers that wait. The caller holds p.mu.
func (p *Pool) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Close ends all processes and returns when they have ended. Calls that run fail.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	all := make([]*process, 0, len(p.all))
	for q := range p.all {
		q.calls++ // ended below, not by retire
		q.retire()
		all = append(all, q)
	}
	p.notify()
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, q := range all {
		wg.Go(func() {
			q.cancelStart()
			<-q.ready
			q.end()
			q.release()
		})
	}
	wg.Wait()
}

// within calls f with a context that ends after d.
func (p *Pool) within(d time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stop := p.after(d, func() { cancel(context.DeadlineExceeded) })
	defer stop()
	return f(ctx)
}
