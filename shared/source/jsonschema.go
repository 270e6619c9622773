package source

import (
	"encoding/json"

	"southbound/shared/fault"
	"southbound/shared/schema"
)

// JSONSchema returns the JSON Schema (2020-12) of documents with the types of a registry, for editors.
func JSONSchema(types *schema.Registry) ([]byte, error) {
	text := map[string]any{"type": "string"}
	boolean := map[string]any{"type": "boolean"}
	flags := map[string]any{"agent": text, "set": text, "purged": boolean, "purge_on_delete": boolean, "report_only": boolean,
		"send_event": boolean, "receive_events": boolean, "managed": boolean}
	var perType []any
	for _, name := range types.Names() {
		t, _ := types.Type(name)
		perType = append(perType, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"type": map[string]any{"const": name}}},
			"then": map[string]any{"properties": map[string]any{"attributes": attributesSchema(t)}},
		})
	}
	resourceProps := map[string]any{"type": map[string]any{"enum": types.Names()}, "attributes": map[string]any{"type": "object"},
		"requires": map[string]any{"type": "array", "items": text}}
	for k, v := range flags {
		resourceProps[k] = v
	}
	doc := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "Southbound resource document", "type": "object", "required": []string{"southbound"}, "additionalProperties": false,
		"properties": map[string]any{
			"southbound": map[string]any{"const": 1},
			"defaults":   map[string]any{"type": "object", "properties": flags, "additionalProperties": false},
			"agents": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "object",
				"properties": map[string]any{"transport": text, "lanes": map[string]any{"type": "integer", "minimum": 1, "maximum": 1024}}}},
			"resources": map[string]any{"type": "array", "items": map[string]any{"$ref": "#/$defs/resource"}},
		},
		"$defs": map[string]any{
			"resource": map[string]any{"type": "object", "required": []string{"type", "attributes"}, "additionalProperties": false,
				"properties": resourceProps, "allOf": perType},
			"form": formSchema(text),
		},
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	return out, fault.Wrap(fault.Internal, "write schema", err)
}

func formSchema(text any) any {
	form := func(required []string, props map[string]any) any {
		return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}
	}
	return map[string]any{"anyOf": []any{
		form([]string{"file"}, map[string]any{"file": text}),
		form([]string{"secret"}, map[string]any{"secret": text, "version": text}),
		form([]string{"parameter"}, map[string]any{"parameter": text}),
		form([]string{"fact", "of"}, map[string]any{"fact": text, "of": text}),
		form([]string{"value"}, map[string]any{"value": true}),
	}}
}

func attributesSchema(t *schema.Compiled) any {
	props := map[string]any{}
	required := []string{}
	for _, declared := range t.Attributes {
		a, _ := t.Attribute(declared.Name)
		if a.Behaviour == schema.ReadOnly {
			continue
		}
		props[a.Name] = map[string]any{"description": a.Description, "anyOf": []any{a.DataType.JSONSchema(), map[string]any{"$ref": "#/$defs/form"}}}
		if !a.DataType.Optional() && a.Default == nil {
			required = append(required, a.Name)
		}
	}
	return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}
}
