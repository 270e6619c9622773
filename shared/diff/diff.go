// Package diff compares what is wanted with what exists. It is pure.
package diff

// Change is what is done to the thing that a resource stands for.
type Change string

// The changes an action can make.
const (
	NoChange Change = "nochange"
	Created  Change = "created"
	Updated  Change = "updated"
	Purged   Change = "purged"
)

// Redacted stands for the value of a secret wherever changes are stored or shown.
const Redacted = "<redacted>"

// Diff is what differs in one attribute. Wherever one is stored or shown, values of sensitive
// attributes have been replaced.
type Diff struct {
	Current any `json:"current"`
	Desired any `json:"desired"`
	// Unified is the unified diff of the two as texts, where they are texts of several lines or
	// files that hold such.
	Unified string `json:"unified,omitempty"`
}
