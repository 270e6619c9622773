// Package provider is the kit for people who write handlers: code that reads, creates, updates and
// deletes the things of one resource type. It knows nothing of the engine that calls it.
package provider

import (
	"context"
	"errors"
	"io"
	"time"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/entity"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Definition registers a type with the handler that serves it.
type Definition struct {
	Type    schema.Type
	Handler Handler
	// Transport, when not nil, is one that the pack brings; see Transport.
	Transport *Transport
	// Entities say which entities of models become resources of the type; see Mapper.
	Entities []entity.Mapping
}

// Types returns the types of definitions.
func Types(of []Definition) []schema.Type {
	types := make([]schema.Type, len(of))
	for i := range of {
		types[i] = of[i].Type
	}
	return types
}

// NewRegistry compiles the types of definitions. All that is wrong with them is returned at once, as
// by schema.NewRegistry, a handler that is missing included.
func NewRegistry(of []Definition) (*schema.Registry, error) {
	types, err := schema.NewRegistry(Types(of)...)
	var problems diag.Problems
	for i := range of {
		if of[i].Handler == nil {
			problems.Add(diag.Problem{Resource: of[i].Type.Name,
				Message: "the definition has no handler",
				Hint:    "set Handler of the provider.Definition"})
		}
	}
	if len(problems) == 0 {
		return types, err
	}
	var wrong diag.Problems
	if err != nil && !errors.As(err, &wrong) {
		return nil, errors.Join(err, problems)
	}
	return nil, append(wrong, problems...)
}

// Handlers returns the handlers of definitions by the names of their types.
func Handlers(of []Definition) map[string]Handler {
	byType := make(map[string]Handler, len(of))
	for i := range of {
		byType[of[i].Type.Name] = of[i].Handler
	}
	return byType
}

// Handler manages the things of one resource type. Every call is idempotent and may be repeated
// after a crash at any instant. A handler keeps no state between calls: it may be called for
// different agents at the same time.
type Handler interface {
	// Read reports the observed state and changes nothing. What is missing is Observation{Exists:
	// false}, not an error. It reports the attributes the type declares as properties, init_only
	// and read_only, in the same form as desired values.
	Read(ctx *Context, req ReadRequest) (Observation, error)
	// Create makes what Read reported missing.
	Create(ctx *Context, req CreateRequest) (Result, error)
	// Update changes what Read reported different; req says what differs.
	Update(ctx *Context, req UpdateRequest) (Result, error)
	// Delete removes what Read reported; deleting what is gone succeeds.
	Delete(ctx *Context, req DeleteRequest) (Result, error)
}

// Resource is the desired state as a handler sees it: defaults filled in, parameters, facts and
// secrets resolved.
type Resource struct {
	ID         resource.ID
	Type       string
	Agent      string
	Attributes map[string]any
	Purged     bool
}

// ReadRequest asks for the observed state of one resource.
type ReadRequest struct{ Resource Resource }

// CreateRequest asks for a missing thing to be made.
type CreateRequest struct {
	Resource Resource
	// Token is an idempotency key for targets that take one. For types whose target chooses
	// identities (Assigned) it is the same for every try at this create, until it is known what
	// became of it, and different for any other; for others each try has its own.
	Token string
}

// UpdateRequest asks for differences to be removed.
type UpdateRequest struct {
	Resource Resource
	Observed Observation
	Changes  map[string]diff.Diff // unredacted: never log it whole
}

// DeleteRequest asks for a thing to be removed.
type DeleteRequest struct {
	Resource Resource
	Observed Observation
}

// Observation is what was found.
type Observation struct {
	Exists     bool
	Attributes map[string]any
	// Mark, unless it is empty, differs once something differs that no attribute reports and that a
	// delete or an update destroys: the bytes of a file that is removed, what is in a directory. A
	// kept plan is refused if it has changed. It is wanted in a dry run alone.
	Mark string
}

// Result is what a change led to; the zero value is "done".
type Result struct {
	// Again, when not nil, says that the target is still busy: ask again later.
	Again *Again
}

// Again asks to be called again. State is handed back through Context.State, at most 4 KiB.
type Again struct {
	After time.Duration
	State []byte
}

// The optional interfaces. A handler implements those it can do better than the engine does
// without.

// Differ compares instead of diff.Compare; it returns differences by attribute.
type Differ interface {
	Diff(ctx *Context, desired Resource, observed Observation) (map[string]diff.Diff, error)
}

// Canonicaliser brings desired attributes into the form that Read reports, before they are
// compared.
type Canonicaliser interface {
	Canonicalise(attributes map[string]any) (map[string]any, error)
}

// BatchReader reads many resources in one call. It returns a reading for each item, in order.
type BatchReader interface {
	ReadBatch(ctx context.Context, items []BatchRead) []Reading
}

// BatchRead is one item of a batch.
type BatchRead struct {
	Context *Context
	ReadRequest
}

// Reading is what came of one item.
type Reading struct {
	Observation Observation
	Err         error
}

// BatchApplier changes many resources, none of which requires another, in one call. It returns an
// outcome for each, in order.
type BatchApplier interface {
	ApplyBatch(ctx context.Context, items []BatchChange) []Applied
}

// BatchChange is one item of a batch.
type BatchChange struct {
	Context  *Context
	Change   diff.Change // Created, Updated or Purged
	Resource Resource
	Observed Observation
	Changes  map[string]diff.Diff // of an update
	Token    string               // of a create
}

// Applied is what came of one item.
type Applied struct {
	Result Result
	Err    error
}

// Reloader is called after a deploy of a resource that was told (by an event) that something it
// requires has changed.
type Reloader interface {
	Reload(ctx *Context, req ReadRequest) error
}

// FactReader reports facts of a resource when they are asked for; values are text.
type FactReader interface {
	Facts(ctx *Context, req ReadRequest) (map[string]string, error)
}

// Finder decides what became of a create that may have happened and was not recorded. found is
// false only when it is certain that nothing was made with this token, or that creating with it
// once more makes no second thing. See ErrUndecided.
type Finder interface {
	FindCreated(ctx *Context, req CreateRequest) (found bool, err error)
}

// Timeouter gives the time limit of one call for one resource, for types in which an attribute says
// it; 0 means the type's.
type Timeouter interface {
	CallTimeout(r Resource) time.Duration
}

// Files gives read access to uploaded bytes.
type Files interface {
	// Open returns the bytes with that hash; the caller closes it. A missing one is fault.NotFound.
	Open(ctx context.Context, hash string) (io.ReadCloser, error)
}

// Difference is what differs in one attribute.
type Difference = diff.Diff
