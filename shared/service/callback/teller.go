package callback

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// Clock is the source of time.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Config holds the parts of a teller.
type Config struct {
	Env       string
	Store     Store
	Instances inventory.Store
	Caller    *Caller
	Clock     Clock
	// Secrets resolves the keys of callbacks; nil: callbacks with a key are not called.
	Secrets Secrets
	// Failed receives the first of several consecutive failures of a callback, and faults of the
	// store. It may be nil.
	Failed func(error)
}

// Teller calls the callbacks of an environment. It delivers each event at least once, and the
// events of an instance in order.
type Teller struct{ Config }

// New returns a teller.
func New(c Config) *Teller {
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	return &Teller{c}
}

const (
	// idle is the pause between checks for events, and for callbacks.
	idle = 500 * time.Millisecond
	// firstPause is the pause after the first failure of a callback. It doubles with each failure
	// up to lastPause.
	firstPause = time.Second
	lastPause  = 5 * time.Minute
	// tellFor is the maximum age of an event. Older events are dropped.
	tellFor = 24 * time.Hour
	// maxTold is the number of events of an instance that are read in one call.
	maxTold = 100
)

// Run calls callbacks until ctx ends. Each callback has its own goroutine, so that a callback that
// hangs does not block the others.
func (t *Teller) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	var mu sync.Mutex
	running := map[string]bool{}
	for {
		all, err := t.Store.Callbacks(ctx, t.Env)
		if err != nil && ctx.Err() == nil {
			t.Failed(err)
		}
		for i := range all {
			id := all[i].ID
			mu.Lock()
			begin := !running[id]
			running[id] = true
			mu.Unlock()
			if begin {
				wg.Go(func() {
					t.follow(ctx, id)
					mu.Lock()
					defer mu.Unlock()
					delete(running, id)
				})
			}
		}
		if t.Clock.Sleep(ctx, idle) != nil {
			return
		}
	}
}

// follow calls one callback until it is removed or ctx ends.
func (t *Teller) follow(ctx context.Context, id string) {
	for ctx.Err() == nil {
		all, err := t.Store.Callbacks(ctx, t.Env)
		worked := false
		if err == nil {
			n := slices.IndexFunc(all, func(c Callback) bool { return c.ID == id })
			if n < 0 {
				return
			}
			worked, err = t.round(ctx, &all[n], ids(all), time.Time{})
		}
		if err != nil && ctx.Err() == nil {
			t.Failed(err)
		}
		if !worked {
			_ = t.Clock.Sleep(ctx, idle) // the loop checks ctx
		}
	}
}

// Once calls all callbacks concurrently for their pending events. It returns when no event is left
// that can be delivered now.
func (t *Teller) Once(ctx context.Context) error {
	_, err := t.Visit(ctx, time.Time{})
	return err
}

// Visit is Once, but starts no call after until, unless until is zero. It reports whether events
// were left because of that.
func (t *Teller) Visit(ctx context.Context, until time.Time) (left bool, err error) {
	all, err := t.Store.Callbacks(ctx, t.Env)
	if err != nil {
		return false, err
	}
	late := make([]bool, len(all))
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			_, errs[i] = t.round(ctx, &all[i], ids(all), until)
			if late[i] = errors.Is(errs[i], errLate); late[i] {
				errs[i] = nil
			}
		})
	}
	wg.Wait()
	return slices.Contains(late, true), errors.Join(errs...)
}

// errLate is the error of a round that ran out of time.
var errLate = errors.New("no more calls are begun")

func ids(all []Callback) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = all[i].ID
	}
	return out
}

// round calls a callback for its pending events until a call fails, and reports whether it
// delivered any. all are the ids of all callbacks. It starts no call after until, unless until is
// zero.
func (t *Teller) round(
	ctx context.Context, c *Callback, all []string, until time.Time,
) (worked bool, err error) {
	if c.Health.Next.After(t.Clock.Now()) {
		return false, nil
	}
	after := ""
	for {
		page, err := t.Store.Pending(ctx, t.Env, after)
		if err != nil {
			return worked, err
		}
		for i := range page {
			p := &page[i]
			told, ok, err := t.instance(ctx, c, p, all, until)
			worked = worked || told
			if err != nil || !ok {
				return worked, err
			}
		}
		if len(page) < MaxPending {
			return worked, nil
		}
		after = page[len(page)-1].Instance
	}
}

