package instances

import (
	"context"
	"net/http"
	"strings"

	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/api/wire"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// changeRoutes serves changes of instances.
func changeRoutes(r *server.Router, s *tenant.Orders) {
	type createIn struct {
		tenant.InTenant
		tenant.OfService
		Body CreationBody
	}
	tenant.Register(r, s, http.MethodPost, tenant.InventoryPath, "createInstance",
		"Order an instance",
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
		tenant.OfInstance
		tenant.Seen
		Body UpdateBody
	}
	tenant.Register(r, s, http.MethodPatch, tenant.InstancePath, "updateInstance",
		"Change attributes",
		func(ctx context.Context, o *orders.Service, i *updateIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, i.Body.Version, i.Body.Comment)
			if err != nil {
				return v, err
			}
			return o.Update(ctx, i.Env, w, i.Body.Attributes)
		})
	type replaceIn struct {
		tenant.OfInstance
		tenant.Seen
		Body ReplacementBody
	}
	tenant.Register(r, s, http.MethodPut, tenant.InstancePath, "replaceInstance",
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
		tenant.OfInstance
		tenant.Seen
		Body EditsBody
	}
	tenant.Register(r, s, http.MethodPatch,
		"/lsm/v2/service_inventory/{service_entity}/{service_id}",
		"editInstance", "Apply edits to attributes",
		func(ctx context.Context, o *orders.Service, i *editIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, i.Body.Version, i.Body.Comment)
			if err != nil {
				return v, err
			}
			return o.Edit(ctx, i.Env, w, EditsOf(i.Body.Edits))
		})
	type deleteIn struct {
		tenant.OfInstance
		tenant.Seen
	}
	tenant.Register(r, s, http.MethodDelete, tenant.InstancePath, "deleteInstance",
		"Ask for the end of an instance",
		func(ctx context.Context, o *orders.Service, i *deleteIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, nil, nil)
			if err != nil {
				return v, err
			}
			return o.Delete(ctx, i.Env, w)
		})
	stateRoutes(r, s)
	settingRoutes(r, s)
	expertRoutes(r, s)
}

// expertRoutes serves changes that no modifier or lifecycle forbids.
func expertRoutes(r *server.Router, s *tenant.Orders) {
	const path = "/lsm/v2/service_inventory/{service_entity}/{service_id}/expert"
	type editIn struct {
		tenant.OfInstance
		tenant.Seen
		Body ExpertBody
	}
	tenant.Register(r, s, http.MethodPatch, path, "editAttributeSet",
		"Change one attribute set, regardless of modifiers",
		func(ctx context.Context, o *orders.Service, i *editIn) (v orders.Instance, err error) {
			b := &i.Body
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, b.Version, b.Comment)
			if err != nil {
				return v, err
			}
			set := strings.TrimSuffix(b.Set, "_attributes")
			return o.EditSet(ctx, i.Env, w, set, EditsOf(b.Edits))
		})
	type destroyIn struct {
		tenant.OfInstance
		tenant.Seen
		Message string `header:"message" maxLength:"4096" doc:"reason, stored with the events"`
	}
	tenant.Register(r, s, http.MethodDelete, path, "destroyInstance",
		"End an instance without a transfer; its resources leave the model",
		func(ctx context.Context, o *orders.Service, i *destroyIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, nil, &i.Message)
			if err != nil {
				return v, err
			}
			return o.Destroy(ctx, i.Env, w)
		})
}

func stateRoutes(r *server.Router, s *tenant.Orders) {
	type stateIn struct {
		tenant.OfInstance
		tenant.Seen
		Body StateBody
	}
	tenant.Register(r, s, http.MethodPost, tenant.InstancePath+"/state", "setInstanceState",
		"Ask for a state",
		func(ctx context.Context, o *orders.Service, i *stateIn) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, i.Body.Version, i.Body.Message)
			if err != nil {
				return v, err
			}
			return o.SetState(ctx, i.Env, w, i.Body.Target)
		})
	type forceIn struct {
		tenant.OfInstance
		tenant.Seen
		Body ForceBody
	}
	tenant.Register(r, s, http.MethodPost, tenant.InstancePath+"/expert/state",
		"forceInstanceState",
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
		tenant.OfInstance
		tenant.Seen
		Body MigrationBody
	}
	tenant.Register(r, s, http.MethodPatch, tenant.InstancePath+"/update_entity_version",
		"migrateInstance",
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
		}, tenant.LongerBody(tenant.MaxMigration))
}

// OfKey names a text that is stored with an instance.
type OfKey struct {
	tenant.OfInstance
	Key string `path:"key" minLength:"1" maxLength:"255"`
}

func settingRoutes(r *server.Router, s *tenant.Orders) {
	tenant.Register(r, s, http.MethodGet, tenant.InstancePath+"/config", "instanceConfig",
		"Settings of an instance",
		func(ctx context.Context, o *orders.Service, i *tenant.OfInstance) (map[string]bool, error) {
			one, err := o.Instance(ctx, i.Env, i.Ref())
			return one.Config, err
		})
	type configIn struct {
		tenant.OfInstance
		tenant.Seen
		Body ConfigBody
	}
	tenant.Register(r, s, http.MethodPost, tenant.InstancePath+"/config", "configureInstance",
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
		tenant.Seen
		Body MetadataBody
	}
	const path = tenant.InstancePath + "/metadata/{key}"
	tenant.Register(r, s, http.MethodPost, path, "setInstanceMetadata",
		"Keep a text with an instance",
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
		tenant.Seen
	}
	tenant.Register(r, s, http.MethodDelete, path, "deleteInstanceMetadata",
		"Remove a lifecycle text",
		func(ctx context.Context, o *orders.Service, i *metadataGone) (v orders.Instance, err error) {
			w, err := wish(ctx, o, &i.OfInstance, i.Seen.Version, nil, nil)
			if err != nil {
				return v, err
			}
			return o.SetMetadata(ctx, i.Env, w, i.Key, nil)
		})
}
