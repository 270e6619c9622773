package state

import (
	"time"

	"southbound/shared/resource"
)

// Parameter is a named value: of the environment when Of is empty, else a fact of that resource.
type Parameter struct {
	Name string      `json:"name"` // unique with Of
	Of   resource.ID `json:"of,omitempty"`
	// Value is a text or, with JSON, the canonical JSON of another value. It is never a secret:
	// secrets are references.
	Value   string    `json:"value"`
	JSON    bool      `json:"json,omitempty" doc:"the value is JSON, and no text"` // only of facts
	Source  string    `json:"source"`                                              // user, fact
	Updated time.Time `json:"updated"`                                             // when it was set, or the run that learned it ended
}

// Data returns the value. JSON that is damaged is returned as a text.
func (p *Parameter) Data() resource.Data {
	if p.JSON {
		if d, err := resource.ParseData([]byte(p.Value)); err == nil {
			return d
		}
	}
	return resource.TextData(p.Value)
}

// SetData sets the value.
func (p *Parameter) SetData(d resource.Data) { p.Value, p.JSON = d.Text(), !d.IsText() }

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
