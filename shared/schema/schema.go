// Package schema declares resource types: their attributes, the data types of attributes, and what
// values are valid.
package schema

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"southbound/shared/diag"
)

// Behaviour says what an attribute is for.
type Behaviour string

// The behaviours. The empty one is a property: set by the author, read from the target, compared.
const (
	Property  Behaviour = ""
	Namevar   Behaviour = "namevar"   // part of the identity
	ReadOnly  Behaviour = "read_only" // reported by the target, never set
	InitOnly  Behaviour = "init_only" // set at creation only
	Parameter Behaviour = "parameter" // steers the handler, not read and not compared
	// Replace: set at creation; when it differs later, the thing is deleted and created anew (see
	// Type.CreateFirst).
	Replace Behaviour = "replace"
	// WriteOnly: set by the author, never read; written when what the author says has changed since
	// it was written last.
	WriteOnly Behaviour = "write_only"
)

// Attribute declares one attribute of a type.
type Attribute struct {
	Name        string
	Type        string // data type expression: Optional[String], Integer[0,65535], Enum[a,b], ...
	Description string
	Default     any // nil: none
	Behaviour   Behaviour
	Sensitive   bool // its values are secret wherever they come from
	// OneLine is set for a password and the like: one line end at the end of a secret, as files of
	// passwords have it, is not part of the value.
	OneLine bool
}

// AnyAttribute stands for all attributes of a type.
const AnyAttribute = "*"

// Type declares a resource type.
//
// Large: it is a declaration, of which most types set a few fields.
type Type struct {
	Name        string // fs::File
	Description string
	Attributes  []Attribute
	// Titles say how a title gives naming attributes; the first pattern that matches counts. None:
	// a title is the first naming attribute.
	Titles []TitlePattern
	// Relations are the resources that one of this type is tied to by its nature where they exist,
	// such as the directory of a file.
	Relations []Relation
	// Rules are demands on several attributes at once; what they cannot say is for Validate.
	Rules []Rule
	// Metadata is for programs that read declarations; it means nothing here. Values are as in
	// attributes.
	Metadata map[string]any
	// Features say what the handler can do beyond the four calls: canonicalise, batch, noop, facts,
	// reload, discover, files.
	Features []string
	// Listed names the attributes by which the handler lists what exists, such as the file or the
	// bucket; AnyAttribute stands for all. Values of others select from what was listed.
	Listed []string
	// Aliases are names for data type expressions, such as Stdlib::Port for Integer[0, 65535]. All
	// types of a registry may use them; two that name one alias must mean the same by it.
	Aliases map[string]string
	// Timeout bounds one call of the handler for one resource; 0 means DefaultTimeout. A handler
	// that bounds its own calls by an attribute (exec::Run) says so through provider.Timeouter.
	Timeout time.Duration
	// Assigned says that the target chooses the identity when it creates, so that a create that may
	// have happened must be looked up before it is repeated.
	Assigned bool
	// CreateFirst says that a thing is replaced by making the new one before the old is deleted. It
	// takes Assigned, and an attribute that is only reported and tells the two apart.
	CreateFirst bool
	// Machine says that the things are on the agent's machine, so that the handler runs there: in
	// this process for the transport local, and in one that is started on the machine for
	// transports that reach it. What such a handler has as Canonicaliser, Differ and Timeouter is
	// called in this process all the same, and must not look at the machine.
	Machine bool
	// Transports are the names of the transports over which things of the type are reached;
	// AnyTransport stands for all. None: local, and ssh if the things are on a machine. A resource
	// whose agent has another transport is refused by validate.
	Transports []string
	// Validate checks what one attribute alone cannot say; attributes are complete (but for a
	// purged resource, of which what it says of missing ones does not count) and of their types,
	// and references (resource.File, ...) stand where the author wrote them. Positions of the
	// problems are filled in by the caller from Attribute.
	Validate func(attributes map[string]any) []diag.Problem
	// Gather completes the attributes of a resource by the paths that all other resources of the
	// model keep on the same machine, as a directory that is emptied must not remove them. It
	// returns new attributes, the same for the same paths in any order. It is called if Gathers
	// returns true.
	Gather  func(attributes map[string]any, kept []Kept) map[string]any
	Gathers func(attributes map[string]any) bool
	// Thing names what a resource manages; see docs/design/things.md. Nil: its naming attributes,
	// which suits types whose identity is all that tells their things apart; ByIdentity states it.
	Thing func(attributes map[string]any) Thing
	// Space, when not empty, is shared by types whose things have to differ among all of them: a
	// path holds a file or a directory, not both.
	Space string
	// Keeps returns the paths on the agent's machine that are not to be removed as long as the
	// resource is in the model.
	Keeps func(attributes map[string]any) []Kept
	// Whole reports whether a resource describes all of its thing, so that no other may change a
	// part of it, and what to do instead.
	Whole func(attributes map[string]any) (is bool, instead string)
	// Within names the thing, of Space, of which a resource of the type changes a part: one that
	// another describes as a whole is refused. It returns "" for what is not known.
	Within func(attributes map[string]any) string
	// Providers are the names of the handlers to choose from, when there are several;
	// provider.Define sets it.
	Providers []string
	// Code names what the program that wrote this declaration as data does in code, such as
	// validate; "" in programs.
	Code []string
	// At returns where a Part, an attribute by its name, or for "" the declaration stands when it
	// was read from data; nil in programs. For what it does not know it returns the place of the
	// declaration.
	At func(part string) diag.Pos
	// Wrong is what was wrong with the data it was read from; NewRegistry reports it with the rest.
	Wrong diag.Problems
}

// Part names a part of a declaration: which one of the attributes, titles, relations, rules,
// features or transports, counted from 0, or the name of an alias.
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

// FeatureFiles is the feature of types whose handler takes uploaded files (resource.File) itself.
// Other handlers get the text of a file in its place.
const FeatureFiles = "files"

// AnyTransport, in Type.Transports, says that it makes no difference how an agent is reached.
const AnyTransport = "*"

// The transports that a type has without a declaration. Over the second, handlers run on the other
// machine.
const (
	transportLocal = "local"
	transportSSH   = "ssh"
)

// Over returns the names of the transports over which things of the type are reached; it may be
// AnyTransport alone.
func (t *Type) Over() []string {
	switch {
	case len(t.Transports) > 0:
		return t.Transports
	case t.Machine:
		return []string{transportLocal, transportSSH}
	}
	return []string{transportLocal}
}

// Reached reports whether things of the type are reached over a transport, "" being local.
func (t *Type) Reached(transport string) bool {
	over := t.Over()
	if over[0] == AnyTransport {
		return t.Machine || transport != transportSSH
	}
	return slices.Contains(over, cmp.Or(transport, transportLocal))
}

// DefaultTimeout is the time limit of a handler call for types that declare none.
const DefaultTimeout = 60 * time.Second
