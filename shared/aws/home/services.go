package home

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/compiles"
	"southbound/shared/aws/services"
	"southbound/shared/fault"
	"southbound/shared/service/orders"
)

// services opens the stores of services.
func (h *Home) services(api *dynamodb.Client) error {
	var err error
	c := services.Config{API: api, Table: h.Config.Table, Cache: &services.CallbackCache{}, Mark: true}
	if h.Instances, err = services.New(c); err != nil {
		return err
	}
	if h.Definitions, err = services.NewDefinitions(c); err != nil {
		return err
	}
	if h.Callbacks, err = services.NewCallbacks(c); err != nil {
		return err
	}
	if h.Config.CompileQueue != "" {
		h.Compiles = &compiles.Notifier{API: h.SQS, URL: h.Config.CompileQueue}
	}
	return nil
}

// waits reports whether instances of an environment have tasks, or callbacks have pending events.
// Such an environment must not be marked as quiet.
func (h *Home) waits(ctx context.Context, env string) (bool, error) {
	_, err := h.Definitions.Bundle(ctx, env)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return false, nil
	case err != nil:
		return false, err
	}
	waits, err := h.Instances.Waits(ctx, env)
	if waits || err != nil {
		return waits, err
	}
	// Callbacks are read last, because the last task of an instance may add pending events.
	return h.Callbacks.Waits(ctx, env)
}

// Orders returns the service that handles orders. It notifies the compile function of its writes.
// If there is no compile queue, Orders returns nil.
func (h *Home) Orders() *orders.Service {
	if h.Compiles == nil {
		return nil
	}
	lost := func(ctx context.Context, env string, err error) {
		if h.Config.Log != nil {
			h.Config.Log.WarnContext(ctx,
				"the compile function was not notified; the sweep does it",
				"environment", env, "error", err.Error())
		}
	}
	store := &compiles.Store{
		Store: h.Instances, OrderBook: h.Instances, Notifier: h.Compiles, Waker: h.State,
		Lost:  lost,
		Noted: h.Callbacks.Noted,
	}
	return orders.New(orders.Config{
		Definitions: h.Definitions, Now: h.clock.Now, Instances: store, Book: store,
		Callbacks: h.Callbacks,
	})
}

// OrderFinder returns the finder that notifies the compile function of unfinished work on orders.
// If there is no compile queue, it returns nil.
func (h *Home) OrderFinder() *compiles.Finder {
	if h.Compiles == nil {
		return nil
	}
	return &compiles.Finder{
		Notifier: h.Compiles, Definitions: h.Definitions, Instances: h.Instances,
		Calls: h.Callbacks, Followed: h.Instances, Now: h.clock.Now,
	}
}
