package provision

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"southbound/shared/aws/queue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// A planner notifies while it holds the lease of the plan, which ends after a minute. Making a
// queue and a mapping takes seconds, and Lambda allows an account 15 requests a second about
// mappings: so what a notice finds missing or disabled is only noted, and prepared when the lease
// was given back.

const (
	sideBySide = 16 // agents that are prepared at once
	// between two of them: Lambda takes 15 requests a second from an account, and an agent up to
	// two
	prepareGap = 160 * time.Millisecond
)

// Notifier returns one that sends what can be sent at once, and puts off agents whose queue is
// not there or that may be disabled. Prepare has to be called after it was used.
func (p *Provisioner) Notifier() *queue.Notifier {
	known := &queue.Queues{API: p.SQS, Prefix: p.Prefix, Base: p.Base, Fixed: true,
		OnNotified: func(_ context.Context, env, agent string) error {
			if p.mayBeIdle(owner{env, agent}) {
				p.PutOff(env, agent, nil)
			}
			return nil
		}}
	b := queue.NewNotifier(p.SQS, known)
	b.PutOff = p.PutOff
	return b
}

// deferred are agents that were put off.
type deferred struct {
	mu      sync.Mutex
	waiting map[owner]map[string]bool // the lanes that are to be notified; guarded by mu
}

// PutOff notes that an agent has to be prepared, and which of its lanes are to be notified then.
func (d *deferred) PutOff(env, agent string, notices []state.Notice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	lanes := d.waiting[owner{env, agent}]
	if lanes == nil {
		lanes = map[string]bool{}
		d.waiting[owner{env, agent}] = lanes
	}
	for _, r := range notices {
		lanes[r.Lane] = true
	}
}

// Job is an agent that has to be prepared: its queue and mapping made or enabled, and lanes of it
// notified.
type Job struct {
	Env   string   `json:"environment"`
	Agent string   `json:"agent"`
	Lanes []string `json:"lanes,omitempty"`

	made bool // Prepare has made the queue
}

// Late returns, by environment, the agents of jobs that were prepared whose queue was made, and of
// which no lane was to be notified: what they wait for may have ended before, and then the notice
// of that is lost. What may start there is to be notified.
func Late(jobs []Job) map[string][]string {
	out := map[string][]string{}
	for i := range jobs {
		if j := &jobs[i]; j.made && len(j.Lanes) == 0 {
			out[j.Env] = append(out[j.Env], j.Agent)
		}
	}
	return out
}

// Take returns what was put off, in order, and forgets it: whoever takes it prepares it.
func (d *deferred) Take() []Job {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make([]Job, 0, len(d.waiting))
	for o, lanes := range d.waiting {
		out = append(out,
			Job{Env: o.env, Agent: o.agent, Lanes: slices.Sorted(maps.Keys(lanes))})
	}
	clear(d.waiting)
	slices.SortFunc(out,
		func(a, b Job) int {
			return cmp.Or(cmp.Compare(a.Env, b.Env),
				cmp.Compare(a.Agent, b.Agent))
		})
	return out
}

// Prepare prepares agents, several side by side and no more than six in a second, and begins none
// after a time. It returns those that it did not begin. What failed is left to the sweep: it looks
// at agents with work that nobody serves. Preparing an agent twice does no harm. See Late for what
// is to be done afterwards.
func (p *Provisioner) Prepare(
	ctx context.Context, jobs []Job, until time.Time,
) (left []Job, err error) {
	notifier := queue.NewNotifier(p.SQS, p.queues)
	errs := make([]error, len(jobs))
	var group errgroup.Group
	group.SetLimit(sideBySide)
	for i := range jobs {
		if p.pace.wait(ctx, p.Clock, until) != nil {
			left = jobs[i:]
			break
		}
		group.Go(func() error {
			if errs[i] = p.prepare(ctx, notifier, &jobs[i]); errs[i] != nil {
				p.recheckSoon(owner{jobs[i].Env, jobs[i].Agent})
			}
			return nil
		})
	}
	_ = group.Wait() // errs has what each failed for
	return left, errors.Join(errs...)
}

// prepare brings queue and mapping to where they work, and then notifies. A crash before the notice
// leaves work that nobody was notified of: the sweep notifies.
func (p *Provisioner) prepare(ctx context.Context, notifier *queue.Notifier, j *Job) error {
	if len(j.Lanes) > 0 {
		// or they would have been notified: it is not asked for before it is made
		p.queues.Missing(j.Env, j.Agent)
	}
	var err error
	if j.made, err = p.wake(ctx, j.Env, j.Agent); err != nil {
		return err
	}
	if len(j.Lanes) == 0 {
		return nil
	}
	return notifier.Notify(ctx, j.Env, state.NoticesOf(j.Lanes))
}

// pace keeps a distance between what several begin.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// wait waits for its turn; an error says that it would be after a time, or that ctx is done.
func (p *pace) wait(ctx context.Context, clock state.Clock, until time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := clock.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	if !at.Before(until) {
		return fault.New(fault.Timeout, "prepare agents", "the time is up")
	}
	if err := clock.Sleep(ctx, at.Sub(now)); err != nil {
		return err
	}
	p.next = at.Add(prepareGap)
	return nil
}
