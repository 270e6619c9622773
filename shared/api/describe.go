package api

import (
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/api/problem"
	"southbound/shared/api/wire"
)

// describeAPI makes the OpenAPI description exact: our errors in place of those of the library, lists
// that are never null, authentication, rules across members, and links.
func describeAPI(doc *huma.OpenAPI, auth string) {
	schemas := doc.Components.Schemas
	for _, s := range schemas.Map() {
		exactly(s)
	}
	if root := doc.Paths["/{$}"]; root != nil {
		doc.Paths["/"] = root
		delete(doc.Paths, "/{$}")
	}
	failure := schemas.Schema(reflect.TypeFor[problem.ErrorBody](), true, "Error")
	errorAs := func(kind string) *huma.Response {
		return &huma.Response{Description: "Error",
			Content: map[string]*huma.MediaType{kind: {Schema: failure}}}
	}
	ours, theirs := errorAs(problem.MediaType), errorAs("application/json")
	byID := map[string]*huma.Operation{}
	for at, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Put, path.Post, path.Patch,
			path.Delete} {
			if op != nil {
				op.Responses["default"] = ours
				if problem.ForClients(at) {
					op.Responses["default"] = theirs
				}
				byID[op.OperationID] = op
				if op != path.Get {
					op.Parameters = append(op.Parameters, messageHeader(), userHeader())
				}
			}
		}
	}
	delete(schemas.Map(), "ErrorModel")
	delete(schemas.Map(), "ErrorDetail")
	security(doc, auth, byID["discover"])
	across(schemas.Map(), byID["resources"], byID["graph"])
	mayBeNull(schemas.Map())
	notSlash(schemas.Map(), byID)
	link(byID)
}

// messageHeader describes the header with the message of a request.
func messageHeader() *huma.Param {
	return &huma.Param{Name: wire.MessageHeader, In: "header",
		Description: "reason of the request, for the audit: UTF-8, percent-encoded, at most 1000 " +
			"characters without control characters but line breaks and tabs",
		Schema: &huma.Schema{Type: huma.TypeString, Pattern: encodedText(`%0[9Aa]`) + "{0,1000}$"}}
}

// userHeader describes the header with the user for whom a program makes a request.
func userHeader() *huma.Param {
	return &huma.Param{Name: wire.UserHeader, In: "header",
		Description: "user for whom a program makes the request, for the audit, which has the bearer, " +
			"too; it grants nothing: UTF-8, percent-encoded, at most 200 characters without control " +
			"characters",
		Schema: &huma.Schema{Type: huma.TypeString, Pattern: encodedText() + "{0,200}$"}}
}

// encodedText is the begin of a pattern: one character of percent-encoded UTF-8 that is no control
// character, or one of also.
func encodedText(also ...string) string {
	const hex, tail = `[0-9A-Fa-f]`, `%[89ABab][0-9A-Fa-f]`
	return "^(?:" + strings.Join(append([]string{
		`[ !-$&-~]`, `%[2-6]` + hex, `%7[0-9A-Ea-e]`,
		`%[Cc]2%[ABab]` + hex, `%(?:[Cc][3-9A-Fa-f]|[Dd]` + hex + `)` + tail,
		`%[Ee]0%[ABab]` + hex + tail, `%[Ee][1-9A-CEFa-cef]` + tail + tail,
		`%[Ee][Dd]%[89]` + hex + tail,
		`%[Ff]0%[9ABab]` + hex + tail + tail, `%[Ff][1-3]` + tail + tail + tail,
		`%[Ff]4%8` + hex + tail + tail,
	}, also...), "|") + ")"
}

func exactly(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
		exactly(s.Items)
	}
	for _, p := range s.Properties {
		exactly(p)
	}
	if more, is := s.AdditionalProperties.(*huma.Schema); is {
		exactly(more)
	}
}

// security defines how requests are authenticated, and that the operation anybody is public.
func security(doc *huma.OpenAPI, auth string, anybody *huma.Operation) {
	scheme := &huma.SecurityScheme{Type: "http", Scheme: "bearer",
		Description: "the token of the server, from the file api-token of its data directory"}
	switch auth {
	case wire.AuthBearer:
	case wire.AuthSigV4:
		scheme = &huma.SecurityScheme{Type: "apiKey", In: "header", Name: "Authorization",
			Description: "a signature of AWS, version 4, for the service lambda",
			Extensions:  map[string]any{"x-amazon-apigateway-authtype": "awsSigv4"}}
	default:
		return
	}
	name := auth
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{name: scheme}
	doc.Security = []map[string][]string{{name: {}}}
	anybody.Security = []map[string][]string{}
}

