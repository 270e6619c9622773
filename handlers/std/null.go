// Package std has the types without an outside effect.
package std

import (
	"fmt"
	"time"

	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Null declares std::Null: nothing is behind it, so it is always as wanted. It is there for order, tests and measurements.
func Null() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name:        "std::Null",
			Description: "Nothing: a point in the order of things. It is always as wanted.",
			Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
				{Name: "value", Type: "Any", Default: "", Behaviour: schema.Parameter, Description: "anything; a new value is a new intent"},
				{Name: "fail", Type: "Optional[String]", Behaviour: schema.Parameter, Description: "makes it fail with this text"},
				{Name: "delay_ms", Type: "Optional[Integer[0,3600000]]", Behaviour: schema.Parameter, Description: "how long it takes, in milliseconds"},
			},
			Timeout: time.Hour + time.Minute,
		},
		Handler: null{},
	}
}

type null struct{}

// Read implements provider.Handler.
func (null) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	if ms, _ := req.Resource.Attributes["delay_ms"].(int64); ms > 0 {
		t := time.NewTimer(time.Duration(ms) * time.Millisecond)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return provider.Observation{}, fmt.Errorf("wait: %w", ctx.Err())
		}
	}
	if text, _ := req.Resource.Attributes["fail"].(string); text != "" {
		return provider.Observation{}, provider.Errorf(provider.Retryable, "%s", text)
	}
	return provider.Observation{Exists: !req.Resource.Purged}, nil
}

// Create implements provider.Handler; it is never needed.
func (null) Create(*provider.Context, provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Update implements provider.Handler; it is never needed.
func (null) Update(*provider.Context, provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Delete implements provider.Handler; it is never needed.
func (null) Delete(*provider.Context, provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, nil
}
