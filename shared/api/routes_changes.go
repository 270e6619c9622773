package api

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"southbound/shared/api/server"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// nulls marks bodies in which null is meaningful: attributes that are null, and members that
// clients set to null instead of omitting them.
type nulls struct{}

func (nulls) MayHoldNull() {}

// CreationBody orders a new instance.
type CreationBody struct {
	nulls
	Attributes orders.Attributes `json:"attributes"`
	Version    *int              `json:"service_entity_version,omitempty" minimum:"0" maximum:"2147483647" nullable:"true"`
	ID         *string           `json:"service_instance_id,omitempty" format:"uuid" pattern:"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" nullable:"true"`
	State      *string           `json:"initial_state,omitempty" maxLength:"255" nullable:"true"`
	Metadata   map[string]string `json:"metadata,omitempty" maxProperties:"100"`
	Config     map[string]bool   `json:"config,omitempty" maxProperties:"100"`
}

// UpdateBody holds new values of attributes.
type UpdateBody struct {
	nulls
	Attributes orders.Attributes `json:"attributes"`
	Version    *int64            `json:"current_version,omitempty" minimum:"1" nullable:"true"`
	UpdateID   *string           `json:"update_id,omitempty" maxLength:"255" nullable:"true" doc:"for the client; not interpreted"`
	Comment    *string           `json:"comment,omitempty" maxLength:"4096" nullable:"true"`
}

// ReplacementBody replaces all attributes.
type ReplacementBody struct {
	nulls
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
	nulls
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
	Value     value               `json:"value,omitempty"`
}

func edits(bodies []EditBody) []inventory.Edit {
	var all []inventory.Edit
	for _, b := range bodies {
		all = append(all, inventory.Edit{
			ID: b.ID, Operation: b.Operation, Target: b.Target, Value: b.Value.v,
		})
	}
	return all
}

// StateBody requests a state.
type StateBody struct {
	nulls
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
	nulls
	Version   *int64            `json:"current_version,omitempty" minimum:"1" nullable:"true"`
	Target    int               `json:"target_entity_version" minimum:"0" maximum:"2147483647"`
	State     string            `json:"state" minLength:"1" maxLength:"255"`
	Candidate orders.Attributes `json:"candidate_attributes,omitempty"`
	Active    orders.Attributes `json:"active_attributes,omitempty"`
	Rollback  orders.Attributes `json:"rollback_attributes,omitempty"`
}

// ConfigBody turns automatic transfers on and off.
type ConfigBody struct {
	nulls
	Values  map[string]bool `json:"values" maxProperties:"100" doc:"edits; none: no change"`
	Version *int64          `json:"current_version,omitempty" minimum:"1" nullable:"true"`
}

// MetadataBody stores a text with an instance. The peer's web console sends the same members within
// body.
type MetadataBody struct {
	nulls
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

// instanceChangeRoutes serves changes of instances.
func instanceChangeRoutes(r *server.Router, s *orderService) {
	type createIn struct {
		InTenant
		OfService
		Body CreationBody
	}
	ordering(r, s, http.MethodPost, inventoryPath, "createInstance", "Order an instance",
		func(ctx context.Context, o *orders.Service, i *createIn) (orders.Instance, error) {
			b := &i.Body
			c := orders.Creation{
				Service: i.Service, Version: b.Version, Attributes: b.Attributes,
				Metadata: b.Metadata, Config: b.Config,
			}
			c.ID, c.State = wire.Text(b.ID), wire.Text(b.State)
			return o.Create(ctx, i.Env, c)
		})
	type updateIn struct {
		OfInstance
		Seen
		Body UpdateBody
	}
	ordering(r, s, http.MethodPatch, instancePath, "updateInstance", "Change attributes",
		func(ctx context.Context, o *orders.Service, i *updateIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, i.Body.Version, i.Body.Comment)
			if err != nil {
				return v, err
			}
			return o.Update(ctx, i.Env, w, i.Body.Attributes)
		})
	type replaceIn struct {
		OfInstance
		Seen
		Body ReplacementBody
	}
	ordering(r, s, http.MethodPut, instancePath, "replaceInstance",
		"Replace all attributes; absent ones get their defaults",
		func(ctx context.Context, o *orders.Service, i *replaceIn) (v orders.Instance, err error) {
			b := &i.Body
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, b.Version, b.Comment)
			if err != nil {
				return v, err
			}
			return o.Replace(ctx, i.Env, w, b.Attributes, b.Ignore != nil && *b.Ignore)
		})
	type editIn struct {
		OfInstance
		Seen
		Body EditsBody
	}
	ordering(r, s, http.MethodPatch, "/lsm/v2/service_inventory/{service_entity}/{service_id}",
		"editInstance", "Apply edits to attributes",
		func(ctx context.Context, o *orders.Service, i *editIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, i.Body.Version, i.Body.Comment)
			if err != nil {
				return v, err
			}
			return o.Edit(ctx, i.Env, w, edits(i.Body.Edits))
		})
	type deleteIn struct {
		OfInstance
		Seen
	}
	ordering(r, s, http.MethodDelete, instancePath, "deleteInstance", "Ask for the end of an instance",
		func(ctx context.Context, o *orders.Service, i *deleteIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, nil, nil)
			if err != nil {
				return v, err
			}
			return o.Delete(ctx, i.Env, w)
		})
	instanceStateRoutes(r, s)
	instanceSettingRoutes(r, s)
	expertRoutes(r, s)
}

