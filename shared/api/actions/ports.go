package actions

import (
	"context"

	"southbound/shared/api/paging"
)

// Reader reads actions.
type Reader interface {
	// Actions returns actions, newest first.
	Actions(ctx context.Context, env string, q ActionQuery) ([]Action, error)
	// ActionsPage returns a page of actions, newest first. The Next of a page is the Before of the
	// query of the following page.
	ActionsPage(ctx context.Context, env string, q ActionQuery) (paging.Page[Action], error)
}
