package types

import "context"

// Reader reads the resource types of a home.
type Reader interface {
	// Types returns the resource types, by name.
	Types(ctx context.Context) ([]Type, error)
}
