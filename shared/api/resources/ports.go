package resources

import (
	"context"

	"southbound/shared/api/paging"
	"southbound/shared/resource"
)

// Reader reads the state of resources. Filters are the terms that state.ParseFilter reads.
type Reader interface {
	// Resources calls f for every resource that matches, in order of id, until f returns an error.
	Resources(ctx context.Context, env string, filter []string, f func(*Resource) error) error
	// ResourcesPage returns a page of the resources that match. It is sorted by id, id.desc, or
	// status: the worst first, then by id. In that order a running resource stands at the status
	// that it had before the run.
	ResourcesPage(ctx context.Context, env string, q Query) (paging.Page[Resource], error)
	// Resource returns one resource.
	Resource(ctx context.Context, env string, id resource.ID) (Detail, error)
	// Health returns the unhealthy resources.
	Health(ctx context.Context, env string) (Health, error)
}

// Operator acts on resources. Filters are the terms that state.ParseFilter reads.
type Operator interface {
	// Schedule schedules work on the released version and returns the number of scheduled
	// resources.
	Schedule(ctx context.Context, env string, w Work) (int, error)
	// Forget forgets a resource that left the model, or an agent; see deploy.Engine.Forget and
	// ForgetAgent.
	Forget(ctx context.Context, env string, f Forgetting) (Forgotten, error)
}
