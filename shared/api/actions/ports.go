package actions

import "context"

// Reader reads actions.
type Reader interface {
	// Actions returns actions, newest first.
	Actions(ctx context.Context, env string, q ActionQuery) ([]Action, error)
}
