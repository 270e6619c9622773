package provision

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
)

// PollSwitch turns on and off the polling of a queue that nobody needs while nothing happens: that
// of the log. Polling an empty queue costs more than all else in a month without work. What lies in
// the queue meanwhile is logged by the sweep, or when the mapping is enabled again. It may be used
// by any number of goroutines.
type PollSwitch struct {
	Lambda Lambda
	// Mapping is its UUID; empty: nothing is done.
	Mapping string
	Clock   state.Clock

	mu   sync.Mutex
	used time.Time // when it was last needed, or first looked at
	is   string    // the state that this process left it in or saw; "" when not known
	seen time.Time // when that was
}

// quiet is how long nothing must have happened before the mapping is disabled.
const quiet = 30 * time.Minute

// fresh is how long it is believed that a mapping is enabled: another process of the sweep that has
// seen no work, or a person, may have disabled it.
const fresh = 10 * time.Minute

// SetNeeded enables the mapping when it is needed, and disables it when it was not for half an
// hour. Mostly it asks nobody.
func (p *PollSwitch) SetNeeded(ctx context.Context, needed bool) error {
	if p.Mapping == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Now()
	if needed || p.used.IsZero() {
		p.used = now
	}
	want := stateEnabled
	if !needed {
		if now.Sub(p.used) < quiet {
			return nil
		}
		want = stateDisabled
	}
	if p.is == want && (!needed || now.Sub(p.seen) < fresh) {
		return nil
	}
	out, err := p.Lambda.GetEventSourceMapping(
		ctx,
		&lambda.GetEventSourceMappingInput{UUID: &p.Mapping},
	)
	if err != nil {
		return awserr.Fault("read event source mapping", err)
	}
	if aws.ToString(out.State) != want {
		_, err = p.Lambda.UpdateEventSourceMapping(
			ctx,
			&lambda.UpdateEventSourceMappingInput{UUID: &p.Mapping, Enabled: aws.Bool(needed)},
		)
	}
	switch {
	case err == nil:
		p.is, p.seen = want, now
	// in the middle of a change: the next minute asks again
	case awserr.Is(err, awserr.ResourceInUse, awserr.ResourceConflict):
		p.is = ""
	default:
		return awserr.Fault("change event source mapping", err)
	}
	return nil
}
