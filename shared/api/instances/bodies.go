package instances

import (
	"cmp"

	"southbound/shared/api/tenant"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// CreationBody orders a new instance.
type CreationBody struct {
	tenant.Nulls
	Attributes orders.Attributes `json:"attributes"`
	Version    *int              `json:"service_entity_version,omitempty" minimum:"0" maximum:"2147483647" nullable:"true"`
	ID         *string           `json:"service_instance_id,omitempty" format:"uuid" pattern:"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" nullable:"true"`
	State      *string           `json:"initial_state,omitempty" maxLength:"255" nullable:"true"`
	Metadata   map[string]string `json:"metadata,omitempty" maxProperties:"100"`
	Config     map[string]bool   `json:"config,omitempty" maxProperties:"100"`
}

// UpdateBody holds new values of attributes.
type UpdateBody struct {
	tenant.Nulls
	Attributes orders.Attributes `json:"attributes"`
	Version    *int64            `json:"current_version,omitempty" minimum:"1" nullable:"true"`
	UpdateID   *string           `json:"update_id,omitempty" maxLength:"255" nullable:"true" doc:"for the client; not interpreted"`
	Comment    *string           `json:"comment,omitempty" maxLength:"4096" nullable:"true"`
}

// ReplacementBody replaces all attributes.
type ReplacementBody struct {
	tenant.Nulls
	Attributes orders.Attributes `json:"attributes"`
	Version    *int64            `json:"current_version,omitempty" minimum:"1" nullable:"true"`
	PutID      *string           `json:"put_id,omitempty" maxLength:"255" nullable:"true" doc:"for the client; not interpreted"`
	Ignore     *bool             `json:"ignore_read_only_attributes,omitempty" nullable:"true" doc:"ignore attributes that only the model sets; otherwise they are refused"`
	Comment    *string           `json:"comment,omitempty" maxLength:"4096" nullable:"true"`
}

// ExpertBody edits one set of attributes.
type ExpertBody struct {
	EditsBody
	Set string `json:"attribute_set_name" enum:"candidate_attributes,active_attributes,rollback_attributes"`
}

// EditsBody edits attributes.
type EditsBody struct {
	tenant.Nulls
	Edits   []EditBody `json:"edit" minItems:"1" maxItems:"1000"`
	Version *int64     `json:"current_version,omitempty" minimum:"1" nullable:"true"`
	PatchID *string    `json:"patch_id,omitempty" maxLength:"255" nullable:"true" doc:"for the client; not interpreted"`
	Comment *string    `json:"comment,omitempty" maxLength:"4096" nullable:"true"`
}

// EditBody is an edit.
type EditBody struct {
	ID        string              `json:"edit_id" maxLength:"255"`
	Operation inventory.Operation `json:"operation" enum:"replace,merge,remove"`
	Target    string              `json:"target" minLength:"1" maxLength:"4096" doc:"such as databases[name=shop].size; . is all attributes"`
	Value     tenant.Value        `json:"value,omitempty"`
}

func EditsOf(bodies []EditBody) []inventory.Edit {
	var all []inventory.Edit
	for _, b := range bodies {
		all = append(all, inventory.Edit{
			ID: b.ID, Operation: b.Operation, Target: b.Target, Value: b.Value.V,
		})
	}
	return all
}

// StateBody requests a state.
type StateBody struct {
	tenant.Nulls
	Version *int64  `json:"current_version,omitempty" minimum:"1" nullable:"true"`
	Target  string  `json:"target_state" minLength:"1" maxLength:"255"`
	Message *string `json:"message,omitempty" maxLength:"4096" nullable:"true"`
}

// ForceBody sets a state.
type ForceBody struct {
	StateBody
	Operation *lifecycle.Operation `json:"operation,omitempty" enum:"promote,rollback,clear candidate,clear active,clear rollback" nullable:"true"`
}

// MigrationBody changes an instance to another version of its definition.
type MigrationBody struct {
	tenant.Nulls
	Version   *int64            `json:"current_version,omitempty" minimum:"1" nullable:"true"`
	Target    int               `json:"target_entity_version" minimum:"0" maximum:"2147483647"`
	State     string            `json:"state" minLength:"1" maxLength:"255"`
	Candidate orders.Attributes `json:"candidate_attributes,omitempty"`
	Active    orders.Attributes `json:"active_attributes,omitempty"`
	Rollback  orders.Attributes `json:"rollback_attributes,omitempty"`
}

// ConfigBody turns automatic transfers on and off.
type ConfigBody struct {
	tenant.Nulls
	Values  map[string]bool `json:"values" maxProperties:"100" doc:"edits; none: no change"`
	Version *int64          `json:"current_version,omitempty" minimum:"1" nullable:"true"`
}

// MetadataBody stores a text with an instance. The peer's web console sends the same members within
// body.
type MetadataBody struct {
	tenant.Nulls
	Value   *string        `json:"value,omitempty" maxLength:"16384"`
	Version *int64         `json:"current_version,omitempty" minimum:"1" nullable:"true"`
	Body    *MetadataValue `json:"body,omitempty" doc:"in place of value"`
}

// MetadataValue is such a text within a body.
type MetadataValue struct {
	Value   string `json:"value" maxLength:"16384"`
	Version *int64 `json:"current_version,omitempty" minimum:"1" nullable:"true"`
}

// flat returns the body with its members at one level.
func (b MetadataBody) flat() (MetadataBody, error) {
	switch {
	case (b.Value == nil) == (b.Body == nil):
		return b, fault.New(fault.Invalid, "", "a body has either value or body").
			WithHint(`send {"current_version": …, "value": "…"}`)
	case b.Body == nil:
		return b, nil
	case b.Version != nil && b.Body.Version != nil && *b.Version != *b.Body.Version:
		return b, fault.New(fault.Invalid, "", "current_version is %d in the body, and %d in its "+
			"member body", *b.Version, *b.Body.Version)
	}
	return MetadataBody{Value: &b.Body.Value, Version: cmp.Or(b.Version, b.Body.Version)}, nil
}
