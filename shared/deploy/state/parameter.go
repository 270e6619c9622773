package state

import (
	"time"

	"southbound/shared/resource"
)

// Parameter is a named value: of the environment when Of is empty, else a fact of that resource.
type Parameter struct {
	Name    string      `json:"name"` // unique with Of
	Of      resource.ID `json:"of,omitempty"`
	Value   string      `json:"value"`   // never a secret: secrets are references
	Source  string      `json:"source"`  // user, fact
	Updated time.Time   `json:"updated"` // when it was set, or the run that learned it ended
}

// ParameterChange is a parameter or fact that was written, or, with Gone, removed at Updated.
type ParameterChange struct {
	Parameter
	Gone bool `json:"gone,omitempty"`
}

// ParameterKey names a parameter or fact.
type ParameterKey struct {
	Name string
	Of   resource.ID
}

// ParameterQuery selects parameters and facts.
type ParameterQuery struct {
	Facts bool           // facts, else parameters
	Of    resource.ID    // "" any
	Keys  []ParameterKey // when not empty, exactly these
}
