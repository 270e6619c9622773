package orders

import (
	"context"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/callback"
)

// Callback is a webhook for events of instances, in the form of the API.
type Callback struct {
	ID          string `json:"callback_id"`
	URL         string `json:"url"`
	Environment string `json:"environment"`
	// Service limits the callback to the instances of a service; nil: all.
	Service *string `json:"service_entity"`
	// Events limits the callback to kinds of events; nil: all.
	Events []string `json:"event_types"`
	Level  *string  `json:"minimal_log_level"`
	// Secret is the source of the key that signs the calls; nil: calls are not signed.
	Secret *string `json:"secret,omitempty"`
	// Failures counts consecutive failed calls since Since. Error is the last failure, and Next is
	// the time of the next attempt.
	Failures int        `json:"failures"`
	Since    *time.Time `json:"failing_since"`
	Next     *time.Time `json:"next_try"`
	Error    *string    `json:"last_error"`
	// Dropped counts events that were not delivered because calls failed for a day.
	Dropped int64 `json:"dropped"`
}

// NewCallback is a request to register a callback.
type NewCallback struct {
	ID      string // a UUID; "" generates one
	URL     string
	Service string // "" for all
	Events  []string
	Level   string
	Secret  string // the source of the signing key; "": calls are not signed
}

// noCallbacks is the error of a home that does not support callbacks.
func noCallbacks() error {
	return fault.New(fault.Unsupported, "", "callbacks are not called here").
		WithHint("`southbound run` and the functions of a stack call them")
}

// Register registers a callback for future events. It does nothing if the same callback is
// registered already.
func (s *callers) Register(ctx context.Context, env string, n NewCallback) (Callback, error) {
	if s.Callbacks == nil {
		return Callback{}, noCallbacks()
	}
	if n.ID == "" {
		n.ID = s.NewID()
	} else if err := CheckID(n.ID); err != nil {
		return Callback{}, err
	}
	c := callback.Callback{
		ID: n.ID, URL: n.URL, Service: n.Service, Events: n.Events, Level: n.Level,
		Secret: n.Secret, Created: s.now(),
	}
	if err := c.Check(); err != nil {
		return Callback{}, err
	}
	if c.Service != "" {
		if _, err := s.Definitions.One(ctx, env, c.Service, -1); err != nil {
			return Callback{}, err
		}
	}
	if err := s.Callbacks.Register(ctx, env, c); err != nil {
		return Callback{}, err
	}
	return callbackOf(env, &c), nil
}

// Unregister removes a callback.
func (s *callers) Unregister(ctx context.Context, env, id string) error {
	if s.Callbacks == nil {
		return noCallbacks()
	}
	return s.Callbacks.Unregister(ctx, env, id)
}

// Registered returns the callbacks of an environment.
func (s *callers) Registered(ctx context.Context, env string) ([]Callback, error) {
	if s.Callbacks == nil {
		return nil, noCallbacks()
	}
	all, err := s.Callbacks.Callbacks(ctx, env)
	out := make([]Callback, len(all))
	for i := range all {
		out[i] = callbackOf(env, &all[i])
	}
	return out, err
}

// callbackOf returns a callback in the form of the API.
func callbackOf(env string, c *callback.Callback) Callback {
	h := &c.Health
	out := Callback{
		ID: c.ID, URL: c.URL, Environment: env, Service: orNil(c.Service), Events: c.Events,
		Level: orNil(c.Level), Secret: orNil(c.Secret), Failures: h.Failures, Error: orNil(h.Error), Dropped: h.Dropped,
	}
	if h.Failures > 0 {
		out.Since, out.Next = &h.Since, &h.Next
	}
	return out
}
