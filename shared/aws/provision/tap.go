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

// Tap is a mapping of the stack that nobody needs while nothing happens: that of the log queue.
// Polling a queue that is empty costs more than all else in a month without work. What lies in the
// queue meanwhile is logged by the sweep, or when the mapping is enabled again. It may be used by
// any number of goroutines.
type Tap struct {
	Lambda Lambda
	// Mapping is its UUID; empty: nothing is done.
	Mapping string
	Clock   state.Clock

	mu   sync.Mutex
	used time.Time // when it was last needed, or first looked at
	is   string    // the state that this process left it in or saw; "" when not known
}

// quiet is how long nothing must have happened before the mapping is disabled.
const quiet = 30 * time.Minute

// Turn enables the mapping when it is needed, and disables it when it was not for half an hour.
// Mostly it asks nobody.
func (t *Tap) Turn(ctx context.Context, needed bool) error {
	if t.Mapping == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.Clock.Now()
	if needed || t.used.IsZero() {
		t.used = now
	}
	want := stateEnabled
	if !needed {
		if now.Sub(t.used) < quiet {
			return nil
		}
		want = stateDisabled
	}
	if t.is == want {
		return nil
	}
	out, err := t.Lambda.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &t.Mapping})
	if err != nil {
		return awserr.Fault("read event source mapping", err)
	}
	if aws.ToString(out.State) != want {
		_, err = t.Lambda.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: &t.Mapping, Enabled: aws.Bool(needed)})
	}
	switch {
	case err == nil:
		t.is = want
	case awserr.Is(err, awserr.ResourceInUse, awserr.ResourceConflict): // in the middle of a change: the next minute asks again
		t.is = ""
	default:
		return awserr.Fault("change event source mapping", err)
	}
	return nil
}