// across adds the rules about several members. The service checks them itself, since its errors are
// more precise than those of a schema: the library does not know these rules.
func across(schemas map[string]*huma.Schema, filtered ...*huma.Operation) {
	type object = map[string]any
	say := func(s *huma.Schema, keyword string, rule any) {
		if s == nil { // only exports are served
			return
		}
		if s.Extensions == nil {
			s.Extensions = object{}
		}
		s.Extensions[keyword] = rule
	}
	either := []object{{"required": []string{"id"}}, {"required": []string{"agent"}},
		{"required": []string{"filter"}}}
	say(schemas["Forgetting"], "oneOf", either)
	say(schemas["MetadataBody"], "oneOf",
		[]object{{"required": []string{"value"}}, {"required": []string{"body"}}})
	one := []object{{"required": []string{"dry_run"}}, {"required": []string{"plan"}},
		{"required": []string{"discover"}}}
	say(schemas["JobAsked"], "oneOf", one)
	for _, name := range []string{"Bundle", "PlanAsked", "PlanRead"} {
		say(schemas[name], "anyOf", []object{
			{"properties": object{"delete_sets": object{"maxItems": 0}}},
			{"required": []string{"partial"},
				"properties": object{"partial": object{"const": true}}},
		})
		say(schemas[name], "allOf", []object{{"anyOf": []object{
			{"properties": object{"target": object{"maxItems": 0}}},
			{"properties": object{"partial": object{"const": false},
				"no_release": object{"const": false}}},
		}}})
	}
	for name, member := range map[string]string{
		"Bundle": "target", "PlanAsked": "target", "WorkInBody": "filter", "DryRunAsked": "filter",
		"Forgetting": "filter",
	} {
		if s := schemas[name]; s != nil {
			filter(s.Properties[member], name == "Forgetting", say)
		}
	}
	if s := schemas["Detail"]; s != nil { // null until there is a value
		s.Properties["seen"].Nullable = true
		s.Properties["last"] = &huma.Schema{AnyOf: []*huma.Schema{s.Properties["last"],
			{Type: "null"}}}
	}
	for _, op := range filtered {
		if op == nil { // only exports are served
			continue
		}
		for _, p := range op.Parameters {
			if p.Name == "filter" {
				filter(p.Schema, true, say)
			}
		}
	}
}

// filter describes the terms of a filter. Some of them occur once. A list also takes deploying=.
func filter(s *huma.Schema, list bool, say func(*huma.Schema, string, any)) {
	type object = map[string]any
	once := []string{`^type=[\s\S]*$`, `^set=[\s\S]*$`,
		`^([^=]+|[^=]*[\[:*?][^=]*=[\s\S]*)$`} // the last is an id
	if list {
		once = append(once, `^deploying=(true|false)$`)
	}
	terms, rules := []object{}, []object{}
	for _, pattern := range once {
		rules = append(rules, object{"contains": object{"pattern": pattern}, "minContains": 0,
			"maxContains": 1})
	}
	for _, pattern := range slices.Concat(once, []string{
		`^agent=[\s\S]*$`, `^reason~=[\s\S]*$`, `^id~=[\s\S]*$`,
		`^status=(deployed|failed|skipped|blocked|undefined|available|deploying|orphaned|non_compliant|unavailable)$`,
		`^compliance=(has_update|compliant|non_compliant|undefined)$`,
		`^last_run=(new|successful|failed|skipped)$`, `^blocked=(no|yes|temporary|decision)$`,
	}) {
		terms = append(terms, object{"pattern": pattern})
	}
	s.Nullable = false
	say(s.Items, "anyOf", terms)
	say(s, "allOf", rules)
}

