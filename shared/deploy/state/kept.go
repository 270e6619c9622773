package state

import (
	"context"

	"southbound/shared/resource"
)

// MaxKept is the size in bytes of the state that a handler may keep of one resource.
const MaxKept = 4 << 20

// Kept is the state that a handler keeps of one resource, sealed.
type Kept struct {
	ID resource.ID
	// Revision is a unique text that each write replaces.
	Revision string
	// Sealed is the sealed state: see Sealer. At most MaxKept bytes and 1 KiB.
	Sealed []byte
}

// Keeps reads the states that handlers keep; commits write and remove them. See
// docs/design/kept.md.
type Keeps interface {
	// Kept returns the kept states of these ids in any order; ids without one are left out.
	Kept(ctx context.Context, env string, ids []resource.ID) ([]Kept, error)
	// KeptIDs returns the ids that have a kept state, sorted.
	KeptIDs(ctx context.Context, env string) ([]resource.ID, error)
}

// Sealer encrypts kept states. It is safe for concurrent use.
type Sealer interface {
	// Seal returns a state of a resource in a form that only Open reads, for the same environment
	// and id.
	Seal(ctx context.Context, env string, id resource.ID, plain []byte) ([]byte, error)
	// Open returns the state in a result of Seal. It returns Damaged if the result was changed or
	// belongs to another resource, and NotFound if its key is not known.
	Open(ctx context.Context, env string, id resource.ID, sealed []byte) ([]byte, error)
}
