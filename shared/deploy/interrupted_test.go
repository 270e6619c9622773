package deploy_test

import (
	"context"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// interrupted is a State whose caller is interrupted while a request for a lease is under way. The
// store has executed the request by then. Like a client over a network, it returns an error if the
// request was canceled, and the lease otherwise.
type interrupted struct {
	state.State
	key       string
	interrupt func()
}

func (s *interrupted) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	lease, err := s.State.Acquire(ctx, env, key, holder, now, until)
	if err != nil || key != s.key {
		return lease, err
	}
	s.interrupt()
	if ctx.Err() != nil {
		return state.Lease{}, fault.Wrap(fault.Canceled, "acquire", ctx.Err())
	}
	return lease, nil
}

// TestInterruptedLease checks that a process that is interrupted while it takes a lease releases
// the lease, so that other processes do not wait until the lease expires.
func TestInterruptedLease(t *testing.T) {
	for _, test := range []struct {
		key string
		run func(ctx context.Context, e *deploy.Engine, until time.Time) error
	}{
		{state.PlanKey, func(ctx context.Context, e *deploy.Engine, _ time.Time) error {
			_, err := e.Repair(ctx, "e", deploy.Request{})
			return err
		}},
		{"a", func(ctx context.Context, e *deploy.Engine, until time.Time) error {
			_, err := e.RunAgent(ctx, "e", "a", until)
			return err
		}},
	} {
		t.Run(test.key, func(t *testing.T) {
			r := newRig(t)
			r.export(deploy.Export{Model: modelOf(res("x"))})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			config := r.e.Config
			config.State = &interrupted{State: config.State, key: test.key, interrupt: cancel}
			err := test.run(ctx, deploy.New(config), r.clock.Now().Add(time.Hour))
			now := r.clock.Now()
			if _, busy := r.home.Acquire(t.Context(), "e", test.key, "another process", now,
				now.Add(time.Minute)); busy != nil {
				t.Errorf("another process cannot take %s after %v: %v", test.key, err, busy)
			}
		})
	}
}
