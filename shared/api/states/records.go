// Package states serves the states that handlers keep of resources: the description of a sealed
// state, its sealed bytes, and repair by hand. See docs/design/kept.md.
package states

import (
	"southbound/shared/resource"
)

// Kept describes a kept state. Its contents are shown without secrets, if the handler shows them.
type Kept struct {
	ID       resource.ID `json:"id"`
	Revision string      `json:"revision" doc:"changes with each write of the state"`
	Outputs  string      `json:"outputs" doc:"the revision that brought the present secret outputs; empty: it has none"`
	Key      string      `json:"key" doc:"name of the key that has sealed the state"`
	Bytes    int         `json:"bytes" doc:"size of the sealed state"`
	// State and Notes are set by KeptState only.
	State map[string]any `json:"state,omitempty" doc:"the contents, without secrets, if the type shows them"`
	Notes []string       `json:"notes,omitempty" doc:"on the object, or why the contents are not shown"`
}

// fileForm is the form of Sealed.
const fileForm = 1

// Sealed is a kept state as it is stored: sealed, for its resource and its environment only.
type Sealed struct {
	Form        int         `json:"southbound_state" minimum:"1" maximum:"1" doc:"form of this record"`
	Environment string      `json:"environment" minLength:"1" maxLength:"100"`
	ID          resource.ID `json:"id" minLength:"1" maxLength:"4096"`
	Revision    string      `json:"revision" maxLength:"255"`
	Outputs     string      `json:"outputs" maxLength:"255"`
	Key         string      `json:"key" maxLength:"255"`
	Sealed      []byte      `json:"sealed"`
}

// Imported is the result of an import.
type Imported struct {
	Kept
	Verified bool `json:"verified" doc:"the state was opened before it was stored; false: the server has no key, and the next run of the resource finds out"`
}
