package deploy_test

import (
	"context"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/schema"
)

// paced is a caller under which time passes in each call, by steps. It renews after each step unless
// it is late.
type paced struct {
	local.Caller
	clock *clock
	steps int
	step  time.Duration
	late  bool
	meant time.Duration // the period that the engine asks for
	after func()        // called after each step
}

func (p *paced) CallRenewing(ctx context.Context, limit, every time.Duration,
	renew func(ctx context.Context) error, f func(ctx context.Context)) error {
	p.meant = every
	return p.Call(ctx, limit, func(ctx context.Context) {
		own, cancel := context.WithCancel(ctx)
		defer cancel()
		for range p.steps {
			p.clock.advance(p.step)
			p.after()
			if !p.late && renew(ctx) != nil {
				cancel()
			}
		}
		if p.late && renew(ctx) != nil {
			cancel()
		}
		f(own)
	})
}

// TestLeaseIsRenewed pins that a lane stays held during calls that take far longer than a lease, and
// that a lane is held no longer than that before them.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	slow := must(schema.NewRegistry(schema.Type{Name: "t::T", Timeout: time.Hour,
		Attributes: []schema.Attribute{{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
			{Name: "value", Type: "String", Default: "v"}}}))(t)
	busy := 0
	p := &paced{clock: r.clock, steps: 100, step: state.RenewEvery}
	p.after = func() {
		now := r.clock.Now()
		if _, err := r.home.Acquire(t.Context(), "e", "a", "another process", now,
			now.Add(time.Hour)); !fault.Is(err, fault.Busy) {
			t.Errorf("another could take the lane: %v", err)
		}
		l := must(r.home.Leases(t.Context(), "e"))(t)
		for i := range l {
			if left := l[i].Until.Sub(now); l[i].Key == "a" &&
				left > state.HeldAtOnce+2*state.LeaseMargin+time.Minute {
				t.Errorf("the lane is held for %s", left)
			}
		}
		busy++
	}
	r.types = slow
	r.use(r.home, "test")
	r.e.Caller = p
	r.export(deploy.Export{Model: modelOf(res("a"))})
	r.drain()
	r.want("a", state.StatusDeployed)
	if busy != 200 || p.meant != state.RenewEvery {
		t.Errorf("%d steps, renewed every %s", busy, p.meant)
	}
}

// TestLateRenewal pins that a renewal that is too late ends the call: its context is cancelled, and
// what it has done is not recorded, but repeated by the next worker.
func TestLateRenewal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := &paced{clock: r.clock, steps: 1, step: time.Hour, late: true, after: func() {}}
	r.e.Caller = p
	r.export(deploy.Export{Model: modelOf(res("a"))})
	if _, err := r.e.RunAgent(t.Context(), "e", "a", r.clock.Now().Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if row := r.row("a"); row.Status() != state.StatusAvailable || row.LastAction != "" {
		t.Errorf("recorded: %s, %s", row.Status(), row.Reason)
	}
	p.steps, p.late = 0, false
	r.drain()
	r.want("a", state.StatusDeployed)
}
