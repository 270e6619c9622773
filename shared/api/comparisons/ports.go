package comparisons

import (
	"context"

	"southbound/shared/api/results"
	"southbound/shared/deploy"
)

// Comparer compares with reality and changes nothing. Filters are the terms that state.ParseFilter reads.
type Comparer interface {
	// DryRun compares the matching resources of a version (0: the released one) with reality. With
	// whole, values are not truncated.
	DryRun(ctx context.Context, env string, version int, filter []string,
		whole bool) (deploy.DryRun, error)
	// Plan returns all changes that an apply would make; see deploy.Engine.Preview.
	Plan(ctx context.Context, env string, x deploy.Export, opts deploy.CompareOptions) (
		deploy.DryRun, error)
	// Discover describes the existing things of a type on an agent; see deploy.Engine.Discover.
	Discover(ctx context.Context, env string, d Discover) (results.Discovered, error)
}
