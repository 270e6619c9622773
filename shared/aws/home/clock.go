package home

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"southbound/shared/platform"
)

// clock returns the time of AWS. The engine compares times that several machines wrote: leases,
// events, waits. The clock of the machine on which a runner happens to be may be wrong. clock
// learns the offset from the responses to all requests of the configuration in which it is
// installed.
type clock struct {
	platform.Clock
	log   *slog.Logger
	ahead atomic.Int64 // offset of AWS's time from this machine's
}

const (
	// agrees is the offset that is tolerated: responses have times in whole seconds.
	agrees = 3 * time.Second
	// tooSlow is the duration from which a response is ignored: most of the duration may be its
	// transfer.
	tooSlow = 4 * time.Second
)

// Now implements state.Clock.
func (c *clock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.ahead.Load())) }

// install makes the clock learn from every client that is made from cfg afterwards.
func (c *clock) install(cfg *aws.Config) {
	cfg.APIOptions = append(cfg.APIOptions, func(s *middleware.Stack) error {
		return s.Finalize.Add(middleware.FinalizeMiddlewareFunc("southbound:clock", c.learn),
			middleware.After)
	})
}

func (c *clock) learn(
	ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
) (middleware.FinalizeOutput, middleware.Metadata, error) {
	began := time.Now()
	out, meta, err := next.HandleFinalize(ctx, in)
	if theirs, ok := awsmiddleware.GetServerTime(meta); ok && time.Since(began) < tooSlow {
		// the server's time is truncated to seconds; on average half a second is missing
		c.compare(ctx, time.Until(theirs.Add(time.Second/2)))
	}
	return out, meta, err
}

// compare stores a measured offset if it differs from the stored offset by agrees or more.
func (c *clock) compare(ctx context.Context, ahead time.Duration) {
	ahead = ahead.Round(time.Second)
	was := time.Duration(c.ahead.Load())
	if (ahead - was).Abs() < agrees {
		return
	}
	if ahead.Abs() < agrees {
		ahead = 0
	}
	c.ahead.Store(int64(ahead))
	if c.log == nil {
		return
	}
	says := fmt.Sprintf("%v behind", ahead)
	if ahead < 0 {
		says = fmt.Sprintf("%v ahead", -ahead)
	}
	c.log.WarnContext(ctx,
		"the clock of this machine does not agree with that of AWS, whose time is used: set it",
		"it_is", says)
}
