// Package schema declares resource types: their attributes, the data types of attributes, and the
// rules for valid values.
package schema

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"southbound/shared/diag"
)

// Behaviour states the purpose of an attribute.
type Behaviour string

// The behaviours. The empty one is a property: set by the author, read from the target, compared.
const (
	Property  Behaviour = ""
	Namevar   Behaviour = "namevar"   // part of the identity
	ReadOnly  Behaviour = "read_only" // reported by the target, never set
	InitOnly  Behaviour = "init_only" // set at creation only
	Parameter Behaviour = "parameter" // controls the handler; neither read nor compared
	// Replace: set at creation. If it differs later, the object is deleted and created again (see
	// Type.CreateFirst).
	Replace Behaviour = "replace"
	// WriteOnly: set by the author, never read. It is written when the author's value has changed
	// since the last write.
	WriteOnly Behaviour = "write_only"
)

// Attribute declares one attribute of a type.
type Attribute struct {
	Name        string
	Type        string // data type expression: Optional[String], Integer[0,65535], Enum[a,b], ...
	Description string
	Default     any // nil: none
	Behaviour   Behaviour
	Sensitive   bool // values are secret, whatever their source
	// OneLine is set for a password and the like: one line end at the end of a secret is not part
	// of the value. Files of passwords often end with one.
	OneLine bool
}

// CreateBeforeDestroy is the name of the attribute by which a resource selects CreateFirst. Types
// that allow both orders of a replacement declare it, as a Boolean with the behaviour Parameter.
const CreateBeforeDestroy = "create_before_destroy"

// AnyAttribute represents all attributes of a type.
const AnyAttribute = "*"

// Type declares a resource type.
//
// Large: it is a declaration, of which most types set only a few fields.
type Type struct {
	Name        string // fs::File
	Description string
	Attributes  []Attribute
	// Titles define how a title yields naming attributes; the first pattern that matches is used.
	// If there are none, a title is the first naming attribute.
	Titles []TitlePattern
	// Relations declare the resources to which a resource of this type is related by its nature, if
	// they exist, such as the directory of a file.
	Relations []Relation
	// Rules are conditions on several attributes. Conditions that a Rule cannot express belong in
	// Validate.
	Rules []Rule
	// Metadata is for programs that read declarations. It has no meaning in this package. Its
	// values have the types of attribute values.
	Metadata map[string]any
	// Features list the capabilities of the handler beyond the four calls: canonicalise, batch,
	// noop, facts, reload, discover, files.
	Features []string
	// Listed names the attributes by which the handler lists existing objects, such as the file or
	// the bucket; AnyAttribute represents all. Values of other attributes select among the listed
	// objects.
	Listed []string
	// Aliases are names for data type expressions, such as Stdlib::Port for Integer[0, 65535]. All
	// types of a registry may use them. Two types that define the same alias must define it
	// equally.
	Aliases map[string]string
	// Timeout bounds one call of the handler for one resource; 0 means DefaultTimeout. A handler
	// that bounds its own calls by an attribute (exec::Run) implements provider.Timeouter.
	Timeout time.Duration
	// Assigned is true if the target chooses the identity at creation. A create that may have
	// happened must then be looked up before it is repeated.
	Assigned bool
	// CreateFirst is true if a replacement creates the new object before it deletes the old one. It
	// requires Assigned, and a read-only attribute that distinguishes the two objects. A type that
	// allows both orders declares the attribute CreateBeforeDestroy instead.
	CreateFirst bool
	// Machine is true if the objects are on the agent's machine, so that the handler runs there.
	// For the transport local, it runs in this process; for transports that reach a machine, in a
	// process started there. The methods of Canonicaliser, Differ and Timeouter of such a handler
	// are called in this process in any case, and must not access the machine.
	Machine bool
	// Transports lists the transports over which objects of the type are reached; AnyTransport
	// represents all. If it is empty, they are local, and ssh if Machine is set. Validation rejects
	// a resource whose agent has another transport.
	Transports []string
	// SecretOptions are the paths of those options of an agent that are secret, such as config/token.
	// A path leads through lists to their elements, and * leads to all members of a map. Validation
	// rejects a text or number at such a path of an agent with resources of the type.
	SecretOptions []string
	// Validate performs checks that concern several attributes. The attributes are complete and
	// match their types, and references (resource.File, ...) are as written by the author. For a
	// purged resource, attributes may be missing, and problems of missing attributes are ignored.
	// The caller fills in the positions of the problems from Attribute.
	Validate func(attributes map[string]any) []diag.Problem
	// Gather completes the attributes of a resource with the paths that all other resources of the
	// model keep on the same machine. For example, a directory that removes its unmanaged content
	// must not remove these paths. Gather returns new attributes, which do not depend on the order
	// of the paths. It is called if Gathers returns true.
	Gather  func(attributes map[string]any, kept []Kept) map[string]any
	Gathers func(attributes map[string]any) bool
	// Thing identifies the object that a resource manages; see docs/design/things.md. If it is nil,
	// the naming attributes identify the object. This suits types whose identity alone
	// distinguishes their objects; ByIdentity states it explicitly.
	Thing func(attributes map[string]any) Thing
	// Space, when not empty, is shared by types whose objects exclude each other: a path holds a
	// file or a directory, not both.
	Space string
	// Keeps returns the paths on the agent's machine that must not be removed while the resource is
	// in the model.
	Keeps func(attributes map[string]any) []Kept
	// Outputs returns the names of the secret outputs that the handler keeps of a resource, if its
	// attributes determine them; nil if they are not known before the resource has run. A reference
	// to another output is rejected.
	Outputs func(attributes map[string]any) []string
	// Whole reports whether a resource describes its object completely, so that no other resource
	// may change a part of it. It also returns the advice for the author of such another resource.
	Whole func(attributes map[string]any) (is bool, instead string)
	// Within names the object, in Space, of which a resource of the type changes a part. Such a
	// resource is rejected if another resource describes the object completely. Within returns ""
	// if the object is not known.
	Within func(attributes map[string]any) string
	// Providers lists the names of the available handlers, if there are several; provider.Define
	// sets it.
	Providers []string
	// Code lists the parts that the program that wrote this declaration as data implements in code,
	// such as validate. It is nil in programs.
	Code []string
	// At returns the position of a Part, of an attribute by its name, or for "" of the declaration,
	// if the declaration was read from data. For an unknown part, it returns the position of the
	// declaration. At is nil in programs.
	At func(part string) diag.Pos
	// Wrong holds the problems of the data from which the declaration was read; NewRegistry reports
	// them with its own.
	Wrong diag.Problems
}

