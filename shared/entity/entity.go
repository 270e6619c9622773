// Package entity makes resources of entities: the instances of a model, which have attributes and
// relations to each other. A mapping says which resource an entity becomes, and where each
// attribute of it comes from:
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
// What comes before what, and which set a resource is in, the compiler of models knows.
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

// Entity is an instance in a model. Equal ones are one: they are compared by ==. They do not change
// while they are mapped, and may refer to each other in circles.
type Entity interface {
	// Kinds are the names of the entity types that it is: its own first, then those that it
	// extends, the nearest first.
	Kinds() []string
	// Attribute returns the value of an attribute: nil, bool, string, int64, *big.Int, float64,
	// []any or map[string]any, in which Unknown may stand for values; or what is Later. The error
	// is Unknown for a value that is not known.
	Attribute(name string) (any, error)
	// Relation returns what a relation leads to, in a stable order. The error is Unknown where that
	// is not known.
	Relation(name string) ([]Entity, error)
	// Pos is where the model makes it.
	Pos() diag.Pos
	// At is where the model sets an attribute or a relation, else Pos.
	At(name string) diag.Pos
}

// Unknown stands for a value that was not known when the model was compiled. As an error of a Func
// it says that its attribute is not known, so that the resource is undefined.
type Unknown struct {
	Why string
	// Later is what the value is going to be: nil, or a fact. It counts where the value becomes
	// that of an attribute as it is, and not where a Func has failed with it.
	Later Later
}

// Error implements error.
func (u Unknown) Error() string { return u.Why }

// Later is a value that is known when resources are deployed, and not before: a secret, a
// parameter, a fact, a file of the model. It may become the value of an attribute as it is.
type Later interface {
	// ReferenceName says what it is, such as southbound::secret.
	ReferenceName() string
}

// Func makes the value of an attribute: as Entity.Attribute returns it, or a Go value that
// resource.FromGo takes. nil leaves the attribute out. It returns Ignored for an entity that is to
// be no resource; any other error but Unknown is a problem of the entity.
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

// Context is what functions have while they map an entity. It is not kept after the call.
type Context struct {
	e     Entity
	files map[string][]byte // by hash
}

// Upload makes bytes part of what is exported and returns the reference to them, for an attribute
// that takes text. The same bytes are uploaded once.
func (c *Context) Upload(data []byte) resource.File {
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	if _, known := c.files[hash]; !known {
		c.files[hash] = slices.Clone(data)
	}
	return resource.File{Hash: hash, Size: int64(len(data))}
}

// Lookup follows a path from the entity, as Fields.Map does: relations, then an attribute, such as
// host.network.name. Each relation must lead to one entity at most; ok is false when one leads to
// none.
func (c *Context) Lookup(path string) (v any, ok bool, err error) {
	found, err := lookup(c.e, path)
	return found.value, found.ok, err
}

// Text is Lookup for what has to be text, and known when the model is compiled.
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

// Fields are attributes of resources and where they come from. Names are attributes of the entity
// of the same name, Map are paths over relations, Funcs are functions. Flags are paths to what
// documents say beside attributes: purged, purge_on_delete, prevent_destroy, report_only,
// send_event, receive_events, managed. What stands in Inherits is taken first, in order; what comes
// later wins.
type Fields struct {
	Inherits []Fields
	Names    []string
	Map      map[string]string
	Funcs    map[string]Func
	Flags    map[string]string
}

// Purgeable are the flags of what extends std::PurgeableResource: purged and purge_on_delete.
func Purgeable() Fields {
	return Fields{Flags: map[string]string{"purged": "purged",
		"purge_on_delete": "purge_on_delete"}}
}

// Managed is the flag of what extends std::ManagedResource, and may be managed by somebody else.
func Managed() Fields { return Fields{Flags: map[string]string{"managed": "managed"}} }

// Mapping says which resource an entity becomes. It holds for entities that extend it, too, unless
// there is one for a nearer one.
type Mapping struct {
	Entity string // its full name, such as net::Vlan
	// Type is that of the resource. In a provider.Definition it may be left out for its own type.
	Type  string
	Agent string // the path to the name of the agent, such as host.name
	Fields
}
