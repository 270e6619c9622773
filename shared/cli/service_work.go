package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/service/callback"
	"southbound/shared/service/fulfil"
	"southbound/shared/service/orders"
)

// modelsDir is where models are unpacked in the data directory.
const modelsDir = "models"

// orderServer processes orders of services in the embedded home.
type orderServer struct {
	*console
	*location
	*session
	*program
}

// ordersWorker returns the worker for the orders of an environment.
func (o *orderServer) ordersWorker(
	env, label string, deploy func(context.Context) error,
) *fulfil.Worker {
	return fulfil.New(fulfil.Config{
		Env: env, Instances: o.own.Instances(), Definitions: o.own.Definitions(), Engine: o.engine,
		Types: o.types, Mapper: o.mapper, Agent: o.packs.Check,
		Dir:   filepath.Join(o.data, modelsDir),
		Alone: o.own.Alone, Deploy: deploy,
		Print:  func(text string) { fmt.Fprint(o.err, text) },
		Failed: func(err error) { o.say("southbound: %sorders: %v", label, err) },
	})
}

// worksOnOrders processes the orders of the environment, and deploys their resources, while a
// command waits and no `southbound run` is active. The function it returns stops the processing.
func (o *orderServer) worksOnOrders(ctx context.Context) (end func()) {
	if o.remote() {
		return func() {}
	}
	w := o.ordersWorker(o.env, "", func(ctx context.Context) error {
		_, err := o.runner().Drain(ctx, o.env, nil)
		return err
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Run(ctx, nil); ctx.Err() == nil {
			o.say("southbound: orders: %v", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// sayUnserved warns people if an order waits and no process works on orders here.
func sayUnserved(s *session, all ...orders.Instance) {
	waits := slices.ContainsFunc(all, func(i orders.Instance) bool { return !i.Settled })
	if !waits || s.location.remote() {
		return
	}
	free, ok, err := s.own.Alone(s.location.env)
	if err != nil || !ok {
		return // the worker reports its errors
	}
	free()
	s.console.say("no process works on orders here, so this one waits: `southbound run` does, and " +
		"so does an order with --wait")
}

// pollServicesEvery is how often an environment without services is checked for new ones.
const pollServicesEvery = time.Second

// serveOrders processes the orders of an environment until ctx ends, as soon as it has services.
func (o *orderServer) serveOrders(ctx context.Context, env, label string) {
	for {
		_, err := o.own.Definitions().Bundle(ctx, env)
		if err == nil {
			err = o.ordersWorker(env, label, nil).Run(ctx, nil)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && fault.KindOf(err) != fault.NotFound {
			o.say("southbound: %sorders: %v", label, err)
		}
		if (local.Clock{}).Sleep(ctx, pollServicesEvery) != nil {
			return
		}
	}
}

// callCallbacks delivers the webhooks of an environment until ctx ends, unless another process
// does.
func (o *orderServer) callCallbacks(ctx context.Context, env, label string) {
	failed := func(err error) { o.say("southbound: %s%v", label, err) }
	for ctx.Err() == nil {
		free, ok, err := o.own.Alone(env + ".callbacks")
		if err != nil {
			failed(err)
		}
		if ok {
			callback.New(callback.Config{
				Env: env, Store: o.own.Callbacks(), Instances: o.own.Instances(),
				Caller: callback.NewCaller(true, 0), Clock: local.Clock{}, Failed: failed,
				Secrets: o.engine.Secrets,
			}).Run(ctx)
			free()
			return
		}
		_ = (local.Clock{}).Sleep(ctx, pollServicesEvery) // an error of Sleep ends the loop
	}
}