// Part names a part of a declaration: the index, from 0, of an attribute, title, relation, rule,
// feature or transport, or the name of an alias.
func Part(kind PartKind, which any) string { return fmt.Sprint(kind, " ", which) }

// PartKind is the kind of a part of a declaration.
type PartKind string

// The kinds of parts.
const (
	AttributePart PartKind = "attribute"
	TitlePart     PartKind = "title"
	RelationPart  PartKind = "relation"
	RulePart      PartKind = "rule"
	AliasPart     PartKind = "alias"
	FeaturePart   PartKind = "feature"
	TransportPart PartKind = "transport"
)

// FeatureFiles is the feature of types whose handler accepts uploaded files (resource.File). Other
// handlers receive the text of a file instead.
const FeatureFiles = "files"

// AnyTransport, in Type.Transports, means that every transport of an agent is accepted.
const AnyTransport = "*"

// The transports of a type that declares none. Over ssh, handlers run on the other machine.
const (
	transportLocal    = "local"
	transportFunction = "function"
	transportSSH      = "ssh"
)

// Over returns the names of the transports over which objects of the type are reached. The result
// may be AnyTransport alone.
func (t *Type) Over() []string {
	switch {
	case len(t.Transports) > 0:
		return t.Transports
	case t.Machine:
		return []string{transportLocal, transportSSH}
	}
	return []string{transportLocal}
}

// CreatesFirst reports whether a replacement of a resource with these attributes creates the new
// object before it deletes the old one.
func (t *Type) CreatesFirst(attributes map[string]any) bool {
	chosen, _ := attributes[CreateBeforeDestroy].(bool)
	return t.CreateFirst || chosen
}

// MayCreateFirst reports whether a replacement of some resources of the type creates the new object
// before it deletes the old one.
func (t *Type) MayCreateFirst() bool {
	return t.CreateFirst || slices.ContainsFunc(t.Attributes,
		func(a Attribute) bool { return a.Name == CreateBeforeDestroy })
}

// Reached reports whether objects of the type are reached over a transport; "" is local.
func (t *Type) Reached(transport string) bool {
	over := t.Over()
	if over[0] == AnyTransport {
		return t.Machine || transport != transportSSH
	}
	return slices.Contains(over, cmp.Or(transport, transportLocal))
}

// DefaultTimeout is the time limit of a handler call for types that declare none.
const DefaultTimeout = 60 * time.Second
