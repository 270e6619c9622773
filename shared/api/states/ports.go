package states

import (
	"context"

	"southbound/shared/deploy"
	"southbound/shared/resource"
)

// Reader reads kept states. Its methods return NotFound if a resource has none.
type Reader interface {
	// KeptState describes the kept state of a resource.
	KeptState(ctx context.Context, env string, id resource.ID) (Kept, error)
	// ExportState returns the kept state of a resource, sealed.
	ExportState(ctx context.Context, env string, id resource.ID) (Sealed, error)
}

// Operator changes kept states; see deploy.Engine.ImportKept, AdoptKept and ForgetKept.
type Operator interface {
	// ImportState replaces the kept state of a resource by an exported one. It returns Invalid for a
	// state of another resource or environment.
	ImportState(ctx context.Context, env string, id resource.ID, s Sealed) (Imported, error)
	// AdoptStates stores the states of things that no resource manages yet; see
	// deploy.Engine.AdoptKept. A server returns Unsupported.
	AdoptStates(ctx context.Context, env string, all []deploy.AdoptedState) error
	// ForgetState removes the kept state of a resource, and describes the removed state.
	ForgetState(ctx context.Context, env string, id resource.ID) (Kept, error)
}
