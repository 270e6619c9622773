// Package lifecycle is what an instance of a service goes through, as a pure function: Step takes a
// machine, an instance and an event, and returns the instance after it and what is to be done.
// docs/design/services.md describes it.
//
//	machine.go  states and transfers, read from and written as JSON
//	check.go    what is wrong with a machine
//	step.go     events
//	enter.go    what entering a state means
//	dot.go      a machine as a drawing
package lifecycle

import (
	"encoding/json"
	"slices"
)

// Set names one of the sets of attributes of an instance; "" is none of them.
type Set string

// The sets: what was asked for and is not yet accepted, what holds, and what held before.
const (
	NoSet     Set = ""
	Candidate Set = "candidate"
	Active    Set = "active"
	Rollback  Set = "rollback"
)

// Operation is what a transfer does with the sets.
type Operation string

// The operations. Promote makes the candidate set the active one, and that the one to roll back to;
// RollBack is the reverse; the others drop a set.
const (
	NoOperation    Operation = ""
	Promote        Operation = "promote"
	RollBack       Operation = "rollback"
	ClearCandidate Operation = "clear candidate"
	ClearActive    Operation = "clear active"
	ClearRollback  Operation = "clear rollback"
)

// State is a state of a machine.
type State struct {
	Name                      string         `json:"name"`
	Label                     string         `json:"label"`
	ExportResources           bool           `json:"export_resources"`
	ValidateSelf              Set            `json:"validate_self"`
	ValidateOthers            Set            `json:"validate_others"`
	PurgeResources            bool           `json:"purge_resources"`
	Deleted                   bool           `json:"deleted"`
	Values                    map[string]any `json:"values"`
	PreviousAttrSetOnValidate Set            `json:"previous_attr_set_on_validate"`
	PreviousAttrSetOnExport   Set            `json:"previous_attr_set_on_export"`
	Annotations               map[string]any `json:"annotations"`
}

// Transfer is a way from one state to another.
//
// Large: it is a declaration, with the names that models and clients have for what it says; most
// transfers set a few of these.
type Transfer struct {
	Source                 string         `json:"source"`
	Target                 string         `json:"target"`
	Error                  string         `json:"error"` // where it leads else; "" for nowhere
	Auto                   bool           `json:"auto"`
	Validate               bool           `json:"validate"`
	OnUpdate               bool           `json:"on_update"`
	OnDelete               bool           `json:"on_delete"`
	APISetState            bool           `json:"api_set_state"`
	ResourceBased          bool           `json:"resource_based"`
	ConfigName             string         `json:"config_name"`
	Description            string         `json:"description"`
	TargetOperation        Operation      `json:"target_operation"`
	ErrorOperation         Operation      `json:"error_operation"`
	TargetSameDesiredState bool           `json:"target_same_desired_state"`
	ErrorSameDesiredState  bool           `json:"error_same_desired_state"`
	Annotations            map[string]any `json:"annotations"`
}

// Machine is a lifecycle. Check says whether it can be used.
type Machine struct {
	Name         string     `json:"name"`
	Initial      string     `json:"initial_state"`
	Alternatives []string   `json:"alternative_initial_states"`
	States       []State    `json:"states"`
	Transfers    []Transfer `json:"transfers"`
}

// State returns the state of a name; false if there is none.
func (m *Machine) State(name string) (*State, bool) {
	i := slices.IndexFunc(m.States, func(s State) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return &m.States[i], true
}

// Deploys reports whether the resources of an instance in this state are deployed or removed, or
// the instance can come to a state in which they are.
func (m *Machine) Deploys(state string) bool {
	after := m.after(state)
	return slices.ContainsFunc(m.States, func(s State) bool {
		return (s.ExportResources || s.PurgeResources) && after[s.Name]
	})
}

// from returns the first transfer out of a state that does what is asked; false if there is none.
func (m *Machine) from(state string, is func(*Transfer) bool) (*Transfer, bool) {
	for i := range m.Transfers {
		if t := &m.Transfers[i]; t.Source == state && is(t) {
			return t, true
		}
	}
	return nil, false
}

// MarshalJSON writes no set as null.
func (s Set) MarshalJSON() ([]byte, error) { return orNull(string(s)) }

// MarshalJSON writes no operation as null.
func (o Operation) MarshalJSON() ([]byte, error) { return orNull(string(o)) }

// MarshalJSON writes what a transfer does not have as null.
func (t Transfer) MarshalJSON() ([]byte, error) {
	type plain Transfer
	null := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	return json.Marshal(struct {
		plain
		Error      *string `json:"error"`
		ConfigName *string `json:"config_name"`
	}{plain(t), null(t.Error), null(t.ConfigName)})
}

func orNull(s string) ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return json.Marshal(s)
}
