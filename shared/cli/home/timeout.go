package home

import (
	"context"
	"errors"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
)

// WithTimeout bounds how long a command waits; 0: no limit.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, d,
		fault.New(fault.Timeout, "", "the command's time to wait, %s, ran out", d))
}

// lastWords is how long a command may take to end after its timeout. Running handlers get two
// seconds: see local.Runner.
const lastWords = 3 * time.Second

// Within runs do and ends it after d; 0 means no limit. If do ignores the end of its context, the
// process ends without waiting for it, as after a crash.
func (s *Session) Within(
	ctx context.Context, d time.Duration, do func(context.Context) error,
) error {
	ctx, cancel := WithTimeout(ctx, d)
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
	soon, stop := patience.After(lastWords / 3)
	defer stop()
	select {
	case err := <-done:
		return err
	case <-soon:
		s.endHandlers()
	}
	over, release := patience.After(lastWords * 2 / 3)
	defer release()
	select {
	case err := <-done:
		return err
	case <-over:
		return fault.New(fault.Timeout, "",
			"the time to wait ran out, and an operation that was started does not end").
			WithHint("it ends with this program; recorded results are kept, and the same " +
				"command continues")
	}
}

// ranOut replaces an error that was caused by the timeout with the error of the timeout, whichever
// operation the timeout interrupted.
func ranOut(ctx context.Context, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) || !fault.Is(context.Cause(ctx), fault.Timeout) {
		return err
	}
	return fault.New(fault.Timeout, "",
		"the time to wait ran out; scheduled resources stay scheduled").
		WithHint("`southbound status` shows the progress; raise --timeout")
}
