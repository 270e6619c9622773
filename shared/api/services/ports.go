package services

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

// Offerer replaces the services of an environment.
type Offerer interface {
	// Offer replaces the services of an environment, which are compiled with a model bundle from
	// then on, and returns the change of each. See definition.Store.
	Offer(ctx context.Context, env string, bundle state.Blob,
		services []definition.Service) ([]OfferedService, error)
}

// Catalog reads the services that can be ordered, and moves their instances to other definitions.
type Catalog interface {
	// Catalog returns the services.
	Catalog(ctx context.Context, env string, versions, counts bool) ([]orders.Offer, error)
	// Offer returns one service; below version 0, the version of new instances.
	Offer(ctx context.Context, env, name string, version int, counts bool) (orders.Offer, error)
	// Rollouts returns the versions of definition and model of a service's instances.
	Rollouts(ctx context.Context, env, service, after string) (orders.RolloutPage, error)
	// Roll moves an instance to the current version of its service, or back.
	Roll(ctx context.Context, env string, w orders.Wish, back bool) (orders.Instance, error)
}
