package parameters

import (
	"context"

	"southbound/shared/api/paging"
	"southbound/shared/deploy/state"
)

// Reader reads parameters and facts.
type Reader interface {
	// Parameters returns parameters, or facts.
	Parameters(ctx context.Context, env string, facts bool) ([]state.Parameter, error)
	// ParametersPage returns a page of the parameters, sorted by name or name.desc, or of the facts,
	// sorted by resource and name.
	ParametersPage(ctx context.Context, env string, q Query) (paging.Page[state.Parameter], error)
	// Parameter returns a parameter of the environment; NotFound if it does not exist.
	Parameter(ctx context.Context, env, name string) (state.Parameter, error)
	// ParameterHistory returns the changes of a parameter, the newest first, as far back as actions
	// are kept; none: it was never set.
	ParameterHistory(ctx context.Context, env, name string) ([]state.ParameterChange, error)
}

// Writer changes parameters.
type Writer interface {
	// SetParameter sets a parameter and returns it as stored.
	SetParameter(ctx context.Context, env, name, value string) (state.Parameter, error)
	// Suggest sets the suggested values of a parameter for forms, as models do. It stores nothing
	// if the parameter already has them.
	Suggest(ctx context.Context, env, name string, values []any) error
	// DeleteParameter removes a parameter; a missing one is no error.
	DeleteParameter(ctx context.Context, env, name string) error
}
