package provider

import (
	"context"

	"southbound/shared/resource"
)

// Adopter is implemented by Packages of an ecosystem whose programs keep state files: the things in
// them become resources.
type Adopter interface {
	// Adopt plans the adoption of the things in a state file. It changes nothing. Errors are faults:
	// Invalid or Unsupported if the file cannot be read, Usage for agents that do not fit.
	Adopt(ctx context.Context, q AdoptQuery) (*Adoption, error)
}

// AdoptQuery is a state file, and what is known of its contents.
type AdoptQuery struct {
	State    []byte
	Packages []Package // of the lock file, with their types
	// Agents are the names of agents, by the names of packages, or of one of the configurations of
	// a package. The agent of "" is used if only one is needed.
	Agents map[string]string
}

// Adoption states how things in a state file become resources.
type Adoption struct {
	Agents    []AdoptedAgent
	Resources []Adopted
	Left      []LeftThing
	Variables []AdoptedVariable
}

// AdoptedAgent is an agent of adopted resources.
type AdoptedAgent struct {
	resource.Agent
	Source string // the configuration in the state file
	Note   string // what has to be completed
}

// Adopted is the adoption of one thing.
type Adopted struct {
	resource.Resource
	Source  string         // the address in the state file
	Kept    []byte         // the state that the handler of the resource keeps; it may have secrets
	Outputs map[string]any // secret outputs, in clear
	Notes   []string       // what the first apply changes, or a person has to complete
}

// LeftThing is a thing that does not become a resource.
type LeftThing struct {
	Source, Reason, Hint string
	Reads                bool // nothing was managed: a data source
}

// AdoptedVariable is an environment variable that must have the value of a secret in the state file.
type AdoptedVariable struct {
	Name      string
	ID        resource.ID
	Attribute string // and the path within it
}
