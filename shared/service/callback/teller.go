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

// Clock is the time, and what waits for it.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Config is what a teller is made of.
type Config struct {
	Env       string
	Store     Store
	Instances inventory.Store
	Caller    *Caller
	Clock     Clock
	// Secrets resolves the keys of callbacks; nil: a callback with a key is not called.
	Secrets Secrets
	// Failed is told of calls that fail, when that begins, and of faults of the store; it may be
	// nil.
	Failed func(error)
}

// Teller calls callbacks of an environment for what happens to instances, each event at least once,
// those of an instance in their order.
type Teller struct{ Config }

// New returns a teller.
func New(c Config) *Teller {
	if c.Failed == nil {
		c.Failed = func(error) {}
	}
	return &Teller{c}
}

const (
	// idle is how long to wait for events, and for callbacks.
	idle = 500 * time.Millisecond
	// firstPause is how long a callback is left alone after its first failure, and lastPause after
	// many.
	firstPause = time.Second
	lastPause  = 5 * time.Minute
	// tellFor is how old an event may become before it is dropped.
	tellFor = 24 * time.Hour
	// maxTold is how many events of an instance are read at once.
	maxTold = 100
)

// Run calls callbacks until ctx ends. Each has a goroutine of its own, so that one which hangs
// keeps no other from being called.
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
			_ = t.Clock.Sleep(ctx, idle) // what cuts it short ends the loop
		}
	}
}

// Once calls all callbacks that may be called now, side by side, for what is pending. It returns
// when nothing is left that can be told now.
func (t *Teller) Once(ctx context.Context) error {
	_, err := t.Visit(ctx, time.Time{})
	return err
}

// Visit is Once, but begins no call after a time, unless that is zero. It reports whether something
// was left for that.
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

// errLate is the error of a round that had no more time.
var errLate = errors.New("no more calls are begun")

func ids(all []Callback) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = all[i].ID
	}
	return out
}

// round calls a callback for all that is pending, until a call fails, and reports whether it told
// anything. all are the ids of all callbacks. No call is begun after a time, unless that is zero.
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

// instance tells a callback what has happened to an instance. It returns false, without an error,
// when a call has failed.
func (t *Teller) instance(
	ctx context.Context, c *Callback, p *Pending, all []string, until time.Time,
) (told, ok bool, err error) {
	at := p.Of(c.ID)
	if at >= p.Last {
		if p.Done(all) { // others have ended at once, or went
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
			// First the calls, then the note of them: a crash in between leaves what was told as
			// pending, and whoever comes next tells it again, with the same Idempotency-Key. In the
			// other order those events would be told to nobody. So what was told is noted even when
			// the work ends.
			err = t.Store.Delivered(context.WithoutCancel(ctx), t.Env, p.Instance, c.ID, seq, all)
			if err != nil {
				return told, false, err
			}
		}
		if errors.Is(called, errLate) {
			return told, false, errLate
		}
		// How the callback is comes after the note: a crash in between loses that a call failed,
		// which is then made again at once, or that events were dropped, which are not counted.
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

// events calls a callback for events until a call fails, and returns the last one that it was told
// or did not want, with what is wrong.
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

// call calls a callback with a body, which is signed if the callback has a key. Each call is signed
// anew, so that a receiver can refuse old ones, and a key that was replaced counts at once.
func (t *Teller) call(ctx context.Context, c *Callback, event string, body []byte) error {
	signed, err := sign(ctx, t.Secrets, c.Secret, t.Clock.Now(), body)
	if err != nil {
		return err
	}
	return t.Caller.call(ctx, c.URL, event, signed, body)
}

// failed keeps that a call has failed, unless the work was ended meanwhile.
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
	const most = 20 // so that the shift stays in its bounds
	pause := min(firstPause<<min(h.Failures, most), lastPause)
	h.Failures++
	h.Next, h.Error = now.Add(pause), called.Error()
	return t.Store.Report(ctx, t.Env, c.ID, *h)
}

// well keeps that a call went well, if the ones before did not.
func (t *Teller) well(ctx context.Context, c *Callback) error {
	if c.Health.Failures == 0 {
		return nil
	}
	c.Health = Health{Dropped: c.Health.Dropped}
	return t.Store.Report(ctx, t.Env, c.ID, c.Health)
}
