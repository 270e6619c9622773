package servicecmd

import (
	"context"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/work"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/service/orders"
)

// waitForTransfers waits until no transfer of instances is in progress, and returns their state
// then. In an embedded home it processes the orders that the transfers wait for, unless `southbound
// run` does.
func (oc *orderCommands) waitForTransfers(
	ctx context.Context, o api.Orders, limit time.Duration, all []orders.Instance,
) ([]orders.Instance, error) {
	ctx, cancel := home.WithTimeout(ctx, limit)
	defer cancel()
	defer oc.worker.WorksOnOrders(ctx)()
	clock := local.Clock{}
	began := clock.Now()
	for n := range all {
		for !all[n].Settled {
			// if the sleep is interrupted, the next request fails
			_ = clock.Sleep(ctx, work.NextPoll(clock.Now().Sub(began)))
			before := all[n].State
			i, err := o.Instance(ctx, oc.Env, orders.Ref{Service: all[n].Service, ID: all[n].ID})
			if ctx.Err() != nil {
				return nil, fault.Wrap(fault.Unknown, "wait", context.Cause(ctx))
			}
			if err != nil {
				return nil, err
			}
			if all[n] = i; i.State != before {
				oc.Say("%s: %s → %s", InstanceName(&i), before, i.State)
			}
		}
	}
	return all, nil
}
