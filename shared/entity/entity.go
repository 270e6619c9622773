// Package entity maps entities to resources. Entities are the instances of a model, which have
// attributes and relations to each other. A mapping defines the resource type of an entity, and the
// source of each attribute:
//
//	entity.Mapping{
//		Entity: "std::File", Type: "fs::File", Agent: "host.name",
//		Fields: entity.Fields{
//			Inherits: []entity.Fields{entity.Purgeable()},
//			Names:    []string{"path", "owner"},                 // of the same name
//			Map:      map[string]string{"mode": "permissions"},  // by a path
//			Funcs:    map[string]entity.Func{"content": upload}, // by a function
//		},
//	}
//
// The compiler of models determines dependencies between resources, and their resource sets.
package entity

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Entity is an instance in a model. Two entities are the same if they are equal by ==. Entities do
// not change during the mapping, and may refer to each other in cycles.
type Entity interface {
	// Kinds returns the names of its entity types: its own first, then its ancestors, the nearest
	// first.
	Kinds() []string
	// Attribute returns the value of an attribute: nil, bool, string, int64, *big.Int, float64,
	// []any or map[string]any, with Unknown in place of unknown values; or a Later. The error is
	// Unknown if the value is not known.
	Attribute(name string) (any, error)
	// Relation returns the entities of a relation, in a stable order. The error is Unknown if they
	// are not known.
	Relation(name string) ([]Entity, error)
	// Pos returns the place in the model where it is constructed.
	Pos() diag.Pos
	// At returns the place where the model sets an attribute or a relation, else Pos.
	At(name string) diag.Pos
}

// Unknown stands for a value that was not known at compile time. If a Func returns it as an error,
// the attribute is unknown and the resource is undefined.
type Unknown struct {
	Why string
	// Later is the future value: nil, or a fact. It is used if the value itself becomes the
	// attribute, but not if a Func has failed with it.
	Later Later
}

// Error implements error.
func (u Unknown) Error() string { return u.Why }

// Later is a value that becomes known only at deployment: a secret, a parameter, a fact, a file of
// the model. It can become the value of an attribute unchanged.
type Later interface {
	// ReferenceName returns the kind of the reference, such as southbound::secret.
	ReferenceName() string
}

// Func returns the value of an attribute: a value as in Entity.Attribute, or a Go value that
// resource.FromGo accepts. nil omits the attribute. A Func returns Ignored for an entity that must
// not become a resource. Any other error except Unknown is a problem of the entity.
type Func func(ctx *Context, e Entity) (any, error)

// Ignored returns the error for an entity that must not become a resource, with a reason for users.
func Ignored(format string, args ...any) error { return &ignored{fmt.Sprintf(format, args...)} }

type ignored struct{ reason string }

// Error implements error.
func (i *ignored) Error() string { return "ignored: " + i.reason }

// IsIgnored reports whether Ignored returned the error.
func IsIgnored(err error) bool {
	var i *ignored
	return errors.As(err, &i)
}

// Context is the context of a Func during the mapping of an entity. It is invalid after the call.
type Context struct {
	e     Entity
	files map[string][]byte // by hash
}

// Upload adds bytes to the export and returns the reference to them, for an attribute that accepts
// text. Equal bytes are uploaded once.
func (c *Context) Upload(data []byte) resource.File {
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	if _, known := c.files[hash]; !known {
		c.files[hash] = slices.Clone(data)
	}
	return resource.File{Hash: hash, Size: int64(len(data))}
}

// Lookup follows a path from the entity, as in Fields.Map: relations, then an attribute, such as
// host.network.name. Each relation may have one entity at most; ok is false if a relation has none.
func (c *Context) Lookup(path string) (v any, ok bool, err error) {
	found, err := lookup(c.e, path)
	return found.value, found.ok, err
}

// Text is Lookup for a value that has to be text, known at compile time.
func (c *Context) Text(path string) (string, error) {
	v, ok, err := c.Lookup(path)
	if err != nil {
		return "", err
	}
	text, is := v.(string)
	later, isLater := v.(Later)
	switch {
	case !ok:
		return "", fmt.Errorf("%s leads to nothing", path)
	case isLater:
		return "", fmt.Errorf("%s is %s, and has to be known when the model is compiled", path,
			later.ReferenceName())
	case !is:
		return "", fmt.Errorf("%s is not text", path)
	}
	return text, nil
}

// Fields define the sources of a resource's attributes. Names are attributes of the entity with the
// same name, Map are paths over relations, Funcs are functions. Flags are paths to settings that
// documents have in addition to attributes: purged, purge_on_delete, prevent_destroy, report_only,
// send_event, receive_events, managed. Inherits are applied first, in order; later fields override
// earlier ones.
type Fields struct {
	Inherits []Fields
	Names    []string
	Map      map[string]string
	Funcs    map[string]Func
	Flags    map[string]string
}

// Purgeable returns the flags for descendants of std::PurgeableResource: purged and
// purge_on_delete.
func Purgeable() Fields {
	return Fields{Flags: map[string]string{"purged": "purged",
		"purge_on_delete": "purge_on_delete"}}
}

// Managed returns the flag for descendants of std::ManagedResource, which another party may manage.
func Managed() Fields { return Fields{Flags: map[string]string{"managed": "managed"}} }

// Mapping defines the resource of an entity. It also applies to descendants of the entity, unless a
// nearer ancestor has a mapping.
type Mapping struct {
	Entity string // its full name, such as net::Vlan
	// Type is the type of the resource. A provider.Definition may omit it for its own type.
	Type  string
	Agent string // the path to the agent's name, such as host.name
	Fields
}
