// Package std has the types without an outside effect.
package std

import (
	"context"
	"fmt"
	"sync"
	"time"

	"southbound/shared/platform"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Null declares std::Null: it manages no real thing, so it always has its desired state. It is for
// ordering, tests and measurements.
func Null() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name: "std::Null",
			Description: "A resource without a thing: a point in the order of requirements. It is always as " +
				"desired.",
			Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar,
					Description: "its name"},
				{Name: "value", Type: "Any", Default: "", Behaviour: schema.Parameter,
					Description: "any text; a new value is a new intent"},
				{Name: "fail", Type: "Optional[String]", Behaviour: schema.Parameter,
					Description: "fail with this text"},
				{Name: "skip", Type: "Optional[String]", Behaviour: schema.Parameter,
					Description: "skip with this text"},
				{Name: "delay_ms", Type: "Optional[Integer[0,600000]]", Behaviour: schema.Parameter,
					Description: "duration of a run in milliseconds"},
			},
			Features:   []string{"batch", schema.FeatureFiles},
			Thing:      schema.SharedByIdentity("name"),
			Machine:    true,
			Transports: []string{schema.AnyTransport},
		},
		Handler: null{},
	}
}

type null struct{}

// Read implements provider.Handler.
func (null) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	return observe(ctx, req.Resource)
}

// ReadBatch implements provider.BatchReader. It reads slow items concurrently.
func (null) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	var wg sync.WaitGroup
	for i := range items {
		r := items[i].Resource
		if delayOf(r) == 0 {
			out[i].Observation, out[i].Err = observe(ctx, r)
			continue
		}
		wg.Go(func() { out[i].Observation, out[i].Err = observe(ctx, r) })
	}
	wg.Wait()
	return out
}

// CallTimeout implements provider.Timeouter. It follows the delay: a lane stays locked for as long
// if its holder dies.
func (null) CallTimeout(r provider.Resource) time.Duration {
	return delayOf(r) + schema.DefaultTimeout
}

// delayOf returns how long a resource takes.
func delayOf(r provider.Resource) time.Duration {
	ms, _ := r.Attributes["delay_ms"].(int64)
	return time.Duration(max(ms, 0)) * time.Millisecond
}

func observe(ctx context.Context, r provider.Resource) (provider.Observation, error) {
	if d := delayOf(r); d > 0 {
		if err := (platform.Clock{}).Sleep(ctx, d); err != nil {
			return provider.Observation{}, provider.Errorf(provider.Retryable, "wait: %w", err)
		}
	}
	if text, _ := r.Attributes["fail"].(string); text != "" {
		return provider.Observation{}, provider.Errorf(provider.Retryable, "%s", text)
	}
	if text, _ := r.Attributes["skip"].(string); text != "" {
		return provider.Observation{}, fmt.Errorf("%s: %w", text, provider.ErrSkip)
	}
	return provider.Observation{Exists: !r.Purged}, nil
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
