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
// queue and a mapping takes seconds, and Lambda allows an account 15 requests a second for
// mappings. So if a notice finds a queue missing or a mapping disabled, the agent is put off.
// Prepare prepares it after the lease has been released.

const (
	sideBySide = 16 // agents that are prepared concurrently
	// Gap between the starts of two. Lambda accepts 15 requests a second from an account, and an
	// agent takes up to two.
	prepareGap = 160 * time.Millisecond
)

// Notifier returns a notifier that sends what it can send immediately. It puts off agents whose
// queue does not exist or whose mapping may be disabled. The caller has to call Prepare afterwards.
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

// deferred holds the agents that were put off.
type deferred struct {
	mu      sync.Mutex
	waiting map[owner]map[string]bool // lanes to notify, by agent; guarded by mu
}

// PutOff records that an agent has to be prepared, and the lanes to notify after that.
func (d *deferred) PutOff(env, agent string, notices []state.Notice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	lanes := d.waiting[owner{env, agent}]
	if lanes == nil {
		lanes = map[string]bool{}
		d.waiting[owner{env, agent}] = lanes
	}
	for _, r := range notices {
		lanes[r.Agent] = true
	}
}

// Job is an agent to prepare. Its queue and mapping are made or enabled, and then its lanes are
// notified.
type Job struct {
	Env   string   `json:"environment"`
	Agent string   `json:"agent"`
	Lanes []string `json:"lanes,omitempty"`

	made bool // Prepare made the queue
}

// Late returns, by environment, the agents of prepared jobs whose queue Prepare made and that had
// no lane to notify. The resources that such an agent waits for may have finished before its queue
// existed, and then the notice about that is lost. The caller has to notify these agents of the
// resources that may start.
func Late(jobs []Job) map[string][]string {
	out := map[string][]string{}
	for i := range jobs {
		if j := &jobs[i]; j.made && len(j.Lanes) == 0 {
			out[j.Env] = append(out[j.Env], j.Agent)
		}
	}
	return out
}

// Take returns the jobs that were put off, sorted, and clears them. The caller has to prepare them.
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

// Prepare prepares agents, several concurrently and at most six a second. It begins no agent after
// until, and returns the jobs that it did not begin. Failed jobs are left to the sweep, which
// examines agents that have work and are not served. Preparing an agent twice is harmless. The
// caller has to handle the agents that Late returns.
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
	_ = group.Wait() // errs holds the errors
	return left, errors.Join(errs...)
}

// prepare makes or enables the queue and the mapping of an agent, and then notifies its lanes. If
// the process crashes before the notice, the sweep sends the notice.
func (p *Provisioner) prepare(ctx context.Context, notifier *queue.Notifier, j *Job) error {
	if len(j.Lanes) > 0 {
		// A job has lanes only if their notice found no queue: skip the lookup and make the queue.
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

// pace spaces the starts of concurrent operations.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// wait waits until the next start. It fails if that start would be after until, or if ctx is done.
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
