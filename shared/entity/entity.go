// Package entity makes resources of entities: the instances of a model, which have attributes and
// relations to each other. A resource has no relations; what it needs of other entities is mapped
// into its attributes, and where it is managed is found by following relations.
//
// The compiler of models implements Entity. A mapping is written once for each type that is
// managed:
//
//	entity.Mapping{
//		Kind: "std::File", Type: "fs::File", Agent: "host.name",
//		Fields: entity.Fields{
//			Inherits: []entity.Fields{entity.Purgeable()},
//			Names:    []string{"path", "owner"},                 // of the same name
//			Map:      map[string]string{"mode": "permissions"},  // by a path
//			Funcs:    map[string]entity.Func{"content": upload}, // by a function
//		},
//	}
package entity

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Entity is an instance in a model. Equal ones are one: they are compared by ==, so implementations
// are pointers. They do not change while they are mapped, and may refer to each other in circles.
type Entity interface {
	// Kinds are the names of the entity types that it is: its own first, then those that it
	// inherits from, the nearest first.
	Kinds() []string
	// Attribute returns the value of an attribute: a value as resources have it, or a reference to
	// what is not known yet (resource.Parameter, resource.Fact, resource.Secret). nil is a value;
	// ok is false when the entity has no such attribute.
	Attribute(name string) (v any, ok bool)
	// Relation returns what a relation leads to, in a stable order; ok is false when the entity has
	// no such relation.
	Relation(name string) (to []Entity, ok bool)
	// Pos is where the model makes it.
	Pos() diag.Pos
}

// Placer is implemented by entities that know where their attributes are set.
type Placer interface {
	// At returns the place of an attribute, the zero Pos when it is not known.
	At(attribute string) diag.Pos
}

// Requires is the relation that leads to what comes before an entity.
const Requires = "requires"

// Func makes the value of an attribute. It returns Ignored for an entity that is to be no resource;
// any other error is a problem of the entity.
type Func func(ctx *Context, e Entity) (any, error)

// Ignored is what a Func returns for an entity that is to be no resource, with a reason for people.
func Ignored(format string, args ...any) error { return &ignored{fmt.Sprintf(format, args...)} }

type ignored struct{ reason string }

// Error implements error.
func (i *ignored) Error() string { return "ignored: " + i.reason }

// IsIgnored reports whether an error is of Ignored.
func IsIgnored(err error) bool {
	var i *ignored
	return errors.As(err, &i)
}

// Context is what functions have while they map. It is not kept after the call.
type Context struct {
	files map[string]state.Blob
	e     Entity
}

// Upload makes bytes part of what is exported and returns the reference to them, for an attribute
// that takes text. The same bytes are uploaded once.
func (c *Context) Upload(data []byte) resource.File {
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	if _, known := c.files[hash]; !known {
		c.files[hash] = blobOf(hash, data)
	}
	return resource.File{Hash: hash, Size: int64(len(data))}
}

// Lookup follows a path from the entity at hand, as Map does: relations, then an attribute, such as
// host.network.name. What a path leads to must be one; ok is false when a relation in it leads to
// nothing.
func (c *Context) Lookup(path string) (v any, ok bool, err error) { return lookup(c.e, path) }

// Fields are attributes of resources and where they come from. Names are attributes of the entity
// of the same name, Map are paths over relations, Funcs are functions. Flags are paths to what
// documents say beside attributes: purged, purge_on_delete, prevent_destroy, report_only,
// send_event, receive_events, managed, set. What stands in Inherits is taken first, in order; what
// comes later wins.
type Fields struct {
	Inherits []Fields
	Names    []string
	Map      map[string]string
	Funcs    map[string]Func
	Flags    map[string]string
}

// Purgeable are the flags of what can be removed: purged and purge_on_delete.
func Purgeable() Fields {
	return Fields{Flags: map[string]string{"purged": "purged", "purge_on_delete": "purge_on_delete"}}
}

// Managed is the flag of what may be managed by somebody else: managed.
func Managed() Fields { return Fields{Flags: map[string]string{"managed": "managed"}} }

// Mapping says which resource an entity is. It holds for entities that inherit from Kind, too,
// unless there is one for a nearer kind.
type Mapping struct {
	Kind  string // of the entity
	Type  string // of the resource
	Agent string // the path to the name of the agent, such as host.name
	Fields
}

// AgentMapping says which agent an entity is.
type AgentMapping struct {
	Kind      string
	Name      string            // paths from here on
	Transport string            // "": local
	Lanes     string            // "": 1
	Options   map[string]string // by option; what leads to nothing is left out
}