// notSlash excludes "/" as the name of a parameter, since a path cannot have it as a segment.
func notSlash(schemas map[string]*huma.Schema, ops map[string]*huma.Operation) {
	rule := map[string]any{"not": map[string]any{"const": "/"}}
	if s := schemas["SettingItem"]; s != nil {
		s.Properties["id"].Extensions = rule
	}
	for _, id := range []string{"parameter", "parameterHistory", "setParameter", "deleteParameter",
		"knownParameter", "setKnownParameter", "deleteKnownParameter"} {
		op := ops[id]
		if op == nil { // only exports are served
			continue
		}
		for _, p := range op.Parameters {
			if p.In == "path" && p.Name != "env" {
				p.Schema.Extensions = rule
			}
		}
	}
}

// link adds the links from values of answers to operations. A link of a list uses its first item,
// since a link cannot be defined for each item.
func link(ops map[string]*huma.Operation) {
	const env, body, first = "$request.path.env", "$response.body#", "$response.body#/items/0"
	type values = map[string]any
	for _, l := range []struct {
		from, name, to string
		values         values
	}{
		{"environments", "progress", "progress", values{"env": first}},
		{"environments", "resources", "resources", values{"env": first}},
		{"environments", "changes", "changes", values{"env": first}},
		{"environments", "versions", "versions", values{"env": first}},
		{"environments", "parameters", "parameters", values{"env": first}},
		{"environments", "agents", "agents", values{"env": first}},
		{"environments", "actions", "actions", values{"env": first}},
		{"types", "one", "type", values{"name": first + "/name"}},
		{"types", "next", "types", values{"cursor": body + "/next"}},
		{"summaries", "progress", "progress", values{"env": first + "/environment"}},
		{"summaries", "next", "summaries", values{"cursor": body + "/next"}},
		{"changes", "next", "changes", values{"env": env, "after": body + "/token"}},
		{"resources", "one", "resource", values{"env": env, "id": first + "/id"}},
		{"resources", "graph", "resourceGraph", values{"env": env, "id": first + "/id"}},
		{"resources", "next", "resources", values{"env": env, "cursor": body + "/next"}},
		{"resources", "actions", "actions", values{"env": env, "resource": first + "/id"}},
		{"actions", "of", "resource", values{"env": env, "id": first + "/resource"}},
		{"actions", "next", "actions", values{"env": env, "cursor": body + "/next"}},
		{"versions", "one", "version", values{"env": env, "number": first + "/version"}},
		{"versions", "its", "versionResources", values{"env": env, "number": first + "/version"}},
		{"versionResources", "now", "resource", values{"env": env, "id": first + "/id"}},
		{"versionResources", "next", "versionResources",
			values{"env": env, "number": "$request.path.number", "cursor": body + "/next"}},
		{"parameters", "one", "parameter", values{"env": env, "name": first + "/name"}},
		{"parameters", "history", "parameterHistory", values{"env": env, "name": first + "/name"}},
		{"parameters", "delete", "deleteParameter", values{"env": env, "name": first + "/name"}},
		{"setParameter", "one", "parameter", values{"env": env, "name": body + "/name"}},
		{"setParameter", "history", "parameterHistory", values{"env": env, "name": body + "/name"}},
		{"setParameter", "delete", "deleteParameter", values{"env": env, "name": body + "/name"}},
		{"agents", "resources", "actions", values{"env": env, "agent": first + "/name"}},
		{"export", "version", "version", values{"env": env, "number": body + "/version"}},
		{"export", "progress", "progress", values{"env": env}},
		{"release", "version", "version", values{"env": env, "number": body + "/version"}},
		{"plan", "part", "result", values{"env": env, "hash": body + "/parts/0"}},
		{"dryRun", "part", "result", values{"env": env, "hash": body + "/parts/0"}},
		{"askJob", "state", "job", values{"env": env, "job": body + "/id"}},
		{"askJob", "part", "result", values{"env": env, "hash": body + "/done/parts/0"}},
		{"askJob", "drop", "dropJob", values{"env": env, "job": body + "/id"}},
		{"compareVersions", "part", "result", values{"env": env, "hash": body + "/parts/0"}},
	} {
		from, to := ops[l.from], ops[l.to]
		if from == nil || to == nil {
			continue
		}
		answer := from.Responses["200"]
		if answer.Links == nil {
			answer.Links = map[string]*huma.Link{}
		}
		answer.Links[l.name] = &huma.Link{OperationID: l.to, Parameters: l.values}
	}
}