// instance delivers the events of an instance to a callback. If a call fails, it returns ok=false
// without an error.
func (t *Teller) instance(
	ctx context.Context, c *Callback, p *Pending, all []string, until time.Time,
) (told, ok bool, err error) {
	at := p.Of(c.ID)
	if at >= p.Last {
		if p.Done(all) { // other callbacks were removed, or finished concurrently
			err = t.Store.Delivered(ctx, t.Env, p.Instance, c.ID, at, all)
		}
		return false, err == nil, err
	}
	for at < p.Last {
		events, err := t.Instances.Events(ctx, t.Env, p.Instance, at, maxTold)
		if err != nil {
			return told, false, err
		}
		dropped := c.Health.Dropped
		seq, called := t.events(ctx, c, p, events, until)
		if seq > at {
			told = true
			// The calls come before the note of their delivery. After a crash in between, the
			// events stay pending and are delivered again, with the same Idempotency-Key. In the
			// other order, these events would be lost. The note is therefore written even if ctx
			// has ended.
			err = t.Store.Delivered(context.WithoutCancel(ctx), t.Env, p.Instance, c.ID, seq, all)
			if err != nil {
				return told, false, err
			}
		}
		if errors.Is(called, errLate) {
			return told, false, errLate
		}
		// The health comes after the note. A crash in between loses a failure or a count of dropped
		// events. A lost failure only means that the call is repeated without a pause.
		if called != nil || ctx.Err() != nil {
			return told, false, t.failed(ctx, c, called)
		}
		if c.Health.Dropped != dropped {
			if err := t.Store.Report(ctx, t.Env, c.ID, c.Health); err != nil {
				return told, false, err
			}
		}
		if len(events) == 0 {
			break
		}
		at = seq
	}
	return told, true, nil
}

// events calls a callback for events until a call fails. It returns the last event that was
// delivered or skipped, and the failure.
func (t *Teller) events(
	ctx context.Context, c *Callback, p *Pending, events []inventory.Event, until time.Time,
) (seq int64, err error) {
	for i := range events {
		e := &events[i]
		switch {
		case !c.Wants(p.Service, e):
		case t.Clock.Now().Sub(e.At) > tellFor:
			c.Health.Dropped++
		case !until.IsZero() && t.Clock.Now().After(until):
			return seq, errLate
		default:
			b, err := body(t.Env, c, p, e)
			if err == nil {
				err = t.call(ctx, c, fmt.Sprintf("%s/%d", p.Instance, e.Seq), b)
			}
			if err != nil {
				return seq, err
			}
			if err := t.well(ctx, c); err != nil {
				return seq, err
			}
		}
		seq = e.Seq
	}
	return seq, nil
}

// call sends a body to a callback, with a signature if the callback has a key. Each call has a new
// signature. So receivers can reject old calls, and a replaced key applies immediately.
func (t *Teller) call(ctx context.Context, c *Callback, event string, body []byte) error {
	signed, err := sign(ctx, t.Secrets, c.Secret, t.Clock.Now(), body)
	if err != nil {
		return err
	}
	return t.Caller.call(ctx, c.URL, event, signed, body)
}

// failed records the failure of a call, unless ctx has ended.
func (t *Teller) failed(ctx context.Context, c *Callback, called error) error {
	if ctx.Err() != nil {
		return fault.Wrap(fault.Canceled, "call", context.Cause(ctx))
	}
	now := t.Clock.Now().UTC().Truncate(time.Microsecond)
	h := &c.Health
	if h.Failures == 0 {
		h.Since = now
		t.Failed(fmt.Errorf("callback %s: %w", c.ID, called))
	}
	const most = 20 // keeps the shift within its range
	pause := min(firstPause<<min(h.Failures, most), lastPause)
	h.Failures++
	h.Next, h.Error = now.Add(pause), called.Error()
	return t.Store.Report(ctx, t.Env, c.ID, *h)
}

// well records that a call succeeded after failures.
func (t *Teller) well(ctx context.Context, c *Callback) error {
	if c.Health.Failures == 0 {
		return nil
	}
	c.Health = Health{Dropped: c.Health.Dropped}
	return t.Store.Report(ctx, t.Env, c.ID, c.Health)
}
