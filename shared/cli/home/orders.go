package home

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"southbound/shared/cli/output"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/service/callback"
	"southbound/shared/service/fulfil"
	"southbound/shared/service/orders"
)

// modelsDir is where models are unpacked in the data directory.
const modelsDir = "models"

// OrderServer processes orders of services in the embedded home.
type OrderServer struct {
	*output.Console
	*Location
	*Session
	*Program
}

// ordersWorker returns the worker for the orders of an environment.
func (o *OrderServer) ordersWorker(
	env, label string, deploy func(context.Context) error,
) *fulfil.Worker {
	return fulfil.New(fulfil.Config{
		Env: env, Instances: o.Own.Instances(), Definitions: o.Own.Definitions(), Engine: o.Engine,
		Types: o.own, Mapper: o.Mapper, Agent: o.Packs.Check, // a stored model has its own lock file
		Dir:   filepath.Join(o.Data, modelsDir),
		Alone: o.Own.Alone, Deploy: deploy,
		Print:  func(text string) { fmt.Fprint(o.Err, text) },
		Failed: func(err error) { o.Say("southbound: %sorders: %v", label, err) },
	})
}

// WorksOnOrders processes the orders of the environment, and deploys their resources, while a
// command waits and no `southbound run` is active. The function it returns stops the processing.
func (o *OrderServer) WorksOnOrders(ctx context.Context) (end func()) {
	if o.Remote() {
		return func() {}
	}
	w := o.ordersWorker(o.Env, "", func(ctx context.Context) error {
		_, err := o.Runner().Drain(ctx, o.Env, nil)
		return err
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Run(ctx, nil); ctx.Err() == nil {
			o.Say("southbound: orders: %v", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// SayUnserved warns people if an order waits and no process works on orders here.
func SayUnserved(s *Session, all ...orders.Instance) {
	waits := slices.ContainsFunc(all, func(i orders.Instance) bool { return !i.Settled })
	if !waits || s.Location.Remote() {
		return
	}
	free, ok, err := s.Own.Alone(s.Location.Env)
	if err != nil || !ok {
		return // the worker reports its errors
	}
	free()
	s.Console.Say("no process works on orders here, so this one waits: `southbound run` does, and " +
		"so does an order with --wait")
}

// pollServicesEvery is how often an environment without services is checked for new ones.
const pollServicesEvery = time.Second

// ServeOrders processes the orders of an environment until ctx ends, as soon as it has services.
func (o *OrderServer) ServeOrders(ctx context.Context, env, label string) {
	for {
		_, err := o.Own.Definitions().Bundle(ctx, env)
		if err == nil {
			err = o.ordersWorker(env, label, nil).Run(ctx, nil)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && fault.KindOf(err) != fault.NotFound {
			o.Say("southbound: %sorders: %v", label, err)
		}
		if (local.Clock{}).Sleep(ctx, pollServicesEvery) != nil {
			return
		}
	}
}

// CallCallbacks delivers the webhooks of an environment until ctx ends, unless another process
// does.
func (o *OrderServer) CallCallbacks(ctx context.Context, env, label string) {
	failed := func(err error) { o.Say("southbound: %s%v", label, err) }
	for ctx.Err() == nil {
		free, ok, err := o.Own.Alone(env + ".callbacks")
		if err != nil {
			failed(err)
		}
		if ok {
			callback.New(callback.Config{
				Env: env, Store: o.Own.Callbacks(), Instances: o.Own.Instances(),
				Caller: callback.NewCaller(true, 0), Clock: local.Clock{}, Failed: failed,
				Secrets: o.Engine.Secrets,
			}).Run(ctx)
			free()
			return
		}
		_ = (local.Clock{}).Sleep(ctx, pollServicesEvery) // an error of Sleep ends the loop
	}
}
