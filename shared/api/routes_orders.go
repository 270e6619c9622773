package api

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// schemaName names the schemas of types from packages of services, whose names other packages also
// have.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	for path, prefix := range map[string]string{
		"southbound/shared/service/definition": "Definition",
		"southbound/shared/service/lifecycle":  "Lifecycle",
		"southbound/shared/service/orders":     "Ordered",
		"southbound/shared/api/states":         "State",
	} {
		if t.PkgPath() == path {
			return prefix + name
		}
	}
	return name
}

// mayBeNull declares the members of answers about services that are null if they have no value.
func mayBeNull(schemas map[string]*huma.Schema) {
	for name, members := range map[string]string{
		"OrderedInstance": "candidate_attributes active_attributes rollback_attributes " +
			"referenced_by",
		"OrderedLogEntry":     "candidate_attributes active_attributes rollback_attributes",
		"LifecycleTransfer":   "error config_name target_operation error_operation",
		"DefinitionAttribute": "validation_parameters",
		"OrderItemBody":       "attributes metadata config",
		"CreationBody":        "metadata config",
		"OrderedCallback":     "event_types",
		"ReplacementBody":     "ignore_read_only_attributes",
		"MigrationBody":       "candidate_attributes active_attributes rollback_attributes",
		"SuggestedBody":       "values",
		"LifecycleState": "validate_self validate_others previous_attr_set_on_validate " +
			"previous_attr_set_on_export",
	} {
		s := schemas[name]
		if s == nil { // only exports are served
			continue
		}
		for m := range strings.FieldsSeq(members) {
			s.Properties[m].Nullable = true
		}
	}
	for name, member := range map[string]string{
		"OrderedInstance": "deployment_progress", "OrderedOffer": "instance_summary",
	} {
		if s := schemas[name]; s != nil {
			s.Properties[member] = &huma.Schema{
				AnyOf: []*huma.Schema{s.Properties[member], {Type: "null"}},
			}
		}
	}
	for _, name := range []string{"SettingBody", "SettingItem"} {
		if s := schemas[name]; s != nil { // null as a second type would allow any value
			metadata := *schemas["SuggestedBody"]
			metadata.Nullable = true
			s.Properties["metadata"] = &metadata
		}
	}
}
