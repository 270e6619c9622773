package state

import (
	"context"
	"time"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// LeaseMargin is how long a lease outlasts the work it is taken for. A holder known to be dead is
// replaced immediately, so the margin only bounds the wait for holders whose death cannot be known.
const LeaseMargin = 15 * time.Second

// HeldAtOnce is the longest time for which a lease is taken or renewed, besides LeaseMargin, by a
// process that renews leases while it calls handlers: see RenewingCaller. RenewEvery is the time
// between two renewals.
const (
	HeldAtOnce = 2 * time.Minute
	RenewEvery = 20 * time.Second
)

// Client uses the ports of a home on behalf of a process, by the conventions of the engine: it
// retries operations that are temporarily unavailable, waits for leases, and reads rows in pages.
type Client struct {
	State    State
	Notifier Notifier
	Clock    Clock
	// NewHolder returns a new name to hold a lease under, so that two tasks of one process exclude
	// each other as well.
	NewHolder func() string
	// Ended, when not nil, reports whether the process behind a holder is known to have ended.
	Ended func(holder string) bool
	Page  int // rows of an environment that are read at a time
}

// Notify sends notices and ignores failures: a sweep sends notices again for remaining work.
func (c *Client) Notify(ctx context.Context, env string, notices []Notice) {
	if len(notices) > 0 {
		_ = c.Notifier.Notify(ctx, env, notices)
	}
}

// Retry calls f again while it fails with Unavailable, a few times, with growing pauses.
func (c *Client) Retry(ctx context.Context, f func() error) error {
	pause := 20 * time.Millisecond
	for try := 0; ; try++ {
		err := f()
		if !fault.Is(err, fault.Unavailable) || try == 5 {
			return err
		}
		if err := c.Clock.Sleep(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

// Acquire takes a lease for span, waiting until it is free.
func (c *Client) Acquire(ctx context.Context, env, key string, span time.Duration) (Lease, error) {
	lease, _, err := c.AcquireUnless(ctx, env, key, span, func() bool { return false })
	return lease, err
}

// awayFor is how long a store may be unavailable before a wait for a lease fails. A wait for the
// holder of a lease ends when the lease expires; a store may stay unavailable.
const awayFor = time.Minute

// AcquireUnless is Acquire that gives up, with false, when it is late. A request for the lease is
// finished even if ctx ends while the request is under way: a canceled request may already have
// taken the lease, and its caller would hold the lease without knowing it.
func (c *Client) AcquireUnless(ctx context.Context, env, key string, span time.Duration,
	late func() bool) (Lease, bool, error) {
	pause := time.Millisecond
	holder := c.NewHolder()
	there := c.Clock.Now() // when the store last answered
	for {
		if ctx.Err() != nil {
			return Lease{}, false, fault.Wrap(fault.Canceled, "take lease "+key, fault.Ended(ctx))
		}
		now := c.Clock.Now()
		lease, err := c.State.Acquire(context.WithoutCancel(ctx), env, key, holder, now, now.Add(span))
		if err == nil {
			return lease, true, nil
		}
		busy, away := fault.Is(err, fault.Busy), fault.Is(err, fault.Unavailable)
		if busy {
			there = now
		}
		if !busy && !(away && c.Clock.Now().Sub(there) < awayFor) {
			return Lease{}, false, fault.Wrap(fault.Unknown, "take lease "+key, err)
		}
		if err := c.Clock.Sleep(ctx, pause); err != nil {
			return Lease{}, false, err
		}
		if late() {
			return Lease{}, false, nil
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// AtWork reports whether the holder of a lease may still be at work. The lease of a process that
// has ended may not have expired yet.
func (c *Client) AtWork(l *Lease) bool {
	return l.Holder != "" && l.Until.After(c.Clock.Now()) && (c.Ended == nil || !c.Ended(l.Holder))
}

// Release releases a lease. If that fails, the lease expires.
func (c *Client) Release(ctx context.Context, env string, l Lease) {
	ctx = context.WithoutCancel(ctx)
	_ = c.Retry(ctx, func() error { return c.State.Release(ctx, env, l) })
}

// Fence refuses further writes of the holder of a lease that is not at work (AtWork): it may be late,
// rather than gone. The next holder of the lease still gets its Running. Fence returns false if another
// process has taken the lease since.
func (c *Client) Fence(ctx context.Context, env string, l *Lease) (bool, error) {
	holder := c.NewHolder()
	err := c.Retry(ctx, func() error {
		now := c.Clock.Now()
		_, err := c.State.Acquire(ctx, env, l.Key, holder, now, now)
		return err
	})
	if fault.Is(err, fault.Busy) {
		return false, nil
	}
	return err == nil, fault.Wrap(fault.Unknown, "fence lease "+l.Key, err)
}

// Rows returns rows by id; an unknown id has no row.
func (c *Client) Rows(
	ctx context.Context,
	env string,
	ids []resource.ID,
) (map[resource.ID]*Row, error) {
	out := make(map[resource.ID]*Row, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := c.State.Rows(ctx, env, ids)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read resources", err)
	}
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}

// EachRow calls f for every row of the environment, in order of id.
func (c *Client) EachRow(ctx context.Context, env string, f func(*Row) error) error {
	for after := resource.ID(""); ; {
		rows, err := c.State.ScanRows(ctx, env, after, c.Page)
		if err != nil {
			return fault.Wrap(fault.Unknown, "read resources", err)
		}
		for i := range rows {
			if err := f(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < c.Page {
			return nil
		}
		after = rows[len(rows)-1].ID
	}
}

// Look is Rows, and if the State is a Looker also how many rows there are by status; otherwise
// counts is nil.
func (c *Client) Look(
	ctx context.Context, env string, ids []resource.ID,
) (rows map[resource.ID]*Row, counts map[Status]int, err error) {
	l, is := c.State.(Looker)
	if !is || len(ids) == 0 {
		rows, err = c.Rows(ctx, env, ids)
		return rows, nil, err
	}
	found, counts, err := l.Look(ctx, env, ids)
	if err != nil {
		return nil, nil, fault.Wrap(fault.Unknown, "read resources", err)
	}
	rows = make(map[resource.ID]*Row, len(found))
	for i := range found {
		rows[found[i].ID] = &found[i]
	}
	return rows, counts, nil
}

// Version returns a version that env, which was read before, refers to; number 0 gives an empty
// one.
func (c *Client) Version(ctx context.Context, env Env, number int) (Version, error) {
	if number == 0 {
		return Version{}, nil
	}
	vs, err := c.State.Versions(ctx, env.Name, number)
	if err != nil {
		return Version{}, fault.Wrap(fault.Unknown, "read version", err)
	}
	if len(vs) > 0 {
		return vs[0], nil
	}
	if now, err := c.State.Env(ctx, env.Name); err != nil || now.Rev != env.Rev {
		return Version{}, fault.New(fault.Conflict, "read version",
			"version %d was forgotten meanwhile", number).
			WithHint("try again")
	}
	return Version{}, fault.New(fault.Damaged, "read version", "version %d is not stored", number).
		WithHint("the state was changed by something else; restore it from a copy")
}

// FindVersion returns the version with a number that a user gave; NotFound if it is not stored, or
// no longer stored.
func (c *Client) FindVersion(ctx context.Context, env Env, number int) (Version, error) {
	unknown := fault.New(fault.NotFound, "read version", "there is no version %d", number).
		WithHint("`southbound versions` lists them")
	if number < 1 || number > env.Last {
		return Version{}, unknown
	}
	vs, err := c.State.Versions(ctx, env.Name, number)
	if err != nil {
		return Version{}, fault.Wrap(fault.Unknown, "read version", err)
	}
	if len(vs) == 0 {
		return Version{}, unknown
	}
	return vs[0], nil
}

// InState returns the resources that match the terms of a filter about their state; nil if it has
// none.
func (c *Client) InState(ctx context.Context, env string, f Filter) (map[resource.ID]bool, error) {
	if !f.OfState() {
		return nil, nil
	}
	out := map[resource.ID]bool{}
	return out, c.EachRow(ctx, env, func(r *Row) error {
		if f.Match(r) {
			out[r.ID] = true
		}
		return nil
	})
}
