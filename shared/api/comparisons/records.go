// Package comparisons compares versions and exports with reality in this process, and discovers what
// exists.
package comparisons

import (
	"southbound/shared/api/exports"
	"southbound/shared/schema"
)

// Discover is a request for the existing things of a type on an agent.
type Discover struct {
	Type  string            `json:"type" minLength:"1" maxLength:"1000"`
	Agent string            `json:"agent" minLength:"1" maxLength:"255"`
	Like  map[string]string `json:"like,omitempty" doc:"attributes, as text, that select the listed things; some types require them"`
	// earlier servers reject the member, so it is left out without identifiers
	Import []string `json:"import,omitempty" maxItems:"1000" doc:"the target's identifiers of the things; none: the target lists them"`
	// earlier servers reject the member, so it is left out for types of the program
	Declaration string `json:"declaration,omitempty" pattern:"^([0-9a-f]{64})?$" doc:"hash of the uploaded file that declares the type"`

	// Declared is the file of Declaration, of which a client uploads the bytes if the server lacks it.
	Declared *schema.Declaration `json:"-"`
}

// ReadJob is a comparison: of a stored version, or of an export, with reality.
type ReadJob struct {
	Environment string `json:"environment"`
	Version     int    `json:"version,omitempty"` // 0: the released one, unless there is a bundle
	// Filter, if not empty, selects the resources of the version that are compared.
	Filter []string        `json:"filter,omitempty"`
	Bundle *exports.Bundle `json:"bundle,omitempty"`
	Whole  bool            `json:"whole,omitempty"` // values are not truncated
	// Discover, if not nil, requests a discovery instead of a comparison.
	Discover *Discover `json:"discover,omitempty"`
}

type PlanAsked struct {
	exports.Bundle
	Read  bool `json:"read,omitempty" doc:"also compare with the machines"`
	Whole bool `json:"whole,omitempty" doc:"whole values"`
}
