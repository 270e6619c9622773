// Package provider is the kit for authors of handlers: code that reads, creates, updates and
// deletes the things of one resource type. It does not depend on the engine that calls it.
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

// Definition registers a type with the handler that serves it, or a bridge.
type Definition struct {
	Type    schema.Type
	Handler Handler
	// Bridge, if not nil, serves types that are declared as data. Type and Handler are then not set.
	Bridge *Bridge
	// Transport, if not nil, is a transport that the pack brings; see Transport. A definition may have a
	// transport and nothing else: its program then knows the options of agents, and serves no type.
	Transport *Transport
	// Entities define which entities of models become resources of the type; see Mapper.
	Entities []entity.Mapping
}

// Types returns the types of definitions.
func Types(of []Definition) []schema.Type {
	types := make([]schema.Type, 0, len(of))
	for i := range of {
		if !of[i].untyped() {
			types = append(types, of[i].Type)
		}
	}
	return types
}

// NewRegistry compiles the types of definitions. It returns all errors together, as
// schema.NewRegistry does, including missing handlers and Mismatches.
func NewRegistry(of []Definition) (*schema.Registry, error) {
	types, err := schema.NewRegistry(Types(of)...)
	problems := wrongBridges(of)
	for i := range of {
		if of[i].Handler == nil && !of[i].untyped() {
			problems.Add(diag.Problem{Resource: of[i].Type.Name,
				Message: "the definition has no handler",
				Hint:    "set Handler of the provider.Definition"})
		}
		for _, m := range Mismatches(of[i].Handler) {
			problems.Add(diag.Problem{Resource: of[i].Type.Name, Message: m.Message, Hint: m.Hint})
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
		if !of[i].untyped() {
			byType[of[i].Type.Name] = of[i].Handler
		}
	}
	return byType
}

// Handler manages the things of one resource type. Every call is idempotent and may be repeated
// after a crash at any instant. A handler keeps no state between calls: it may be called for
// different agents at the same time.
type Handler interface {
	// Read reports the observed state and changes nothing. A missing thing is Observation{Exists:
	// false}, not an error. Read reports the attributes that the type declares as properties,
	// init_only and read_only, in the same form as desired values.
	Read(ctx *Context, req ReadRequest) (Observation, error)
	// Create makes a thing that Read reported missing.
	Create(ctx *Context, req CreateRequest) (Result, error)
	// Update changes the attributes that Read reported different; req has the differences.
	Update(ctx *Context, req UpdateRequest) (Result, error)
	// Delete removes a thing that Read reported; deleting a missing thing succeeds.
	Delete(ctx *Context, req DeleteRequest) (Result, error)
}

// Resource is the desired state in the form for handlers: defaults filled in, parameters, facts and
// secrets resolved.
type Resource struct {
	ID         resource.ID
	Type       string
	Agent      string
	Attributes map[string]any
	Purged     bool
}

// ReadRequest requests the observed state of one resource.
type ReadRequest struct{ Resource Resource }

// CreateRequest requests the creation of a missing thing.
type CreateRequest struct {
	Resource Resource
	// Token is an idempotency key for targets that accept one. For types whose target chooses
	// identities (Assigned), all attempts at one create share a token until its result is known,
	// and different creates have different tokens. For other types each attempt has its own.
	Token string
	// Carried is the Carried of the observation that Read returned in this run.
	Carried any
}

// UpdateRequest requests the removal of differences.
type UpdateRequest struct {
	Resource Resource
	Observed Observation
	Changes  map[string]diff.Diff // unredacted: never log it whole
}

// DeleteRequest requests the removal of a thing.
type DeleteRequest struct {
	Resource Resource
	Observed Observation
}

// Observation is the observed state of a thing.
type Observation struct {
	Exists     bool
	Attributes map[string]any
	// Mark, unless it is empty, identifies the parts of the thing that no attribute reports and
	// that a delete or an update destroys. Examples are the bytes of a removed file, and the
	// entries of a directory. Mark changes whenever they do. A kept plan is rejected if Mark has
	// changed. Only a dry run uses it.
	Mark string
	// Carried is any value that Read passes to Diff, InSync, Noop, Create, Update and Delete of the
	// same run, such as the full description of the thing. It is never stored, logged or sent. It is
	// nil in a run that did not call Read, or whose connection was lost since. Handlers must accept
	// nil, and may change what a pointer points to.
	Carried any
}

// Result is the result of a change; the zero value is "done".
type Result struct {
	// Again, if not nil, reports that the target is still busy: the engine calls again later.
	Again *Again
}

// Again requests another call later. Context.State returns State in that call; at most 4 KiB.
type Again struct {
	After time.Duration
	State []byte
}

// The optional interfaces. A handler implements those for which it does better than the engine's
// default. A method that has the name of one and another signature is an error; see Mismatches.

// Differ replaces diff.Compare; it returns differences by attribute. A difference with Replace
// requires a replacement of the thing, as an attribute with the behaviour schema.Replace does.
type Differ interface {
	Diff(ctx *Context, desired Resource, observed Observation) (map[string]diff.Diff, error)
}

// Canonicaliser converts desired attributes to the form that Read reports, before they are
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

// Reading is the result for one item.
type Reading struct {
	Observation Observation
	Err         error
}

// BatchApplier changes many resources, none of which requires another, in one call. It returns a
// result for each, in order.
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

// Applied is the result for one item.
type Applied struct {
	Result Result
	Err    error
}

// Reloader is called after a deploy of a resource that was notified, by an event, of a change of a
// resource that it requires.
type Reloader interface {
	Reload(ctx *Context, req ReadRequest) error
}

// FactReader reports facts of a resource on request, by name. See Context.Fact for their values.
type FactReader interface {
	Facts(ctx *Context, req ReadRequest) (map[string]any, error)
}

// Finder determines the result of a create that may have happened and was not recorded. It returns
// found as false only if it is certain that this token created nothing, or that repeating the
// create with it makes no second thing. See ErrUndecided.
type Finder interface {
	FindCreated(ctx *Context, req CreateRequest) (found bool, err error)
}

// Timeouter returns the time limit of one call for one resource, for types with an attribute that
// sets it; 0 means the type's limit.
type Timeouter interface {
	CallTimeout(r Resource) time.Duration
}

// Files gives read access to uploaded bytes.
type Files interface {
	// Open returns the bytes with that hash; the caller closes them. Missing bytes are
	// fault.NotFound.
	Open(ctx context.Context, hash string) (io.ReadCloser, error)
}

// Difference is the difference of one attribute.
type Difference = diff.Diff