// expertRoutes serves changes that no modifier or lifecycle forbids.
func expertRoutes(r *server.Router, s *orderService) {
	const path = "/lsm/v2/service_inventory/{service_entity}/{service_id}/expert"
	type editIn struct {
		OfInstance
		Seen
		Body ExpertBody
	}
	ordering(r, s, http.MethodPatch, path, "editAttributeSet",
		"Change one attribute set, regardless of modifiers",
		func(ctx context.Context, o *orders.Service, i *editIn) (v orders.Instance, err error) {
			b := &i.Body
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, b.Version, b.Comment)
			if err != nil {
				return v, err
			}
			set := strings.TrimSuffix(b.Set, "_attributes")
			return o.EditSet(ctx, i.Env, w, set, edits(b.Edits))
		})
	type destroyIn struct {
		OfInstance
		Seen
		Message string `header:"message" maxLength:"4096" doc:"reason, stored with the events"`
	}
	ordering(r, s, http.MethodDelete, path, "destroyInstance",
		"End an instance without a transfer; its resources leave the model",
		func(ctx context.Context, o *orders.Service, i *destroyIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, nil, &i.Message)
			if err != nil {
				return v, err
			}
			return o.Destroy(ctx, i.Env, w)
		})
}

func instanceStateRoutes(r *server.Router, s *orderService) {
	type stateIn struct {
		OfInstance
		Seen
		Body StateBody
	}
	ordering(r, s, http.MethodPost, instancePath+"/state", "setInstanceState", "Ask for a state",
		func(ctx context.Context, o *orders.Service, i *stateIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, i.Body.Version, i.Body.Message)
			if err != nil {
				return v, err
			}
			return o.SetState(ctx, i.Env, w, i.Body.Target)
		})
	type forceIn struct {
		OfInstance
		Seen
		Body ForceBody
	}
	ordering(r, s, http.MethodPost, instancePath+"/expert/state", "forceInstanceState",
		"Set a state without a transfer",
		func(ctx context.Context, o *orders.Service, i *forceIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, i.Body.Version, i.Body.Message)
			if err != nil {
				return v, err
			}
			operation := lifecycle.NoOperation
			if i.Body.Operation != nil {
				operation = *i.Body.Operation
			}
			return o.Force(ctx, i.Env, w, i.Body.Target, operation)
		})
	type migrateIn struct {
		OfInstance
		Seen
		Body MigrationBody
	}
	ordering(r, s, http.MethodPatch, instancePath+"/update_entity_version", "migrateInstance",
		"Give an instance another version of its definition, with other attributes",
		func(ctx context.Context, o *orders.Service, i *migrateIn) (v orders.Instance, err error) {
			b := &i.Body
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, b.Version, nil)
			if err != nil {
				return v, err
			}
			return o.Migrate(ctx, i.Env, w, b.Target, inventory.Migration{
				State: b.State, Candidate: b.Candidate, Active: b.Active, Rollback: b.Rollback,
			})
		}, longerBody(maxMigration))
}

// OfKey names a text that is stored with an instance.
type OfKey struct {
	OfInstance
	Key string `path:"key" minLength:"1" maxLength:"255"`
}

func instanceSettingRoutes(r *server.Router, s *orderService) {
	ordering(r, s, http.MethodGet, instancePath+"/config", "instanceConfig", "Settings of an instance",
		func(ctx context.Context, o *orders.Service, i *OfInstance) (map[string]bool, error) {
			one, err := o.Instance(ctx, i.Env, i.ref())
			return one.Config, err
		})
	type configIn struct {
		OfInstance
		Seen
		Body ConfigBody
	}
	ordering(r, s, http.MethodPost, instancePath+"/config", "configureInstance",
		"Turn automatic transfers on and off",
		func(ctx context.Context, o *orders.Service, i *configIn) (map[string]bool, error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, i.Body.Version, nil)
			if err != nil {
				return nil, err
			}
			one, err := o.Configure(ctx, i.Env, w, i.Body.Values)
			return one.Config, err
		})
	type metadataSet struct {
		OfKey
		Seen
		Body MetadataBody
	}
	const path = instancePath + "/metadata/{key}"
	ordering(r, s, http.MethodPost, path, "setInstanceMetadata", "Keep a text with an instance",
		func(ctx context.Context, o *orders.Service, i *metadataSet) (v orders.Instance, err error) {
			b, err := i.Body.flat()
			if err != nil {
				return v, err
			}
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, b.Version, nil)
			if err != nil {
				return v, err
			}
			return o.SetMetadata(ctx, i.Env, w, i.OfKey.Key, b.Value)
		})
	type metadataGone struct {
		OfKey
		Seen
	}
	ordering(r, s, http.MethodDelete, path, "deleteInstanceMetadata", "Let go of such a text",
		func(ctx context.Context, o *orders.Service, i *metadataGone) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, nil, nil)
			if err != nil {
				return v, err
			}
			return o.SetMetadata(ctx, i.Env, w, i.Key, nil)
		})
}
