package source

import (
	"encoding/json"
	"fmt"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/schema"
)

type jsonObject = map[string]any

// JSONSchema returns the JSON Schema (draft 2020-12) of documents with the types of a registry, for
// completion and checks in editors.
func JSONSchema(types *schema.Registry) ([]byte, error) {
	text := jsonObject{"type": "string", "minLength": 1}
	common := jsonObject{
		"agent": described(text, "where the resource is managed"), "agents": agentsSchema(text),
		"set": described(text, "resource set; absent: the shared set"),
	}
	for name, what := range map[string]string{
		"purged": "true: must not exist", "purge_on_delete": "true: leaving the model purges it",
		"prevent_destroy": "true: never delete it, not even to replace it",
		"report_only":     "true: compare, never change",
		"send_event":      "true: notify direct dependants when it finishes",
		"receive_events":  "false: ignore notifications", "managed": "false: not exported",
	} {
		common[name] = described(jsonObject{"type": "boolean"}, what)
	}
	doc := jsonObject{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "Southbound resource document", "type": "object",
		"required": []string{keySouthbound}, "additionalProperties": false,
		"properties": jsonObject{
			keySouthbound: described(jsonObject{"const": 1}, "format"),
			keyDefaults: jsonObject{"type": []string{"object", "null"}, "properties": common,
				"additionalProperties": false, "not": bothAgents},
			keyAgents: jsonObject{"type": []string{"object", "null"},
				"additionalProperties": jsonObject{"$ref": "#/$defs/agent"}},
			keyResources: jsonObject{"type": "array",
				"description": "[] describes none",
				"items":       jsonObject{"$ref": "#/$defs/resource"}},
		},
		"$defs": jsonObject{"agent": agentSchema(text),
			"resource": resourceSchema(types, text, common), "wanted": wantedSchema(types)},
	}
	byDefault(doc)
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), fault.Wrap(fault.Internal, "write schema", err)
}

// byDefault adds a rule to the schema of documents: resources that are not purged, explicitly or by
// default, have to satisfy the wanted schema.
func byDefault(doc jsonObject) {
	is := func(purged bool) jsonObject {
		return jsonObject{"type": "object",
			"properties": jsonObject{"purged": jsonObject{"const": purged}},
			"required":   []string{"purged"}}
	}
	wanted := jsonObject{"$ref": "#/$defs/wanted"}
	items := func(rule jsonObject) jsonObject {
		return jsonObject{"properties": jsonObject{keyResources: jsonObject{"items": rule}}}
	}
	doc["if"] = jsonObject{"properties": jsonObject{keyDefaults: is(true)},
		"required": []string{keyDefaults}}
	doc["then"] = items(jsonObject{"if": is(false), "then": wanted})
	doc["else"] = items(jsonObject{"if": is(true), "else": wanted})
}

// wantedSchema returns the schema of the members that resources need unless they are purged, in
// addition to their naming attributes.
func wantedSchema(types *schema.Registry) jsonObject {
	byType := make([]any, 0, len(types.Names()))
	for _, name := range types.Names() {
		t, _ := types.Type(name)
		_, wanted := typeSchema(t)
		byType = append(byType, jsonObject{"if": isType(name), "then": wanted})
	}
	if len(byType) == 0 {
		return jsonObject{}
	}
	return jsonObject{"allOf": byType}
}

// isType returns the schema that matches resources of a type.
func isType(name string) jsonObject {
	return jsonObject{"properties": jsonObject{"type": jsonObject{"const": name}},
		"required": []string{"type"}}
}

// described returns a copy of a schema with a description.
func described(s jsonObject, what string) jsonObject {
	out := jsonObject{"description": what}
	for k, v := range s {
		out[k] = v
	}
	return out
}

// bothAgents matches a resource with both members, which is invalid.
var bothAgents = jsonObject{"type": "object", "required": []string{"agent", "agents"}}

func agentsSchema(text jsonObject) jsonObject {
	return jsonObject{"type": "array", "minItems": 1, "uniqueItems": true, "items": text,
		"description": "instead of agent: where one such resource each is managed"}
}

func agentSchema(text jsonObject) jsonObject {
	return jsonObject{"type": "object", "properties": jsonObject{
		"transport": described(text, "local, ssh, http, aws, ..."),
		"lanes": jsonObject{"type": "integer", "minimum": 1, "maximum": maxLanes,
			"description": "how many at the same time; 1: one after the other"},
	}}
}

// resourceSchema returns the schema of a resource, whose attributes depend on its type.
func resourceSchema(types *schema.Registry, text, common jsonObject) jsonObject {
	properties := jsonObject{
		"type":       jsonObject{"enum": types.Names()},
		"title":      described(text, "naming attributes in one text, as the type reads titles"),
		"attributes": jsonObject{"type": "object"},
		"requires": jsonObject{"type": []string{"array", "null"},
			"items": described(text,
				"id of a resource, such as fs::Directory[web1,path=/srv]; without an agent, as "+
					"in fs::Directory[path=/srv], that of this resource")},
	}
	for k, v := range common {
		properties[k] = v
	}
	byType := make([]any, 0, len(types.Names()))
	for _, name := range types.Names() {
		t, _ := types.Type(name)
		named, _ := typeSchema(t)
		byType = append(byType, jsonObject{"if": isType(name), "then": named})
	}
	out := jsonObject{
		"type": "object", "required": []string{"type"}, "additionalProperties": false,
		"properties": properties,
		"not":        bothAgents,
		"anyOf": []any{jsonObject{"required": []string{"attributes"}},
			jsonObject{"required": []string{"title"}}},
	}
	if len(byType) > 0 {
		out["allOf"] = byType
	}
	return out
}

// typeSchema returns two schemas for resources of a type: out for all of them, and unless for
// resources that are not purged. Attributes that the title provides are not required.
func typeSchema(t *schema.Compiled) (out, unless jsonObject) {
	attributes := described(t.JSONSchema(), t.Description)
	title, gives := t.TitleSchema()
	all, _ := attributes["required"].([]any)
	var named, others []any
	for _, name := range all {
		if text, ok := name.(string); ok && slices.Contains(gives, text) {
			named = append(named, name)
		} else {
			others = append(others, name)
		}
	}
	// A purged resource needs only its naming attributes.
	isName := func(name any) bool { return slices.Contains(t.Namevars(), fmt.Sprint(name)) }
	names := slices.DeleteFunc(slices.Clone(others), func(name any) bool { return !isName(name) })
	wanted := jsonObject{"required": append([]any{}, others...)}
	if rules, ok := attributes["allOf"]; ok {
		wanted["allOf"] = rules
		delete(attributes, "allOf")
	}
	attributes["required"] = append([]any{}, names...)
	out = jsonObject{"properties": jsonObject{"attributes": attributes, "title": title}}
	if len(names) > 0 {
		out["required"] = []string{"attributes"}
	}
	unless = jsonObject{"properties": jsonObject{"attributes": wanted}}
	if len(others) > 0 {
		unless["required"] = []string{"attributes"}
	}
	if len(named) > 0 {
		out["anyOf"] = []any{
			jsonObject{"required": []string{"title"}},
			jsonObject{"properties": jsonObject{"attributes": jsonObject{"required": named}}},
		}
	}
	return out, unless
}
