// Package objects has the type demo::Queue: a whole handler for an API that has a JSON object at
// each path.
package objects

import (
	"fmt"

	"southbound/shared/provider"
	"southbound/shared/schema"
	api "southbound/shared/transport/http"
)

// Queue declares demo::Queue. Its agent is {transport: http, url: "https://..."}.
func Queue() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name: "demo::Queue", Description: "A queue of a message broker.",
			Transports: []string{"http"}, Thing: schema.ByIdentity("name"),
			Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
				{Name: "limit", Type: "Integer[1, 1000000]", Default: 1000,
					Description: "how many messages it holds"},
				{Name: "labels", Type: "Hash[String, String]", Default: map[string]any{},
					Description: "what it is found by"},
				{Name: "durable", Type: "Boolean", Default: true, Behaviour: schema.Replace,
					Description: "whether it outlives a restart"},
				{Name: "note", Type: "Optional[String]", Description: "what people want to know of it"},
			},
		},
		Handler: api.Objects{
			Path: func(attrs map[string]any) string {
				return api.Path("queues", fmt.Sprint(attrs["name"]))
			},
			Members: map[string]string{"limit": "max_length", "labels": "", "durable": "", "note": ""},
		},
	}
}
