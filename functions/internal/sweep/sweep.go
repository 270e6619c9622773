// Package sweep is the function that a schedule calls each minute. It finishes interrupted or lost
// work in all environments.
package sweep

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"

	"southbound/functions/internal/run"
	"southbound/shared/aws/home"
	"southbound/shared/aws/logs"
	"southbound/shared/aws/provision"
	"southbound/shared/aws/sweep"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
)

// EnvLogMapping is the name of the environment variable with the UUID of the mapping that polls the
// log queue. If it is not set, the queue is always polled.
const EnvLogMapping = "SOUTHBOUND_LOG_MAPPING"

// EnvCompileMapping is the name of the environment variable with the UUID of the mapping that polls
// the compile queue. The sweep enables the mapping if an environment has services. If the variable
// is not set, the sweep does not change the mapping.
const EnvCompileMapping = "SOUTHBOUND_COMPILE_MAPPING"

// event is the event of the schedule. Its fields may be missing.
type event struct {
	Time time.Time `json:"time"`
}

// Main starts the function with handlers and serves events.
func Main(definitions []provider.Definition) {
	run.Main(func(ctx context.Context) (any, error) {
		f, err := run.Begin(ctx, definitions, func(c *home.Config) {
			c.Makes = true
			c.Notifier = func(next state.Notifier, state state.State) state.Notifier {
				return &sweep.Notifier{Out: next, State: state}
			}
		})
		if err != nil {
			return nil, err
		}
		s := &sweep.Sweeper{
			Engine:  f.Home.Engine,
			State:   f.Home.State,
			Queues:  f.Home.Provisioner,
			Catch:   &logs.Log{Store: f.Home.LogStore, State: f.Home.State, Logger: f.Log},
			Clock:   f.Home.Engine.Clock,
			Log:     f.Log,
			Metrics: f.Metrics,
			Polling: &provision.PollSwitch{
				Lambda:  awslambda.NewFromConfig(f.Home.AWS),
				Mapping: os.Getenv(EnvLogMapping),
				Clock:   f.Home.Engine.Clock,
			},
		}
		compiles := &provision.PollSwitch{
			Lambda:  awslambda.NewFromConfig(f.Home.AWS),
			Mapping: os.Getenv(EnvCompileMapping),
			Clock:   s.Clock,
		}
		var offers atomic.Bool // an environment with services was swept
		if finder := f.Home.OrderFinder(); finder != nil {
			finder.Serve = func(ctx context.Context) error {
				offers.Store(true)
				return compiles.SetNeeded(ctx, true)
			}
			s.Orders = finder
		}
		return func(ctx context.Context, e event) error {
			defer f.Flush(ctx)
			if e.Time.IsZero() {
				e.Time = f.Home.Engine.Clock.Now()
			}
			offers.Store(false)
			err := s.Run(ctx, e.Time)
			if err == nil && !offers.Load() { // an environment whose sweep failed may have services
				err = compiles.SetNeeded(ctx, false)
			}
			return err
		}, nil
	})
}
