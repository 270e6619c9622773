package orders

import (
	"context"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/callback"
)

// Callback is an address that is called for what happens to instances, as it is shown.
type Callback struct {
	ID          string `json:"callback_id"`
	URL         string `json:"url"`
	Environment string `json:"environment"`
	// Service is the one whose instances it is called for; nil: all.
	Service *string `json:"service_entity"`
	// Events are the kinds of events that it is called for; nil: all.
	Events []string `json:"event_types"`
	Level  *string  `json:"minimal_log_level"`
	// Secret is the source of the key that calls are signed with; nil: they are not signed.
	Secret *string `json:"secret,omitempty"`
	// Failures counts calls that failed one after the other, from Since on, and Error is the last
	// of them; it is called again at Next.
	Failures int        `json:"failures"`
	Since    *time.Time `json:"failing_since"`
	Next     *time.Time `json:"next_try"`
	Error    *string    `json:"last_error"`
	// Dropped counts events that it was not told, as it could not be called for a day.
	Dropped int64 `json:"dropped"`
}

// NewCallback is what a callback is registered with.
type NewCallback struct {
	ID      string // a UUID; "" has one made
	URL     string
	Service string // "" for all
	Events  []string
	Level   string
	Secret  string // the source of the key of signatures; "": calls are not signed
}

// noCallbacks is the error of a home that calls nobody.
func noCallbacks() error {
	return fault.New(fault.Unsupported, "", "callbacks are not called here").
		WithHint("`southbound run` and the functions of a stack call them")
}

// Register has an address called for what happens from now on. The same callback again is no other
// one.
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

// Unregister has an address not called any more.
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

// callbackOf returns a callback as it is shown.
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
