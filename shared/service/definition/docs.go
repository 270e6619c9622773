package definition

import "slices"

// Docs returns an OpenAPI description of the requests for services: the paths of each service, and
// the attributes that it accepts. all are the versions of services of one environment. Docs
// describes the default versions.
func Docs(env string, all []Service) map[string]any {
	paths, tags := map[string]any{}, []any{}
	for i := range all {
		s := &all[i]
		if !s.Default {
			continue
		}
		tag := map[string]any{"name": s.Name}
		describe(tag, s.Description)
		tags = append(tags, tag)
		base := "/lsm/v1/service_inventory/" + s.Name
		paths[base] = map[string]any{
			"get":  s.operation("List instances of "+s.Name, nil),
			"post": s.operation("Order an instance of "+s.Name, attributesBody(s.Schema())),
		}
		paths[base+"/{service_id}"] = map[string]any{
			"parameters": []any{map[string]any{
				"name": "service_id", "in": "path", "required": true,
				"schema":      map[string]any{"type": "string"},
				"description": "an id, or identity=VALUE",
			}},
			"get":    s.operation("An instance of "+s.Name, nil),
			"patch":  s.change("Replace attributes", attributesBody(s.changes())),
			"delete": s.change("Ask for the end of an instance", nil),
		}
	}
	return map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": "Services of " + env, "version": "1"},
		"tags": tags, "paths": paths,
	}
}

// changes returns the schema of an update: the attributes that can be changed, none of them
// required.
func (s *Service) changes() map[string]any {
	out := s.Schema()
	properties, _ := out["properties"].(map[string]any)
	for i := range s.Attributes {
		if s.Attributes[i].Modifier != ReadWrite {
			delete(properties, s.Attributes[i].Name)
		}
	}
	for i := range s.Relations {
		if s.Relations[i].Modifier != ReadWrite {
			delete(properties, s.Relations[i].Name)
		}
	}
	delete(out, "required")
	return out
}

func attributesBody(attributes map[string]any) map[string]any {
	delete(attributes, "$schema")
	delete(attributes, "title")
	return map[string]any{
		"required": true,
		"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{
			"type": "object", "required": []any{"attributes"},
			"properties": map[string]any{"attributes": attributes},
		}}},
	}
}

// operation describes a request for a service.
func (s *Service) operation(summary string, body map[string]any) map[string]any {
	out := map[string]any{
		"tags": []any{s.Name}, "summary": summary,
		"parameters": []any{map[string]any{
			"name": "X-Inmanta-tid", "in": "header", "required": true,
			"schema":      map[string]any{"type": "string"},
			"description": "the environment",
		}},
		"responses": map[string]any{"200": map[string]any{"description": "OK"}},
	}
	if body != nil {
		out["requestBody"] = body
	}
	return out
}

// change describes a request that requires a version.
func (s *Service) change(summary string, body map[string]any) map[string]any {
	out := s.operation(summary, body)
	parameters, _ := out["parameters"].([]any)
	out["parameters"] = append(slices.Clone(parameters), map[string]any{
		"name": "current_version", "in": "query", "required": true,
		"schema":      map[string]any{"type": "integer", "minimum": 1},
		"description": "of the instance, as the caller has seen it",
	})
	return out
}
