package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// withTimeout bounds how long a command waits; 0: as long as it takes.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d,
		fault.New(fault.Timeout, "", "not done after %s; what is scheduled stays scheduled", d))
}

// lastWords is how long a command may take to end once its time is over. What still runs is given
// two seconds: see local.Runner.
const lastWords = 3 * time.Second

// within has do end when a command has taken d, 0 for as long as it takes. What is deaf to that is
// left behind with the process, as after a crash.
func (s *session) within(
	ctx context.Context, d time.Duration, do func(context.Context) error,
) error {
	ctx, cancel := withTimeout(ctx, d)
	defer cancel()
	if d <= 0 {
		return do(ctx)
	}
	done := make(chan error, 1)
	go func() { done <- ranOut(ctx, do(ctx)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if !fault.Is(context.Cause(ctx), fault.Timeout) {
		return <-done
	}
	select {
	case err := <-done:
		return err
	case <-time.After(lastWords / 3):
		s.endHandlers()
	}
	select {
	case err := <-done:
		return err
	case <-time.After(lastWords * 2 / 3):
		return fault.New(fault.Timeout, "",
			"the time to wait ran out, and something that was begun does not end").
			WithHint("it ends with this program; what was recorded is kept, and the same " +
				"command goes on")
	}
}

// ranOut says of an error that the end of the time has caused what it is, whatever was cut off by
// it.
func ranOut(ctx context.Context, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) || !fault.Is(context.Cause(ctx), fault.Timeout) {
		return err
	}
	return fault.New(fault.Timeout, "",
		"the time to wait ran out; what is scheduled stays scheduled").
		WithHint("`southbound status` shows how far it is; --timeout may be longer")
}

// interrupted explains what it means that waiting was ended early.
func (w *waiter) interrupted(err error) error {
	switch fault.KindOf(err) {
	case fault.Canceled:
		return fault.New(fault.Canceled, "",
			"interrupted; what was done is recorded, what is left stays scheduled").
			WithHint("the same command, or `southbound deploy`, goes on")
	case fault.Timeout:
		var f *fault.Error
		if errors.As(err, &f) {
			return fault.New(fault.Timeout, "",
				"the time to wait ran out%s; what is left stays scheduled", w.notFinished()).
				WithHint("`southbound status` shows how far it is, `southbound deploy` goes on")
		}
	}
	return err
}

// maxUnfinished is how many resources a message names that are not finished.
const maxUnfinished = 3

// notFinished names what is still to be done once the time to wait is over.
func (w *waiter) notFinished() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	p, err := w.home.Progress(ctx, w.env)
	if err != nil || p.Scheduled == 0 {
		return ""
	}
	ids := slices.Clone(p.Running)
	_ = w.home.Resources(ctx, w.env, []string{"status=" + string(state.StatusAvailable)},
		func(r *api.Resource) error {
			if !slices.Contains(ids, r.ID) {
				ids = append(ids, r.ID)
			}
			if len(ids) >= maxUnfinished {
				return errEnough
			}
			return nil
		})
	what := are(p.Scheduled, "resource") + " not finished"
	if n := min(len(ids), maxUnfinished, p.Scheduled); n > 0 {
		what += ": " + oneLine(moreIDs(ids[:n], p.Scheduled))
	}
	return "; " + what
}
