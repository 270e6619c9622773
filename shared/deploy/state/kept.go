package state

import (
	"context"
	"encoding/binary"
	"time"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// MaxKept is the size in bytes of the state that a handler may keep of one resource, with its secret
// outputs.
const MaxKept = 2 << 20

// maxKeptHead is the size in bytes of the head of a Plain.
const maxKeptHead = binary.MaxVarintLen64

// MaxPlain is the size in bytes of the largest Plain.
const MaxPlain = MaxKept + maxKeptHead

// Plain is a kept state before it is sealed.
type Plain struct {
	State   []byte // as the handler has it
	Outputs []byte // canonical JSON of a map; empty: there are none
}

// Encode returns the form that is sealed: the length of the outputs, the outputs, the state.
func (p Plain) Encode() []byte {
	out := make([]byte, 0, maxKeptHead+len(p.Outputs)+len(p.State))
	out = binary.AppendUvarint(out, uint64(len(p.Outputs)))
	return append(append(out, p.Outputs...), p.State...)
}

// DecodePlain reverses Encode. The result shares the bytes of b.
func DecodePlain(b []byte) (Plain, error) {
	n, head := binary.Uvarint(b)
	if head <= 0 || n > uint64(len(b)-head) {
		return Plain{}, fault.New(fault.Damaged, "read kept state", "the opened state is damaged")
	}
	at := head + int(n)
	return Plain{Outputs: b[head:at:at], State: b[at:]}, nil
}

// Kept is the state that a handler keeps of one resource, sealed.
type Kept struct {
	ID resource.ID
	// Revision is a unique text that each write replaces.
	Revision string
	// Outputs is the revision that brought the present secret outputs, which are part of the sealed
	// state; "": there are none.
	Outputs string
	// Sealed is the sealed state: see Sealer. At most MaxSealed bytes.
	Sealed []byte
}

// FollowUp returns the outbox entry of a state with other secret outputs than the state that it
// replaces: resources that refer to them get the new version.
func (k *Kept) FollowUp(at time.Time) []Outbox {
	if k.Outputs == "" || k.Outputs != k.Revision {
		return nil
	}
	return []Outbox{{ID: k.Revision + "-" + string(OutboxFact), Kind: OutboxFact, Of: k.ID, At: at}}
}

// MaxSealed is the size in bytes of the largest sealed state.
const MaxSealed = MaxKept + 1<<10

// Keeps reads the states that handlers keep; commits write and remove them. See
// docs/design/kept.md.
type Keeps interface {
	// Kept returns the kept states of these ids in any order; ids without one are left out.
	Kept(ctx context.Context, env string, ids []resource.ID) ([]Kept, error)
	// KeptOutputs returns Kept.Outputs of the ids that have secret outputs. It reads no sealed state.
	KeptOutputs(ctx context.Context, env string, ids []resource.ID) (map[resource.ID]string, error)
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
