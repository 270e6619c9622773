package dynamo

import (
	"context"
	"time"

	"southbound/shared/deploy/state"
)

// Log holds actions that were committed some time ago. Package logs implements it. Unlogged and
// Logged transfer actions to it.
type Log interface {
	// Actions returns the logged actions that q selects and that finished at since or later, newest
	// first.
	Actions(
		ctx context.Context,
		env string,
		q state.ActionQuery,
		since time.Time,
	) ([]state.Action, error)
	// Ended returns the ids of logged actions that finished at from or later and before to.
	Ended(ctx context.Context, env string, from, to time.Time) (map[string]bool, error)
	// Expire removes expired actions that are not removed automatically.
	Expire(ctx context.Context, env string) error
}
