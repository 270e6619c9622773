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

// PollSwitch enables and disables the polling of the log queue, which is not needed while no work
// is done. Polling an empty queue costs more than everything else in a month without work. Messages
// that arrive while polling is disabled are logged by the sweep, or when the mapping is enabled
// again. Any number of goroutines may use it.
type PollSwitch struct {
	Lambda Lambda
	// Mapping is the UUID of the queue's mapping. If it is empty, SetNeeded does nothing.
	Mapping string
	Clock   state.Clock

	mu   sync.Mutex
	used time.Time // when polling was last needed, or when this process started to watch
	is   string    // the state that this process set or read last; "": unknown
	seen time.Time // when it was set or read
}

// quiet is how long polling must not have been needed before the mapping is disabled.
const quiet = 30 * time.Minute

// fresh is how long the cached state "enabled" is trusted. A sweep in another process that has seen
// no work, or an operator, may have disabled the mapping.
const fresh = 10 * time.Minute

// SetNeeded enables the mapping if polling is needed, and disables it if polling was not needed for
// half an hour. Most calls send no request.
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
	// the mapping is changing: the next minute reads it again
	case awserr.Is(err, awserr.ResourceInUse, awserr.ResourceConflict):
		p.is = ""
	default:
		return awserr.Fault("change event source mapping", err)
	}
	return nil
}
