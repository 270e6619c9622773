// Package diff compares the desired state with reality. It is pure.
package diff

// Change is the change that is made to the object of a resource.
type Change string

// The changes that an action can make.
const (
	NoChange Change = "nochange"
	Created  Change = "created"
	Updated  Change = "updated"
	Purged   Change = "purged"
)

// Redacted replaces the value of a secret wherever changes are stored or shown.
const Redacted = "<redacted>"

// Diff is the difference in one attribute. In each stored or shown Diff, the values of sensitive
// attributes have been replaced.
type Diff struct {
	Current any `json:"current"`
	Desired any `json:"desired"`
	// Unified is the unified diff of the two values, if both are texts of several lines or files
	// with such texts.
	Unified string `json:"unified,omitempty"`
	// Replace is set by a handler that compares things itself, if the object must be replaced to
	// remove the difference. It is not part of changes that are stored or shown.
	Replace bool `json:"-" cbor:"replace,omitempty"`
}
