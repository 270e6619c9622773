// Package lifecycle is the lifecycle of a service instance, as a pure function. Step takes a
// machine, an instance and an event, and returns the next instance and the effects to carry out.
// docs/design/services.md describes it.
//
//	machine.go  states and transfers, read from and written as JSON
//	check.go    problems of a machine
//	step.go     events
//	enter.go    entry into a state
//	dot.go      a machine as a graph
package lifecycle

import (
	"encoding/json"
	"slices"
)

// Set is the name of one of the sets of attributes of an instance; "" means no set.
type Set string

// The sets: attributes that were requested but not yet accepted, current ones, and former ones.
const (
	NoSet     Set = ""
	Candidate Set = "candidate"
	Active    Set = "active"
	Rollback  Set = "rollback"
)

// Operation is the change of the sets by a transfer.
type Operation string

// The operations. Promote turns the candidate set into the active set, and the active set into the
// rollback set. RollBack reverts a Promote. The others drop a set.
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

// Transfer is an edge from one state to another.
//
// Large: it is a declaration, with the field names that models and clients use; most transfers set
// a few of them.
type Transfer struct {
	Source                 string         `json:"source"`
	Target                 string         `json:"target"`
	Error                  string         `json:"error"` // the target after a failure; "" for none
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

// Machine is a lifecycle. Check reports whether it can be used.
type Machine struct {
	Name         string     `json:"name"`
	Initial      string     `json:"initial_state"`
	Alternatives []string   `json:"alternative_initial_states"`
	States       []State    `json:"states"`
	Transfers    []Transfer `json:"transfers"`
}

// State returns the state with a name; false if there is none.
func (m *Machine) State(name string) (*State, bool) {
	i := slices.IndexFunc(m.States, func(s State) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return &m.States[i], true
}

// Deploys reports whether the resources of an instance are deployed or removed in a state, or in a
// state that can be reached from it.
func (m *Machine) Deploys(state string) bool {
	after := m.after(state)
	return slices.ContainsFunc(m.States, func(s State) bool {
		return (s.ExportResources || s.PurgeResources) && after[s.Name]
	})
}

// from returns the first transfer out of a state that the function is accepts; false if there is
// none.
func (m *Machine) from(state string, is func(*Transfer) bool) (*Transfer, bool) {
	for i := range m.Transfers {
		if t := &m.Transfers[i]; t.Source == state && is(t) {
			return t, true
		}
	}
	return nil, false
}

// MarshalJSON writes NoSet as null.
func (s Set) MarshalJSON() ([]byte, error) { return orNull(string(s)) }

// MarshalJSON writes NoOperation as null.
func (o Operation) MarshalJSON() ([]byte, error) { return orNull(string(o)) }

// MarshalJSON writes empty fields of a transfer as null.
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
