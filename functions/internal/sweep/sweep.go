// Package sweep is the function that a schedule calls each minute: it does what nobody else is left
// to do, in all environments.
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

// EnvLogMapping names the environment variable with the UUID of the mapping that polls the log
// queue; not set: it is polled all the time.
const EnvLogMapping = "SOUTHBOUND_LOG_MAPPING"

// EnvCompileMapping names the environment variable with the UUID of the mapping that polls the
// compile queue, which is enabled when an environment has services; not set: nobody enables it.
const EnvCompileMapping = "SOUTHBOUND_COMPILE_MAPPING"

// event is what the schedule sends; all of it may be missing.
type event struct {
	Time time.Time `json:"time"`
}

// Main begins the function with handlers and serves events.
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
			if err == nil && !offers.Load() { // what failed may have had services
				err = compiles.SetNeeded(ctx, false)
			}
			return err
		}, nil
	})
}
