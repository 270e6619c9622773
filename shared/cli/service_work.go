package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/service/callback"
	"southbound/shared/service/fulfil"
)

// modelsDir is where models are unpacked in the data directory.
const modelsDir = "models"

// ordersWorker returns what works on the orders of an environment.
func (a *app) ordersWorker(env, label string, deploy func(context.Context) error) *fulfil.Worker {
	return fulfil.New(fulfil.Config{
		Env: env, Instances: a.own.Instances(), Definitions: a.own.Definitions(), Engine: a.engine,
		Types: a.types, Mapper: a.mapper, Agent: a.packs.Check, Dir: filepath.Join(a.data, modelsDir),
		Alone: a.own.Alone, Deploy: deploy,
		Print:  func(text string) { fmt.Fprint(a.err, text) },
		Failed: func(err error) { a.say("southbound: %sorders: %v", label, err) },
	})
}

// worksOnOrders works on the orders of the environment, and deploys what they need, while a command
// waits and no `southbound run` is at work. What it returns ends that.
func (a *app) worksOnOrders(ctx context.Context) (end func()) {
	if a.remote() {
		return func() {}
	}
	w := a.ordersWorker(a.env, "", func(ctx context.Context) error {
		_, err := a.runner().Drain(ctx, a.env, nil)
		return err
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Run(ctx, nil); ctx.Err() == nil {
			a.say("southbound: orders: %v", err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// pollServicesEvery is how often an environment without services is asked whether it has got some.
const pollServicesEvery = time.Second

// serveOrders works on the orders of an environment until ctx ends, from when it has services.
func (a *app) serveOrders(ctx context.Context, env, label string) {
	for {
		_, err := a.own.Definitions().Bundle(ctx, env)
		if err == nil {
			err = a.ordersWorker(env, label, nil).Run(ctx, nil)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil && fault.KindOf(err) != fault.NotFound {
			a.say("southbound: %sorders: %v", label, err)
		}
		if (local.Clock{}).Sleep(ctx, pollServicesEvery) != nil {
			return
		}
	}
}

// callCallbacks calls the callbacks of an environment until ctx ends, unless another process does.
func (a *app) callCallbacks(ctx context.Context, env, label string) {
	failed := func(err error) { a.say("southbound: %s%v", label, err) }
	for ctx.Err() == nil {
		free, ok, err := a.own.Alone(env + ".callbacks")
		if err != nil {
			failed(err)
		}
		if ok {
			callback.New(callback.Config{
				Env: env, Store: a.own.Callbacks(), Instances: a.own.Instances(),
				Caller: callback.NewCaller(true, 0), Clock: local.Clock{}, Failed: failed,
			}).Run(ctx)
			free()
			return
		}
		_ = (local.Clock{}).Sleep(ctx, pollServicesEvery) // what cuts it short ends the loop
	}
}
