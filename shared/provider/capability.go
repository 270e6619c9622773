package provider

import (
	"context"
	"reflect"

	"southbound/shared/diff"
)

// Partial is a handler whose methods implement more optional interfaces than it can serve, such as
// a handler that delegates to others. See As.
type Partial interface {
	// Serves reports whether the handler supports an optional interface, such as
	// reflect.TypeFor[Reloader]().
	Serves(capability reflect.Type) bool
}

// As returns a handler as one of the optional interfaces, and whether it supports that. All callers
// of handlers must use As.
func As[T any](h Handler) (T, bool) {
	t, ok := h.(T)
	if p, partial := h.(Partial); ok && partial && !p.Serves(reflect.TypeFor[T]()) {
		var none T
		return none, false
	}
	return t, ok
}

// Selective is a Reloader that never reloads some resources: a command that does not run on reload,
// for example.
type Selective interface {
	// Reloads reports whether Reload may do anything for a resource.
	Reloads(r Resource) bool
}

// Reloads reports whether a handler reloads a resource that is notified of a change.
func Reloads(h Handler, r Resource) bool {
	if _, can := As[Reloader](h); !can {
		return false
	}
	s, selects := As[Selective](h)
	return !selects || s.Reloads(r)
}

// Rememberer receives, through Context.Known, facts that earlier runs of a resource reported. These
// are facts that Read cannot find out, such as the id that a target chose when it created the
// thing.
type Rememberer interface {
	// Remembers names those facts; none: the resource needs none.
	Remembers(r Resource) []string
}

// Keeper is a handler that keeps state of a resource between runs: see Context.Keep.
type Keeper interface {
	// Keeps reports whether the handler keeps state of a resource, from its attributes alone. If it
	// does, the state is read before each run.
	Keeps(r Resource) bool
}

// MaxKept is the size in bytes of the state that a handler may keep of one resource.
const MaxKept = 2 << 20

// KeptShower is a Keeper whose states people may see, without their secrets.
type KeptShower interface {
	// ShowKept returns the contents of the kept state of a resource. The attributes of the resource have
	// references. It calls no target, and has no connection.
	ShowKept(ctx context.Context, r Resource, kept []byte) (ShownKept, error)
}

// ShownKept is a kept state for people.
type ShownKept struct {
	// Attributes are values by the names of attributes. Hidden stands for each secret value. The engine
	// hides attributes whose value in the resource has a secret, and texts of secret outputs.
	Attributes map[string]any
	Notes      []string // on the object, such as that it has to be replaced
}

// Lister lists the things that exist on the agent, managed or not.
type Lister interface {
	// List calls found for each thing, in any order, until found returns an error, which it
	// returns. The context has no resource: its ID has the type and the agent, and * for every
	// name.
	List(ctx *Context, found func(Found) error) error
}

// Importer describes existing things by the identifiers that the target has for them. The handler of
// a type whose things cannot be listed, or cannot be read without such an identifier, implements it
// instead of Lister.
type Importer interface {
	// Import calls found for the thing with each identifier, in their order, or if there are none for
	// each thing that the target lists. It returns the first error of found. The context is that of
	// Lister.List. An identifier without a thing, and two identifiers of one thing, are errors of the
	// class NeedsChange. The attributes are complete: no other attribute is needed to read the thing.
	// They may have Hidden values.
	Import(ctx *Context, ids []string, found func(Found) error) error
}

// Found is one existing thing: its identifying attributes, the attributes that Read would report
// and, where known, parameters with which a resource describes it.
type Found struct {
	Attributes map[string]any
	// Notes state what a person has to complete in the resource, or what its first deploy changes. Only
	// an Importer sets them.
	Notes []string
}

// Hidden stands for a secret value: within the attributes of a Found that an Importer returns, where
// the resource gets a reference, and within those of a ShownKept.
type Hidden struct{}

// Nooper receives the planned change in a dry run, so that it can check with the target whether the
// change would succeed. It changes nothing. Its log lines and changes are kept with the dry run,
// and its error is shown as the reason why a deploy would fail.
type Nooper interface {
	Noop(ctx *Context, planned BatchChange) error
}

// InSyncer compares an attribute for which equality of values is the wrong test.
type InSyncer interface {
	// InSync is called for every compared attribute that has a desired value. Undecided leaves the
	// decision to the engine.
	InSync(ctx *Context, attribute string, desired, observed any) (Verdict, error)
}

// Verdict is the result for one attribute. Why, if it is not empty, is logged.
type Verdict struct {
	Sync Sync
	Why  string
}

// Sync is whether an attribute has its desired value.
type Sync int

// The values of Sync.
const (
	Undecided Sync = iota
	Same
	Differs
)

// Flusher is called once after a batch was applied, with the changes of the batch that succeeded.
type Flusher interface {
	Flush(ctx context.Context, done []BatchChange) error
}

// Generator generates resources that follow from one resource, when a model is exported.
type Generator interface {
	// Generate returns their attributes, for resources of the same agent. It must be a pure
	// function of its argument: it is called with unresolved references and must not access any
	// system.
	Generate(r Resource) ([]Generated, error)
}

// Generated is one resource that follows from another, which it requires.
type Generated struct {
	Type       string
	Attributes map[string]any
	Purged     bool
}

// ReadOnly is a transport with a read-only form. Handlers receive that form in a dry run.
type ReadOnly interface{ ReadOnly() any }

// Verifier is a connection that can be verified. The engine verifies it before it calls handlers:
// an unreachable agent is then waited for once, and not by each of its resources.
type Verifier interface {
	// Verify returns nil if the target answers. It changes nothing. Its error is Unavailable if a
	// retry may help.
	Verify(ctx context.Context) error
}

// FactSource is a connection to a target other than a machine, which describes that target.
// sys::Facts shows the description.
type FactSource interface {
	// Facts returns facts by names that begin with the kind of the target, such as
	// postgresql.version.
	Facts(ctx context.Context) (map[string]string, error)
}

// Strictness defines how the engine treats reported values that do not have the types of the
// attributes, or the canonical form of the handler's own Canonicaliser. The zero value means
// StrictWarning.
type Strictness string

// The values of Strictness.
const (
	StrictOff     Strictness = "off"     // nothing
	StrictWarning Strictness = "warning" // the log of the run has a warning
	StrictError   Strictness = "error"   // the run fails
)

// ApplySync adjusts differences by the results of the handler's InSyncer, if it has one, for each
// attribute in compared. It logs the reasons.
func ApplySync(c *Context, h Handler, compared []string, desired, observed map[string]any,
	diffs map[string]diff.Diff) (map[string]diff.Diff, error) {
	s, ok := As[InSyncer](h)
	if !ok {
		return diffs, nil
	}
	for _, name := range compared {
		if desired[name] == nil {
			continue
		}
		v, err := s.InSync(c, name, desired[name], observed[name])
		if err != nil {
			return nil, err
		}
		if v.Why != "" && v.Sync != Undecided {
			c.Info(v.Why, "attribute", name)
		}
		switch v.Sync {
		case Same:
			delete(diffs, name)
		case Differs:
			if diffs == nil {
				diffs = map[string]diff.Diff{}
			}
			diffs[name] = diff.Diff{Current: observed[name], Desired: desired[name]}
		case Undecided:
		}
	}
	return diffs, nil
}
